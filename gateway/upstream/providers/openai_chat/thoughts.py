"""Leaves reasoning of earlier turns out of a body whose host refuses the field that holds it.

No client is to blame: it sends back what it was told, and another model may have said it.
"""

from __future__ import annotations

from gateway.upstream.openai.losses import Losses
from gateway.upstream.openai.payload import as_list
from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat.adapt import Body
from techniques.core.json import Json


def unthought(body: Body, target: Target, losses: Losses) -> Body:
    """Return *body* without reasoning that *target* refuses; itself if it has none.

    Raises:
        RequestRejected: Some is left out, and the request is strict.
    """
    if not target.refuses:
        return body
    turns = as_list(body.get("messages"))
    if all(target.refuses.isdisjoint(turn) for turn in turns if isinstance(turn, dict)):
        return body
    losses.drop("thinking_dropped", "messages")
    return {**body, "messages": [_without(turn, target.refuses) for turn in turns]}


def _without(turn: Json, fields: frozenset[str]) -> Json:
    if not isinstance(turn, dict) or fields.isdisjoint(turn):
        return turn
    return {name: value for name, value in turn.items() if name not in fields}
