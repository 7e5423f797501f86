"""A host of embeddings: what it answers to a call, in either form."""

from __future__ import annotations

from array import array
from base64 import b64encode
from collections.abc import Sequence

from techniques.core.json import Json

SIZE = 3


def inputs_of(given: Json) -> list[Json]:
    """Return the inputs that *given* is."""
    single = isinstance(given, str) or (bool(given) and isinstance(given[0], int))
    return [given] if single else list(given)


def tokens_of(one: Json) -> int:
    """Return what one input counts as: a word is a token."""
    return len(one.split()) or 1 if isinstance(one, str) else len(one)


def vector_of(one: Json) -> list[float]:
    """Return the vector of one input, exact as 32-bit floats: no two lengths have the same."""
    return [len(one) / 1024, -0.5, 1 / (1 << tokens_of(one) % 16)]


def packed(vector: Sequence[float]) -> str:
    """Return *vector* as base64."""
    return b64encode(array("f", vector).tobytes()).decode()


def answer_to(body: Json, *, form: str | None = None) -> dict[str, Json]:
    """Return the answer to *body*, in the form that it asks for, or always in *form*."""
    inputs = inputs_of(body["input"])
    wanted = form or body.get("encoding_format") or "float"
    rows = [
        {
            "object": "embedding",
            "index": place,
            "embedding": packed(vector_of(one)) if wanted == "base64" else vector_of(one),
        }
        for place, one in enumerate(inputs)
    ]
    tokens = sum(map(tokens_of, inputs))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": rows, "model": body["model"], "usage": usage}
