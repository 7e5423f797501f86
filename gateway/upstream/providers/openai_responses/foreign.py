"""Leaves reasoning of another maker out of a client's own body: the API cannot decrypt it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.upstream.openai.losses import Losses
from gateway.upstream.openai.payload import as_list, as_object, as_text
from techniques.core.json import Json
from techniques.core.signatures import ANTHROPICS, REDACTED

_MARKS: Final = (ANTHROPICS, REDACTED)
_IN_RAW: Final = tuple(f'"{mark}'.encode() for mark in _MARKS)


def own_only(body: Mapping[str, Json], raw: bytes | None, losses: Losses) -> Mapping[str, Json]:
    """Return *body* without reasoning of another maker; itself, if it has none.

    *raw* are the bytes in which the client's body came, if there are any.

    Raises:
        RequestRejected: The request is strict.
    """
    if raw is not None and all(raw.find(mark) == -1 for mark in _IN_RAW):
        return body
    items = as_list(body.get("input"))
    kept = [item for item in items if not _is_foreign(item)]
    if len(kept) == len(items):
        return body
    losses.drop("thinking_dropped", "input")
    return {**body, "input": kept}


def _is_foreign(item: Json) -> bool:
    fields = as_object(item)
    encrypted = as_text(fields.get("encrypted_content"))
    return fields.get("type") == "reasoning" and encrypted.startswith(_MARKS)
