"""Brings reasoning in a client's own body into the form in which its maker takes it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gateway.upstream.openai.losses import Losses
from gateway.upstream.openai.payload import as_list, as_object, as_text
from techniques.core.json import Json
from techniques.core.signatures import ANTHROPICS, CHATS, MARK, REDACTED, encrypted_of, item_of

_OTHERS: Final = (ANTHROPICS, REDACTED, CHATS)
_MADE: Final = re.compile(r"rs_[0-9A-Za-z]+_[0-9]+")
"""The id of an item that the gateway has named: the provider would look for it, and find none."""
_IN_RAW: Final = tuple(f'"{mark}'.encode() for mark in (*_OTHERS, MARK, "rs_"))


def own_only(body: Mapping[str, Json], raw: bytes | None, losses: Losses) -> Mapping[str, Json]:
    """Return *body* without reasoning of another maker; itself, if it has none.

    What the gateway has told a client under an id of its own gets back the one that the provider
    had given it. *raw* are the bytes in which the client's body came, if there are any.

    Raises:
        RequestRejected: The request is strict.
    """
    if raw is not None and all(raw.find(mark) == -1 for mark in _IN_RAW):
        return body
    items = as_list(body.get("input"))
    kept = [_restored(item) for item in items if not _is_foreign(item)]
    if len(kept) < len(items):
        losses.drop("thinking_dropped", "input")
    return body if kept == items else {**body, "input": kept}


def _is_foreign(item: Json) -> bool:
    encrypted = _encrypted(item)
    if encrypted:
        return encrypted.startswith(_OTHERS)
    fields = as_object(item)
    named = _MADE.fullmatch(as_text(fields.get("id")))
    return fields.get("type") == "reasoning" and named is not None


def _restored(item: Json) -> Json:
    signature = _encrypted(item)
    encrypted = encrypted_of(signature)
    if encrypted is None:
        return item
    own = {name: value for name, value in item.items() if name != "id"}
    item_id = item_of(signature)
    named = {"id": item_id} if item_id else {}
    return {**own, **named, "encrypted_content": encrypted}


def _encrypted(item: Json) -> str:
    fields = as_object(item)
    return as_text(fields.get("encrypted_content")) if fields.get("type") == "reasoning" else ""
