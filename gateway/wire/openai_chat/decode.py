"""Reads the whole of a request into the neutral form."""

from __future__ import annotations

from gateway.wire.openai_chat.fields import (
    NAME,
    Fields,
    flag,
    integer,
    items,
    number,
    required,
    rest,
    text,
    thing,
    wrong,
)
from gateway.wire.openai_chat.thinking import wish_of
from gateway.wire.openai_chat.tools import choice_of, tools_of
from gateway.wire.openai_chat.turns import turns_of
from techniques.core.json import JsonObject
from techniques.core.request import Request, ResponseFormat, Sampling

_KNOWN = frozenset(
    {
        *("model", "messages", "stream", "n", "tools", "tool_choice", "parallel_tool_calls"),
        *("functions", "function_call", "response_format", "temperature", "top_p", "top_k"),
        *("max_tokens", "max_completion_tokens", "stop", "seed", "logprobs", "top_logprobs"),
        *("presence_penalty", "frequency_penalty", "reasoning_effort", "user", "stream_options"),
    }
)
_FORMATS = frozenset({"text", "json_object", "json_schema"})


def request_of(body: Fields) -> Request:
    """Return the request that *body* spells, with what has no name inside in ``extra``.

    Raises:
        RequestRejected: A field is wrong; it is named.
    """
    extra = rest(body, _KNOWN)
    options = rest(thing(body, "stream_options") or {}, frozenset({"include_usage"}))
    if options:
        extra["stream_options"] = options
    return Request(
        model=required(body, "model"),
        messages=turns_of(items(body, "messages")),
        tools=tools_of(body),
        tool_choice=choice_of(body, extra),
        response_format=_format(body, extra),
        sampling=_sampling(body),
        thinking=wish_of(body, extra),
        user=text(body, "user"),
        stream=flag(body, "stream") or False,
        dialect=NAME,
        extra=extra,
    )


def _sampling(body: Fields) -> Sampling:
    limit = integer(body, "max_completion_tokens", 1)
    old_limit = integer(body, "max_tokens", 1)
    return Sampling(
        temperature=number(body, "temperature"),
        top_p=number(body, "top_p"),
        top_k=integer(body, "top_k"),
        max_output_tokens=old_limit if limit is None else limit,
        stop=_stop(body),
        seed=integer(body, "seed"),
        n=integer(body, "n", 1) or 1,
        logprobs=flag(body, "logprobs") or False,
        top_logprobs=integer(body, "top_logprobs"),
        presence_penalty=number(body, "presence_penalty"),
        frequency_penalty=number(body, "frequency_penalty"),
    )


def _stop(body: Fields) -> tuple[str, ...]:
    stop = body.get("stop")
    if isinstance(stop, str):
        return (stop,)
    stops = items(body, "stop")
    if not all(isinstance(one, str) for one in stops):
        raise wrong("stop", "a string or a list of strings")
    return tuple(stops)


def _format(body: Fields, extra: JsonObject) -> ResponseFormat | None:
    """Return the form asked for; one that is not OpenAI's is left in *extra*."""
    wanted = thing(body, "response_format")
    if wanted is None:
        return None
    kind = required(wanted, "type", "response_format.")
    if kind not in _FORMATS:
        extra["response_format"] = wanted
    if kind == "json_object":  # some hosts take a schema beside it, and their clients send it
        told = wanted.get("schema")
        is_told = isinstance(told, dict) and bool(told)
        return ResponseFormat("json_schema", told) if is_told else ResponseFormat("json_object")
    if kind != "json_schema":
        return None
    at = "response_format.json_schema."
    schema = thing(wanted, "json_schema", "response_format.")
    if schema is None:
        raise wrong("response_format.json_schema", "an object")
    return ResponseFormat(
        "json_schema",
        thing(schema, "schema", at) or {},
        text(schema, "name", at),
        flag(schema, "strict", at),
        text(schema, "description", at),
    )
