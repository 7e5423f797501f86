"""What all encoders have in common: bounded texts, vectors of unit length, and a memory of them."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Final, TypeAlias

from router_service.contract import LONGEST_VECTOR, Vector

Embed: TypeAlias = Callable[[str], Awaitable[Sequence[float] | None]]
"""Returns the numbers of a text that is not blank, None if it has none."""

_LEAST: Final = 1e-12
_HEAD: Final = 3  # of four parts of a long text, what is kept of its start


class Remembering:
    """An encoder called *name* that looks at *characters* of a text and keeps *remembered* vectors.

    A vector is found again by a hash of its text; no text is kept.
    """

    def __init__(self, name: str, embed: Embed, characters: int, remembered: int) -> None:
        self._name = name
        self._embed = embed
        self._characters = characters
        self._remembered = remembered
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    async def encode(self, text: str) -> Vector | None:
        """Return the vector of *text*, None if it has none."""
        text = bounded(text.strip(), self._characters)
        if not text:
            return None
        raw = text.encode("utf-8", "replace")
        key = blake2b(raw, digest_size=16).digest()
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        values = await self._embed(raw.decode())
        vector = None if values is None else self._unit(values)
        if vector is not None:
            self._keep(key, vector)
        return vector

    def _unit(self, values: Sequence[float]) -> Vector | None:
        """Return *values* at unit length, None if they have no direction."""
        length = math.hypot(*values)
        if not _LEAST < length < math.inf or len(values) > LONGEST_VECTOR:  # NaN is not between
            return None
        scaled = tuple([value / length for value in values])
        return Vector.model_construct(encoder=self._name, values=scaled)  # finite, and not empty

    def _keep(self, key: bytes, vector: Vector) -> None:
        self._kept[key] = vector
        self._kept.move_to_end(key)
        while len(self._kept) > self._remembered:
            self._kept.popitem(last=False)


def bounded(text: str, most: int) -> str:
    """Return *text*, of a longer one *most* characters: three parts its start, one its end."""
    if len(text) <= most:
        return text
    head = most * _HEAD // 4
    return text[:head] + text[len(text) - (most - head) :]
