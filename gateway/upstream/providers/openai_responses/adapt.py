"""Changes a request's body so that a target takes it: one rule for relayed and written ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from gateway.upstream.openai.losses import Losses, refuse
from gateway.upstream.openai.payload import as_list, as_object, as_text
from gateway.upstream.providers.openai_responses.names import LOGPROBS
from gateway.upstream.providers.openai_responses.thinking import without
from techniques.core.capabilities import Capabilities
from techniques.core.json import Json

Body: TypeAlias = Mapping[str, Json]

_TUNING: Final = ("temperature", "top_p")


def adapt(body: Body, can: Capabilities, losses: Losses) -> Body:
    """Return *body* as a target with the capabilities *can* takes it; itself if it is so already.

    Raises:
        RequestRejected: It asks for a feature that the target does not have.
    """
    _refuse(body, can)
    if not can.temperature and any(name in body for name in _TUNING):
        changed = dict(body)
        without(changed, _TUNING, losses)
        body = changed
    return _ordered(body, can)


def _refuse(body: Body, can: Capabilities) -> None:
    if not can.tools and body.get("tools"):
        raise refuse("tools", "tools")
    if not can.logprobs and _wants_logprobs(body):
        raise refuse("log-probabilities", "top_logprobs")
    form = as_object(as_object(body.get("text")).get("format")).get("type")
    if not can.json_schema and form == "json_schema":
        raise refuse("a JSON schema", "text.format")
    if not can.vision and any(map(_is_image, _contents(body))):
        raise refuse("images", "input")


def _wants_logprobs(body: Body) -> bool:
    return bool(body.get("top_logprobs")) or LOGPROBS in as_list(body.get("include"))


def _contents(body: Body) -> Iterator[Json]:
    for item in as_list(body.get("input")):
        fields = as_object(item)
        yield from as_list(fields.get("content"))
        yield from as_list(fields.get("output"))


def _is_image(part: Json) -> bool:
    return as_object(part).get("type") == "input_image"


def _ordered(body: Body, can: Capabilities) -> Body:
    """Bring the instructions into the roles and the place that the target knows."""
    items = body.get("input")
    if not isinstance(items, list) or (can.developer_role and can.many_systems):
        return body
    if not can.developer_role and any(_role(item) == "developer" for item in items):
        items = [
            {**item, "role": "system"} if _role(item) == "developer" else item for item in items
        ]
        body = {**body, "input": items}
    if can.many_systems or not any(map(_instructs, items)):
        return body
    said = [as_text(body.get("instructions")), *(_said(item) for item in items if _instructs(item))]
    others = [item for item in items if not _instructs(item)]
    return {**body, "instructions": "\n\n".join(filter(None, said)), "input": others}


def _role(item: Json) -> str:
    return as_text(as_object(item).get("role"))


def _instructs(item: Json) -> bool:
    return _role(item) in {"system", "developer"}


def _said(item: Json) -> str:
    content = as_object(item).get("content")
    if isinstance(content, str):
        return content
    return "\n\n".join(as_text(as_object(part).get("text")) for part in as_list(content))
