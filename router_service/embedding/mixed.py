"""Two vectors in one: what a prompt is about, and how it is written.

The first part is the static vector, the second hashes the pieces of its words. Nine parts in ten of
a similarity are the first's; what is learnt of directions finds length, numbers and form in the
second, of which a mean of word vectors says little. Source: docs/decisions/0021.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router_service.embedding.hashed import hashed
from router_service.embedding.static import StaticVectors
from router_service.embedding.threads import Aside

_ABOUT: Final = 0.9
_PLACES: Final = 256
_AT_ONCE: Final = 600
"""Characters that are embedded in the loop, in about 0.3 ms; a thread costs a third of that."""


class MixedVectors:
    """Vectors of 512 numbers."""

    def __init__(self) -> None:
        self._static = StaticVectors()
        self.name = f"mixed:{self._static.name.partition(':')[2]}+{_PLACES}"
        self._aside = Aside(lambda text: self._joined(self._static.long(text), text))

    async def __call__(self, text: str) -> Sequence[float] | None:
        """Return the numbers of *text*."""
        if len(text) > _AT_ONCE:
            return await self._aside(text)
        return self._joined(self._static.short(text), text)

    def _joined(self, about: Sequence[float] | None, text: str) -> Sequence[float]:
        written = np.sqrt(1 - _ABOUT) * _unit(hashed(text, _PLACES))
        first = np.zeros(self._static.size) if about is None else np.sqrt(_ABOUT) * _unit(about)
        joined: list[float] = np.concatenate([first, written]).tolist()
        return joined


def _unit(values: Sequence[float]) -> npt.NDArray[np.float64]:
    found = np.asarray(values, np.float64)
    length = float(np.linalg.norm(found))
    return found / length if length else found
