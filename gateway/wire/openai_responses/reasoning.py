"""Reasoning as an item of this API: its words, and what only its maker can read."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.wire.drafts import without_drafts
from gateway.wire.openai_chat.fields import items, text
from techniques.core.json import Json, JsonObject
from techniques.core.request import RedactedThinking, Thinking
from techniques.core.signatures import (
    ANTHROPICS,
    CHATS,
    MARK,
    REDACTED,
    encrypted_of,
    is_chats,
    item_of,
    marked,
)


def thinking_of(item: JsonObject, at: str) -> Thinking | RedactedThinking | None:
    """Return the reasoning in *item*, None if it holds none: only a name, or drafts."""
    encrypted = text(item, "encrypted_content", at) or None
    if encrypted is not None and encrypted.startswith(REDACTED):
        return RedactedThinking(encrypted.removeprefix(REDACTED))
    words = [*_texts(item, "summary", at), *_texts(item, "content", at)]
    said = without_drafts("\n\n".join(words))
    if encrypted is None:
        return Thinking(said) if said else None
    if encrypted.startswith(ANTHROPICS):
        return Thinking(said, encrypted.removeprefix(ANTHROPICS))
    if encrypted.startswith((MARK, CHATS)):
        return Thinking(said, encrypted)
    return Thinking(said, marked(encrypted, text(item, "id", at) or ""))


def _texts(item: JsonObject, name: str, at: str) -> Iterator[str]:
    for part in items(item, name, at):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def encrypted(signature: str) -> str:
    """Return *signature* as this API's ``encrypted_content``, with its maker's name if need be.

    One that is bound to the id of an item stays as it is: the item has another id here.
    """
    if is_chats(signature):
        return signature
    own = encrypted_of(signature)
    if own is None:
        return ANTHROPICS + signature
    return signature if item_of(signature) else own


def redacted(data: str) -> str:
    """Return the *data* of a block that cannot be read, as ``encrypted_content``."""
    return REDACTED + data


def undrafted(item: Json) -> Json:
    """Return *item* without the drafts that were shown in it; None if nothing else is in it."""
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return item
    summary = [
        {**part, "text": left}
        for part in items(item, "summary", "input.")
        if isinstance(part, dict)
        and isinstance(part.get("text"), str)
        and (left := without_drafts(part["text"]))
    ]
    if not summary and not item.get("encrypted_content") and not item.get("content"):
        return None
    return {**item, "summary": summary}
