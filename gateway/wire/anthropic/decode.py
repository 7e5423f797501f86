"""Turns the whole body of a Messages request into a neutral one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gateway.wire.anthropic.blocks import TEXT_BLOCKS, decode_parts, decode_turns
from gateway.wire.anthropic.fields import (
    a_list,
    a_string,
    an_object,
    flag,
    integer,
    number,
    reject,
    rest,
    string,
)
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.request import (
    Message,
    Opaque,
    Request,
    ResponseFormat,
    Sampling,
    ThinkingWish,
    Tool,
    ToolChoice,
)

_READ = frozenset(
    {
        "model", "messages", "system", "tools", "tool_choice", "stream", "max_tokens",
        "temperature", "top_p", "top_k", "stop_sequences", "thinking", "output_config",
        "output_format", "metadata",
    }
)  # fmt: skip
_TOOL = frozenset({"type", "name", "description", "input_schema", "strict", "cache_control"})
_THINKING = frozenset({"type", "budget_tokens"})
_MODES: Mapping[str, Literal["auto", "none", "required", "named"]] = {
    "auto": "auto",
    "any": "required",
    "none": "none",
    "tool": "named",
}


def decode_request(body: JsonObject) -> Request:
    """Return the request that *body* spells; what has no neutral name is in ``extra``.

    Raises:
        RequestRejected: *body* is no request of this dialect; ``param`` is the path of the fault.
    """
    extra: dict[str, Json] = dict(rest(body, _READ))
    return Request(
        model=a_string(body.get("model"), "model"),
        messages=(*_system(body.get("system")), *_messages(body)),
        tools=_tools(body.get("tools")),
        tool_choice=_tool_choice(body.get("tool_choice")),
        response_format=_response_format(body),
        sampling=_sampling(body),
        thinking=_thinking(body, extra),
        user=_user(body.get("metadata"), extra),
        stream=flag(body, "stream") or False,
        dialect="anthropic",
        extra=extra or NOTHING,
    )


def _system(value: Json) -> tuple[Message, ...]:
    if value is None or value == "" or value == []:
        return ()
    return (Message("system", decode_parts(value, "system", TEXT_BLOCKS)),)


def _messages(body: JsonObject) -> tuple[Message, ...]:
    turns: list[Message] = []
    for place, message in enumerate(a_list(body.get("messages"), "messages")):
        path = f"messages.{place}"
        turns.extend(decode_turns(an_object(message, path), path))
    return tuple(turns)


def _tools(value: Json) -> tuple[Tool | Opaque, ...]:
    if value is None:
        return ()
    return tuple(_tool(tool, f"tools.{place}") for place, tool in enumerate(a_list(value, "tools")))


def _tool(value: Json, path: str) -> Tool | Opaque:
    tool = an_object(value, path)
    if tool.get("type") not in {None, "custom"}:
        return Opaque("anthropic", tool)
    schema = tool.get("input_schema")
    return Tool(
        name=a_string(tool.get("name"), f"{path}.name"),
        description=string(tool, "description", path),
        parameters=None if schema is None else an_object(schema, f"{path}.input_schema"),
        strict=flag(tool, "strict", f"{path}.strict"),
        cache=tool.get("cache_control"),
        extra=rest(tool, _TOOL),
    )


def _tool_choice(value: Json) -> ToolChoice | None:
    if value is None:
        return None
    choice = an_object(value, "tool_choice")
    single = flag(choice, "disable_parallel_tool_use", "tool_choice.disable_parallel_tool_use")
    parallel = None if single is None else not single
    kind = choice.get("type")
    mode = _MODES.get(kind) if isinstance(kind, str) else None
    if mode is None:
        reject("tool_choice.type", '"auto", "any", "tool" or "none"')
    name = a_string(choice.get("name"), "tool_choice.name") if mode == "named" else None
    return ToolChoice(mode, name, parallel)


def _response_format(body: JsonObject) -> ResponseFormat | None:
    path, value = "output_format", body.get("output_format")
    config = body.get("output_config")
    if config is not None and an_object(config, "output_config").get("format") is not None:
        path, value = "output_config.format", config["format"]
    if value is None:
        return None
    form = an_object(value, path)
    if form.get("type") != "json_schema":
        reject(f"{path}.type", '"json_schema"')
    return ResponseFormat("json_schema", schema=an_object(form.get("schema"), f"{path}.schema"))


def _sampling(body: JsonObject) -> Sampling:
    stop = body.get("stop_sequences")
    stops = [] if stop is None else a_list(stop, "stop_sequences")
    return Sampling(
        temperature=number(body, "temperature"),
        top_p=number(body, "top_p"),
        top_k=integer(body, "top_k", least=0),
        max_output_tokens=integer(body, "max_tokens", least=1),
        stop=tuple(a_string(text, f"stop_sequences.{i}") for i, text in enumerate(stops)),
    )


def _thinking(body: JsonObject, extra: dict[str, Json]) -> ThinkingWish | None:
    effort = _effort(body.get("output_config"), extra)
    value = body.get("thinking")
    if value is None:
        return ThinkingWish(effort=effort) if effort else None
    thinking = an_object(value, "thinking")
    others = rest(thinking, _THINKING)
    match thinking.get("type"):
        case "enabled":
            budget = integer(thinking, "budget_tokens", least=1)
            return ThinkingWish("on", budget, effort, others)
        case "disabled":
            return ThinkingWish("off", None, effort, others)
        case "adaptive":
            return ThinkingWish("adaptive", None, effort, others)
        case _:  # newer than this code: only its own dialect can carry it
            extra["thinking"] = thinking
            return ThinkingWish(effort=effort) if effort else None


def _effort(config: Json, extra: dict[str, Json]) -> str | None:
    if config is None:
        return None
    others: Mapping[str, Json] = rest(config, frozenset({"effort", "format"}))
    if others:
        extra["output_config"] = others
    return string(config, "effort", "output_config")


def _user(value: Json, extra: dict[str, Json]) -> str | None:
    if value is None:
        return None
    metadata = an_object(value, "metadata")
    others = rest(metadata, frozenset({"user_id"}))
    if others:
        extra["metadata"] = others
    return string(metadata, "user_id", "metadata")
