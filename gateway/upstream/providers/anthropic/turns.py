"""Turns a neutral conversation into ``system`` and strictly alternating ``messages``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.upstream.providers.anthropic.losses import Losses, refuse
from gateway.upstream.providers.anthropic.parts import Parts
from gateway.upstream.results import together
from techniques.core.json import JsonObject
from techniques.core.request import Message, Role

_BESIDE: Final[frozenset[Role]] = frozenset({"user", "tool", "system", "developer"})
"""What is one turn with the results of tools, or is told apart."""


def encode_turns(
    messages: Sequence[Message], parts: Parts, losses: Losses
) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return the blocks of ``system`` and the turns of ``messages``.

    System and developer turns are collected in order, wherever they stand. Neighbours of one
    role become one turn; the results of tools come first in theirs, in the order of the calls.
    A call that another answer keeps apart from its results is said before them.
    """
    system: list[JsonObject] = []
    turns: list[JsonObject] = []
    for message in messages if losses.own else together(messages, _BESIDE):
        blocks = parts.blocks(message.parts)
        if message.name is not None:
            losses.note("field_dropped", "messages.name")
        extra = losses.extra(message.extra, "messages")
        if message.role in {"system", "developer"}:
            if turns and blocks:
                losses.note("system_moved", "messages")
            system.extend(blocks)
        elif blocks:
            _append("assistant" if message.role == "assistant" else "user", blocks, turns)
            turns[-1].update(extra)
    _order_results(turns)
    if not turns:
        system, turns = _only_system(system, losses)
    _trim_prefill(turns[-1])
    return system, turns


def _append(role: str, blocks: list[JsonObject], turns: list[JsonObject]) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"].extend(blocks)
    else:
        turns.append({"role": role, "content": blocks})


def _order_results(turns: list[JsonObject]) -> None:
    order: dict[str, int] = {}
    for turn in turns:
        if turn["role"] == "assistant":
            calls = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
            order = {call: place for place, call in enumerate(calls)}
        else:
            turn["content"].sort(key=lambda block, known=order: _rank(block, known))


def _rank(block: JsonObject, order: dict[str, int]) -> int:
    if block["type"] != "tool_result":
        return len(order) + 1
    return order.get(block["tool_use_id"], len(order))


def _only_system(
    system: list[JsonObject], losses: Losses
) -> tuple[list[JsonObject], list[JsonObject]]:
    """Return a conversation that is nothing but instructions as a user's: one turn is required."""
    if not system:
        refuse("messages", "there is nothing to answer")
    losses.note("system_sent_as_user", "messages")
    return [], [{"role": "user", "content": system}]


def _trim_prefill(turn: JsonObject) -> None:
    """Cut white space off an answer that is to be gone on with: the API refuses it there."""
    last = turn["content"][-1]
    if turn["role"] == "assistant" and last["type"] == "text":
        turn["content"][-1] = {**last, "text": last["text"].rstrip()}
