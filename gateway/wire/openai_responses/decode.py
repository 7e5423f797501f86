"""Reads the whole of a request into the neutral form."""

from __future__ import annotations

from typing import Final

from gateway.wire.openai_chat.fields import (
    Fields,
    flag,
    integer,
    items,
    number,
    required,
    text,
    thing,
    wrong,
)
from gateway.wire.openai_responses.fields import NAME, others
from gateway.wire.openai_responses.tools import choice_of, tools_of
from gateway.wire.openai_responses.turns import turns_of
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Message,
    Request,
    ResponseFormat,
    Sampling,
    ThinkingWish,
    Tool,
    said,
)

LOGPROBS: Final = "message.output_text.logprobs"
_READ: Final = frozenset(
    {
        *("model", "input", "instructions", "stream", "tools", "tool_choice"),
        *("parallel_tool_calls", "text", "reasoning", "temperature", "top_p", "top_logprobs"),
        *("max_output_tokens", "user"),
    }
)
_OURS: Final = frozenset({"store", "include", "stream_options", "background"})
"""What the gateway sees to, whoever answers."""
_SAYS_NOTHING: Final[dict[str, tuple[Json, ...]]] = {
    "truncation": ("disabled",),
    "metadata": ({},),
}
"""Values that ask for what is done anyway."""
_ELSEWHERE: Final = {
    "prompt": "A prompt template is known to OpenAI alone.",
    "conversation": "A conversation is known to OpenAI alone; send its items as input.",
}
_FORMATS: Final = ("text", "json_object", "json_schema")


def request_of(body: Fields) -> Request:
    """Return the request that *body* spells, with what has no name inside in ``extra``.

    Raises:
        RequestRejected: A field is wrong, or can be served by OpenAI alone; it is named.
    """
    _check(body)
    text(body, "safety_identifier")
    extra = _extra(body)
    tools, choice = tools_of(body), choice_of(body, extra)
    if all(isinstance(tool, Tool) for tool in tools):
        extra.pop("max_tool_calls", None)  # it counts calls of OpenAI's own tools
    return Request(
        model=required(body, "model"),
        messages=(*_instructions(body), *turns_of(body.get("input"))),
        tools=tools,
        tool_choice=choice,
        response_format=_format(body, extra),
        sampling=_sampling(body),
        thinking=_thinking(body, extra),
        user=text(body, "user"),
        stream=flag(body, "stream") or False,
        dialect=NAME,
        extra=extra,
    )


def _check(body: Fields) -> None:
    """Refuse what nobody but OpenAI can do, for it is OpenAI who keeps it."""
    for name, why in _ELSEWHERE.items():
        if body.get(name) is not None:
            raise RequestRejected(why, code="unsupported_parameter", param=name)
    before = text(body, "previous_response_id")
    if before is not None:
        raise RequestRejected(
            f"Previous response with id '{before[:100]}' not found: answers are kept only where "
            "the gateway's setting responses.store is on. Send the whole conversation as input.",
            code="previous_response_not_found",
            param="previous_response_id",
        )


def _extra(body: Fields) -> JsonObject:
    extra = others(body, _READ | _OURS)
    for name, values in _SAYS_NOTHING.items():
        if name in extra and extra[name] in values:
            del extra[name]
    return extra


def _instructions(body: Fields) -> tuple[Message, ...]:
    told = text(body, "instructions")
    return (said("system", told),) if told else ()


def _sampling(body: Fields) -> Sampling:
    included = items(body, "include")
    if not all(isinstance(name, str) for name in included):
        raise wrong("include", "a list of strings")
    top = integer(body, "top_logprobs")
    if top is not None and not 0 <= top <= 20:
        raise wrong("top_logprobs", "an integer from 0 to 20")
    wanted = bool(top) or LOGPROBS in included
    return Sampling(
        temperature=number(body, "temperature"),
        top_p=number(body, "top_p"),
        max_output_tokens=integer(body, "max_output_tokens", 1),
        logprobs=wanted,
        top_logprobs=top if wanted else None,
    )


def _thinking(body: Fields, extra: JsonObject) -> ThinkingWish | None:
    """Return how much is to be thought; what else is said of it is kept in the client's words."""
    wish = thing(body, "reasoning") or {}
    effort = text(wish, "effort", "reasoning.")
    for name in ("summary", "generate_summary"):
        text(wish, name, "reasoning.")
    rest = others(wish, frozenset({"effort"}))
    if rest:
        extra["reasoning"] = rest
    return ThinkingWish(effort=effort) if effort else None


def _format(body: Fields, extra: JsonObject) -> ResponseFormat | None:
    wanted = thing(body, "text") or {}
    verbosity = text(wanted, "verbosity", "text.")
    if verbosity not in (None, "medium"):
        extra["text"] = {"verbosity": verbosity}
    form = thing(wanted, "format", "text.")
    if form is None:
        return None
    at = "text.format."
    kind = required(form, "type", at)
    if kind not in _FORMATS:
        raise wrong(f"{at}type", "one of " + ", ".join(_FORMATS))
    if kind == "json_object":
        return ResponseFormat("json_object")
    if kind == "text":
        return None
    schema = thing(form, "schema", at)
    if schema is None:
        raise wrong(f"{at}schema", "an object")
    return ResponseFormat(
        "json_schema",
        schema,
        required(form, "name", at),
        flag(form, "strict", at),
        text(form, "description", at),
    )
