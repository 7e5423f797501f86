"""Embeddings of texts by their words: texts that share some are near each other."""

from __future__ import annotations

import re
from array import array
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import sqrt
from typing import Final

import orjson

from gateway.upstream.simulated.asked import Refused
from gateway.upstream.simulated.settings import EMBEDDERS, MODELS
from techniques.core.json import Json, JsonObject

_MOST: Final = 2048
_WORD: Final = re.compile(r"\w+|[^\w\s]")
_KEPT: Final = 4096


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call asks for: the words of each input, or its tokens."""

    model: str
    inputs: tuple[tuple[str, ...], ...]
    size: int
    packed: bool

    @property
    def tokens(self) -> int:
        """The tokens of all inputs: a word is one."""
        return sum(map(len, self.inputs))


def read(raw: bytes) -> Wanted:
    """Return what the JSON body *raw* asks for.

    Raises:
        Refused: It is no valid call.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"We could not parse the JSON body: {error}") from error
    if not isinstance(body, dict):
        raise Refused(400, "The body must be a JSON object.")
    model = str(body.get("model"))
    most = EMBEDDERS.get(model)
    if most is None:
        if model in MODELS:
            raise Refused(400, f"The model `{model}` makes no embeddings.", "model")
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise Refused(404, message, code="model_not_found")
    size = body.get("dimensions")
    if size is not None and not (type(size) is int and 1 <= size <= most):
        raise Refused(400, f"Invalid 'dimensions': from 1 to {most}.", "dimensions")
    inputs = tuple(_inputs(body.get("input")))
    return Wanted(model, inputs, size or most, body.get("encoding_format") == "base64")


def written(wanted: Wanted) -> bytes:
    """Return the answer."""
    rows = [
        {"object": "embedding", "index": place, "embedding": _vector(words, wanted)}
        for place, words in enumerate(wanted.inputs)
    ]
    usage = {"prompt_tokens": wanted.tokens, "total_tokens": wanted.tokens}
    answer: JsonObject = {"object": "list", "data": rows, "model": wanted.model, "usage": usage}
    return orjson.dumps(answer)


def _inputs(given: Json) -> Iterator[tuple[str, ...]]:
    """Yield the words of each input, of tokens their numbers."""
    alone = isinstance(given, list) and given and type(given[0]) is int
    if alone or isinstance(given, str):
        given = [given]
    if not isinstance(given, list) or not 0 < len(given) <= _MOST:
        raise Refused(400, f"Invalid 'input': expected 1 to {_MOST} inputs.", "input")
    for one in given:
        words = _WORD.findall(one.lower()) if isinstance(one, str) else one
        if not isinstance(words, list) or not words:
            raise Refused(400, "Invalid 'input': an input must not be empty.", "input")
        yield tuple(map(str, words))


def _vector(words: tuple[str, ...], wanted: Wanted) -> Json:
    """Return the sum of the directions of *words*, of length 1."""
    total = [0.0] * wanted.size
    for word in words:
        for place, step in enumerate(_direction(word)[: wanted.size]):
            total[place] += step
    length = sqrt(sum(step * step for step in total)) or 1.0
    floats = array("f", (step / length for step in total))
    return b64encode(floats.tobytes()).decode() if wanted.packed else floats.tolist()


@lru_cache(_KEPT)
def _direction(word: str) -> tuple[float, ...]:
    """Return where *word* points: a number from -1 to 1 for each dimension."""
    key = word.encode("utf-8", "surrogatepass")
    size = max(EMBEDDERS.values())
    drawn = b"".join(blake2b(b"%d" % part, key=key[:64]).digest() for part in range(-(-size // 64)))
    return tuple(byte / 127.5 - 1 for byte in drawn[:size])
