"""Sampling, tools and the form of the answer, as this provider asks for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gateway.upstream.provider import Target
from gateway.upstream.providers.anthropic.losses import Losses, refuse, refuse_tool
from gateway.upstream.providers.anthropic.schemas import held
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Request, ResponseFormat, Sampling, Tool, ToolChoice

DEFAULT_MAX_TOKENS = 4096
"""The output limit where the caller named none: the API wants one."""
TAKES = frozenset({"service_tier"})
"""Fields of other APIs that this one has under the same name."""
_ONE = re.compile(r"claude-(opus|sonnet|haiku)-4[.-][1-9](?!\d)")
"""Models that take a temperature or a ``top_p``, and refuse both; later ones take neither."""
_JSON_ONLY = "Answer with one valid JSON object and nothing else: no prose, no code fence."
_MODES = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}


def encode_sampling(sampling: Sampling, target: Target, body: JsonObject, losses: Losses) -> None:
    """Write how to draw the answer into *body*."""
    if sampling.n > 1:
        refuse("n", "this provider gives one answer a call")
    if sampling.logprobs or sampling.top_logprobs:
        refuse("logprobs", "this provider reports none")
    limit = sampling.max_output_tokens
    body["max_tokens"] = DEFAULT_MAX_TOKENS if limit is None else limit
    lost = {
        "seed": sampling.seed is not None,
        "presence_penalty": sampling.presence_penalty,  # 0 says nothing
        "frequency_penalty": sampling.frequency_penalty,
    }
    for name in filter(lost.get, lost):
        losses.note("field_dropped", name)
    _write_draw(sampling, target, body, losses)
    if stop := [text for text in sampling.stop if text.strip()]:
        body["stop_sequences"] = stop


def blank_stops(sampling: Sampling) -> tuple[str, ...]:
    """Return the stop texts in which nothing is seen: the API refuses them."""
    return tuple(text for text in sampling.stop if not text.strip())


def _write_draw(sampling: Sampling, target: Target, body: JsonObject, losses: Losses) -> None:
    temperature, top_p = sampling.temperature, sampling.top_p
    if temperature is not None and temperature > 1:
        losses.note("temperature_clamped", "temperature")
        temperature = 1.0
    if top_p == 1 and not losses.own:
        top_p = None  # says nothing, and newer models refuse it beside a temperature
    one = target.capabilities.temperature and not losses.own and _ONE.search(target.model.lower())
    if one and temperature is not None and top_p is not None:
        if temperature == 1 == sampling.temperature:
            temperature = None  # says nothing
        else:
            losses.note("field_dropped", "top_p")
            top_p = None
    values = {"temperature": temperature, "top_p": top_p, "top_k": sampling.top_k}
    for name, value in values.items():
        if value is not None and not target.capabilities.temperature:
            losses.note("field_dropped", name)
        elif value is not None:
            body[name] = value


def encode_tools(request: Request, target: Target, body: JsonObject, losses: Losses) -> None:
    """Write the tools and whether they may be called into *body*."""
    if not request.tools:
        return
    if not target.capabilities.tools:
        refuse("tools", f"{target.shown} has none")
    body["tools"] = [_tool(tool, target, losses) for tool in request.tools]
    if request.tool_choice is not None:
        body["tool_choice"] = _choice(request.tool_choice)


def _tool(tool: Tool | Opaque, target: Target, losses: Losses) -> Json:
    if isinstance(tool, Opaque):
        if not losses.own or tool.dialect != "anthropic":
            refuse_tool(str(tool.value.get("type")) if isinstance(tool.value, dict) else "?")
        return tool.value
    schema = tool.parameters if isinstance(tool.parameters, dict) else {}
    value: JsonObject = {"name": tool.name, "input_schema": {"type": "object", **schema}}
    if tool.description is not None:
        value["description"] = tool.description
    if tool.strict and not target.capabilities.json_schema:
        losses.note("field_dropped", "tools.strict")
    elif tool.strict or (losses.own and tool.strict is not None):
        value["strict"] = tool.strict
        if not losses.own:
            value["input_schema"] = held(value["input_schema"], losses.dropped("tools"))
    if tool.cache is not None:
        value["cache_control"] = tool.cache
    value.update(losses.extra(tool.extra, "tools"))
    return value


def _choice(choice: ToolChoice) -> JsonObject:
    value: JsonObject = {"type": _MODES[choice.mode]}
    if choice.mode == "named":
        value["name"] = choice.name
    if choice.parallel is False and choice.mode != "none":
        value["disable_parallel_tool_use"] = True
    return value


def encode_format(
    form: ResponseFormat | None, target: Target, body: JsonObject, losses: Losses
) -> None:
    """Write the form of the answer into *body*; ``system`` must already stand there."""
    if form is None:
        return
    if form.kind == "json_schema":
        if not target.capabilities.json_schema:
            refuse("response_format", f"{target.shown} takes no JSON schema")
        config = body.setdefault("output_config", {})
        config["format"] = {"type": "json_schema", "schema": _described(form, losses)}
        return
    losses.note("json_object_by_instruction", "response_format")
    body.setdefault("system", []).append({"type": "text", "text": _JSON_ONLY})


def _described(form: ResponseFormat, losses: Losses) -> Json:
    """Return the schema of *form*, with what is said of the whole, which has no other place."""
    schema = form.schema or {"type": "object"}
    if not losses.own:
        schema = held(schema, losses.dropped("response_format"))
    if form.description is None or not isinstance(schema, dict):
        return schema
    return {"description": form.description, **schema}


def encode_extra(extra: Mapping[str, Json], body: JsonObject, losses: Losses) -> None:
    """Write the fields that only their own dialect knows into *body*, or drop them."""
    for name, value in extra.items():
        if losses.own:
            merged = isinstance(value, Mapping) and isinstance(body.get(name), dict)
            body[name] = {**value, **body[name]} if merged else value
        elif name in TAKES:
            body[name] = value
        elif _is_feature(name, value):
            refuse(name, "this provider does not have it")
        elif value is not None:
            losses.note("field_dropped", name)


def _is_feature(name: str, value: Json) -> bool:
    if name == "modalities":
        return value not in (None, [], ["text"])
    if name == "web_search_options":
        return value is not None  # without options it is a search all the same
    return name in {"audio", "functions", "function_call"} and bool(value)
