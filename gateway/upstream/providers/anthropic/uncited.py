"""Leaves sources that another provider found out of a history: the API would look for them.

A client got them with an empty ``encrypted_index``, which Anthropic's own never is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from techniques.core.json import Json, JsonObject

_INDEX: Final = "encrypted_index"
_IN_RAW: Final = f'"{_INDEX}"'.encode()


def has_made(body: Mapping[str, Json], raw: bytes | None) -> bool:
    """Tell whether text in *body*, whose bytes are *raw*, names such sources."""
    if raw is not None and _IN_RAW not in raw:
        return False
    turns = body.get("messages")
    return isinstance(turns, list) and uncited_turns(turns) != turns


def uncited_turns(turns: list[Json]) -> list[Json]:
    """Return *turns* without such sources."""
    return [_turn(turn) for turn in turns]


def uncited(block: JsonObject) -> JsonObject:
    """Return a *block* without such sources; itself, if it has none."""
    citations = block.get("citations")
    if not isinstance(citations, list) or not any(map(_is_made, citations)):
        return block
    kept = [one for one in citations if not _is_made(one)]
    others = {name: value for name, value in block.items() if name != "citations"}
    return {**others, "citations": kept} if kept else others


def _turn(turn: Json) -> Json:
    content = turn.get("content") if isinstance(turn, dict) else None
    if not isinstance(content, list):
        return turn
    blocks = [uncited(block) if isinstance(block, dict) else block for block in content]
    return {**turn, "content": blocks}


def _is_made(citation: Json) -> bool:
    return isinstance(citation, dict) and citation.get(_INDEX) == ""
