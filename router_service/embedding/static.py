"""Static vectors: the mean of one vector a token, out of files that a package brings along.

Only the files of ``wordllama`` are read, never its code: that looks for a missing file on the
network, and sets up logging for the whole process. What is here cannot reach a network.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from router_service.embedding.threads import Aside
from router_service.embedding.unusable import Unusable

_PACKAGE: Final = "wordllama"
_MODEL: Final = "l2_supercat"
_SIZE: Final = 256
_TENSOR: Final = "embedding.weight"
_HEAD: Final = 8  # bytes that say how long the header is
_LONGEST_HEADER: Final = 100_000_000
_AT_ONCE: Final = 1000
"""Characters that are embedded in the loop, in about 0.2 ms; a thread costs nearly as much."""


class StaticVectors:
    """Vectors of 256 numbers. The table is mapped, not read: processes share it."""

    name: Final = f"static:{_MODEL}:{_SIZE}"
    size: Final = _SIZE

    def __init__(self) -> None:
        folder = _folder()
        self._table = _mapped(folder / "weights" / f"{_MODEL}_{_SIZE}.safetensors")
        tokenizer = folder / "tokenizers" / f"{_MODEL}_tokenizer_config.json"
        self._tokenizer = _tokenizer(tokenizer)
        self._aside = Aside(self.long)

    async def __call__(self, text: str) -> Sequence[float] | None:
        """Return the numbers of *text*."""
        if len(text) > _AT_ONCE:
            return await self._aside(text)
        return self.short(text)

    def short(self, text: str) -> Sequence[float] | None:
        """Return the numbers of *text*, None if it has none."""
        return self._mean(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def long(self, text: str) -> Sequence[float] | None:
        """Return the same; unlike ``encode``, a batch lets other threads go on."""
        (found,) = self._tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return self._mean(found.ids)

    def _mean(self, tokens: Sequence[int]) -> Sequence[float] | None:
        if not tokens:
            return None
        rows = self._table.take(tokens, axis=0, mode="clip").astype(np.float32)
        mean: list[float] = (np.add.reduce(rows, axis=0) / np.float32(len(rows))).tolist()
        return mean


def _folder() -> Path:
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise Unusable(f"static vectors need the package {_PACKAGE}")
    return Path(next(iter(found.submodule_search_locations)))


def _tokenizer(path: Path) -> Tokenizer:
    if not path.is_file():
        raise Unusable(f"static vectors need {path}")
    made = Tokenizer.from_file(str(path))
    made.no_truncation()
    return made


def _mapped(path: Path) -> npt.NDArray[np.float16]:
    """Return the table in *path*.

    Source: the safetensors format: the length of a JSON header, that header, the numbers.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(_HEAD), "little")
            header = json.loads(file.read(min(length, _LONGEST_HEADER)))
        told = header[_TENSOR]
        shape = tuple(told["shape"])
        if told["dtype"] != "F16" or shape[1:] != (_SIZE,):
            raise Unusable(f"{path} holds no table of {_SIZE} half-precision columns")
        start = _HEAD + length + told["data_offsets"][0]
        mapped = np.memmap(path, dtype=np.dtype("<f2"), mode="r", offset=start, shape=shape)
        return np.asarray(mapped)  # the same memory; every look into a memmap makes another of it
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unusable(f"static vectors need {path}: {error}") from error
