"""Changes a request's body so that a target takes it: one rule for relayed and written ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.upstream.openai.losses import Losses, refuse
from gateway.upstream.openai.payload import as_list, as_object, as_text
from techniques.core.capabilities import Capabilities
from techniques.core.json import Json, JsonObject

Body = Mapping[str, Json]

_NEUTRAL: Final = frozenset({"temperature", "top_p"})  # at 1 they say nothing


def adapt(body: Body, can: Capabilities, losses: Losses) -> Body:
    """Return *body* as a target with the capabilities *can* takes it; itself if it is so already.

    Raises:
        RequestRejected: It asks for a feature that the target does not have.
    """
    _refuse(body, can)
    body = _limited(body, can)
    body = _tuned(body, can, losses)
    return _ordered(body, can, losses)


def _refuse(body: Body, can: Capabilities) -> None:
    if not can.tools and (body.get("tools") or body.get("functions")):
        raise refuse("tools", "tools" if body.get("tools") else "functions")
    if not can.logprobs and (body.get("logprobs") or body.get("top_logprobs")):
        raise refuse("log-probabilities", "logprobs" if body.get("logprobs") else "top_logprobs")
    form = as_object(body.get("response_format")).get("type")
    if not can.json_schema and form == "json_schema":
        raise refuse("a JSON schema", "response_format")
    if not can.n and _many(body.get("n")):
        raise refuse("more than one choice", "n")
    if not can.vision and any(_has_image(turn) for turn in as_list(body.get("messages"))):
        raise refuse("images", "messages")


def _many(n: Json) -> bool:
    return isinstance(n, int) and n > 1


def _has_image(turn: Json) -> bool:
    parts = as_list(as_object(turn).get("content"))
    return any(as_object(part).get("type") == "image_url" for part in parts)


def _limited(body: Body, can: Capabilities) -> Body:
    """Give the output limit the one name that the target knows; it stays where none is known.

    Of two only the newer is sent then, as OpenAI takes no request with both.
    """
    old, new = body.get("max_tokens"), body.get("max_completion_tokens")
    name, other = "max_tokens", "max_completion_tokens"
    if can.max_completion_tokens is None and (old is None or new is None):
        return body
    if can.max_completion_tokens is not False:
        name, other, old, new = other, name, new, old
    if other not in body:
        return body
    changed = {key: value for key, value in body.items() if key != other}
    limit = new if old is None else old
    if limit is not None:
        changed[name] = limit
    return changed


def _tuned(body: Body, can: Capabilities, losses: Losses) -> Body:
    """Leave out the tuning that the target does not take."""
    if can.temperature and can.seed:
        return body
    names = () if can.temperature else ("temperature", "top_p")
    return without(body, names if can.seed else (*names, "seed"), losses)


def without(body: Body, names: Sequence[str], losses: Losses) -> Body:
    """Return *body* without the tuning of these *names*; itself if it has none of it."""
    gone = {name for name in names if name in body}
    for name in names:
        if body.get(name) is not None and not (name in _NEUTRAL and body[name] == 1):
            losses.drop("field_dropped", name)
    return {name: value for name, value in body.items() if name not in gone} if gone else body


def _ordered(body: Body, can: Capabilities, losses: Losses) -> Body:
    """Bring the instructions into the roles and the place that the target knows."""
    if can.developer_role and can.many_systems:
        return body
    turns = as_list(body.get("messages"))
    if not can.developer_role and any(_role(turn) == "developer" for turn in turns):
        turns = [
            {**turn, "role": "system"} if _role(turn) == "developer" else turn for turn in turns
        ]
        body = {**body, "messages": turns}
    places = [place for place, turn in enumerate(turns) if _instructs(turn)]
    if can.many_systems or places in ([], [0]):
        return body
    if places != list(range(len(places))):
        losses.drop("system_moved", "messages")
    texts = [_said(turns[place]) for place in places]
    first = {"role": _role(turns[places[0]]), "content": "\n\n".join(filter(None, texts))}
    return {**body, "messages": [first, *(turn for turn in turns if not _instructs(turn))]}


def _role(turn: Json) -> str:
    return as_text(as_object(turn).get("role"))


def _instructs(turn: Json) -> bool:
    return _role(turn) in {"system", "developer"}


def _said(turn: JsonObject) -> str:
    content = turn.get("content")
    if isinstance(content, str):
        return content
    return "\n\n".join(as_text(as_object(part).get("text")) for part in as_list(content))
