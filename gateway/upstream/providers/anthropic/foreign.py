"""Leaves reasoning of another maker out of a client's own body: the API refuses its signature.

It refuses as well what has none, as the reasoning of most models that others serve.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from gateway.upstream.providers.anthropic.headers import DIALECT
from gateway.upstream.providers.anthropic.losses import Losses
from gateway.upstream.providers.anthropic.thinking import is_barred
from techniques.core.events import Warned
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request
from techniques.core.signatures import CHATS, MARK, details_of

_OTHERS: Final = (MARK, CHATS)
_MARKS: Final = tuple(mark.encode() for mark in _OTHERS)
_WORD: Final = b'"thinking"'
_WHITE: Final = 8  # characters of white space before a value that are looked through
_CLEARS: Final = "clear_thinking"
"""How the edits of a context begin that can be asked for only while a model thinks."""


def has_foreign(body: Mapping[str, Json], raw: bytes | None) -> bool:
    """Tell whether *body*, whose bytes are *raw*, holds reasoning of another maker."""
    if raw is not None and not _thought(raw) and all(raw.find(mark) == -1 for mark in _MARKS):
        return False
    return any(map(_is_foreign, _blocks(body.get("messages"))))


def _thought(raw: bytes) -> bool:
    """Tell whether a value in *raw* is the type of a block of reasoning, and not a field's name."""
    at = raw.find(_WORD)
    while at != -1:
        if raw[max(0, at - _WHITE) : at].rstrip().endswith(b":"):
            return True
        at = raw.find(_WORD, at + 1)
    return False


def leave_out(request: Request, body: JsonObject) -> tuple[Warned, ...]:
    """Take reasoning of another maker out of *body*, whose parts stay the client's.

    Raises:
        RequestRejected: The request is strict.
    """
    losses = Losses(replace(request, dialect=DIALECT))
    losses.note("thinking_dropped", "messages")
    if goes_without(body):
        losses.note("thinking_off", "thinking")
    return losses.warnings


def goes_without(body: JsonObject) -> bool:
    """Take reasoning of another maker out of *body*; tell whether the model may not think then."""
    body["messages"] = own_only(body["messages"])
    if not is_barred(body.get("thinking"), body["messages"]):
        return False
    body["thinking"] = {"type": "disabled"}
    managed = body.get("context_management")
    edits = managed.get("edits") if isinstance(managed, dict) else None
    if isinstance(managed, dict) and isinstance(edits, list):
        left = [edit for edit in edits if not _clears(edit)]
        body["context_management"] = {**managed, "edits": left}
    return True


def _clears(edit: Json) -> bool:
    kind = edit.get("type") if isinstance(edit, dict) else None
    return isinstance(kind, str) and kind.startswith(_CLEARS)


def own_only(turns: list[Json]) -> list[Json]:
    """Return *turns* without reasoning of another maker; a turn of nothing else is left out."""
    kept = (_without(turn) for turn in turns)
    return [turn for turn in kept if turn is not None]


def _blocks(turns: Json) -> Iterator[Json]:
    for turn in turns if isinstance(turns, list) else ():
        content = turn.get("content") if isinstance(turn, dict) else None
        yield from content if isinstance(content, list) else ()


def _is_foreign(block: Json) -> bool:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "thinking":
        signature = block.get("signature")
        return not signature or (isinstance(signature, str) and signature.startswith(_OTHERS))
    if kind == "redacted_thinking":
        data = block.get("data")
        return isinstance(data, str) and details_of(data) is not None
    return False


def _without(turn: Json) -> Json:
    """Return *turn* without such blocks, None if it has nothing else."""
    if not any(map(_is_foreign, _blocks([turn]))):
        return turn
    kept = [block for block in turn["content"] if not _is_foreign(block)]
    return {**turn, "content": kept} if kept else None
