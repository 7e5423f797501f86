"""Writes the call that asks a target for a request, relayed or neutral."""

from __future__ import annotations

from dataclasses import replace

import orjson

from gateway.upstream.hosted import refuse_thread, without_hosted
from gateway.upstream.openai.calling import shortened
from gateway.upstream.openai.closed import is_closed
from gateway.upstream.openai.losses import Losses, refuse
from gateway.upstream.openai.payload import as_object
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.openai_chat.adapt import Body, adapt
from gateway.upstream.providers.openai_chat.payload import DIALECT
from gateway.upstream.providers.openai_chat.signed import returned, signed
from gateway.upstream.providers.openai_chat.stops import parted
from gateway.upstream.providers.openai_chat.thinking import steered, thinking, understood
from gateway.upstream.providers.openai_chat.thoughts import unthought
from gateway.upstream.providers.openai_chat.turns import tools_of, turns_of
from gateway.upstream.retold import retold
from gateway.upstream.searching import with_options
from gateway.upstream.shared import translated
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Relay,
    Request,
    ResponseFormat,
    Sampling,
    ToolChoice,
)

_PATH = "/chat/completions"


def is_relayed(request: Request) -> bool:
    """Return whether *request* is to be sent in the client's own body."""
    return request.relay is not None and request.relay.dialect == DIALECT


def encode(request: Request, target: Target) -> HttpCall:
    """Return the call that asks *target* for *request*.

    Raises:
        RequestRejected: A feature that the target does not have, or a loss under ``strict``.
    """
    relay = request.relay
    if relay is not None and relay.dialect == DIALECT:
        losses = Losses(strict=request.strict)
        body = _relayed(request, relay, target)
        say = steered if target.steered else understood
        body = say(body, relay, target, losses)
        can = target.relayed
    else:
        request = request.decoded()
        native = request.dialect in {"", DIALECT}
        losses = Losses(strict=request.strict, native=native, takes=target.takes)
        request = translated(request, DIALECT, target.takes, losses.drop)
        sent = request if losses.native else shortened(request)
        body = returned(_written(sent, target, losses), target, losses)
        wish = request.thinking or target.thinking
        body = body if wish is None else thinking(body, wish, target, losses)
        can = target.capabilities
    adapted = adapt(unthought(signed(body, target, losses), target, losses), can, losses)
    untouched = relay is not None and adapted is relay.body
    raw = relay.raw if relay is not None and untouched else None
    headers = {"content-type": "application/json"}
    if losses.native:
        headers.update(request.headers)
    return HttpCall(_PATH, raw or orjson.dumps(dict(adapted)), headers, losses.warnings)


def _relayed(request: Request, relay: Relay, target: Target) -> Body:
    """Return the client's body with what must differ, or itself if nothing must."""
    body = relay.body
    changes: JsonObject = {}
    if body.get("model") != target.model:
        changes["model"] = target.model
    if bool(body.get("stream")) != request.stream:
        changes["stream"] = request.stream
    options = _stream_options(request, target, as_object(body.get("stream_options")))
    if options != body.get("stream_options"):
        changes["stream_options"] = options
    if not changes:
        return body
    changed = {**body, **changes}
    if options is None:
        changed.pop("stream_options", None)
    return changed


def _stream_options(request: Request, target: Target, asked: JsonObject) -> JsonObject | None:
    """Return what to ask of a stream: its usage, which the gateway counts by."""
    if not request.stream or not target.capabilities.stream_usage:
        return None
    return asked if asked.get("include_usage") is True else {**asked, "include_usage": True}


def _written(request: Request, target: Target, losses: Losses) -> Body:
    if request.sampling.n > 1:
        raise refuse("more than one choice here", "n")
    refuse_thread(request)
    request = with_options(request, target.model, target.takes, losses.drop)
    request = without_hosted(request, target, DIALECT, losses.drop)
    request = retold(request, DIALECT, losses.drop)
    extra = losses.keep(request.extra)
    optional: JsonObject = {
        "stream": request.stream or None,
        "stream_options": _stream_options(request, target, as_object(extra.get("stream_options"))),
        "tools": tools_of(request.tools, losses) or None,
        "response_format": _format(request.response_format, native=losses.native),
        "user": request.user,
        **_choice(request),
        **_sampling(request.sampling, target, losses),
    }
    body: JsonObject = {
        "model": target.model,
        "messages": turns_of(request.messages, losses),
    }
    body.update({name: value for name, value in optional.items() if value is not None})
    extra.pop("stream_options", None)
    return {**body, **extra, **(_begun(body, target) if request.continues else {})}


def _begun(body: JsonObject, target: Target) -> JsonObject:
    """Return what tells that the last of the turns in *body* is the beginning of the answer.

    Source: docs.mistral.ai (capabilities, prefix); api-docs.deepseek.com (chat prefix completion);
    docs.vllm.ai (OpenAI-compatible server, extra parameters).
    """
    match target.capabilities.prefill:
        case "prefix":
            *turns, last = body["messages"]
            return {"messages": [*turns, {**last, "prefix": True}]}
        case "flags":
            return {"add_generation_prompt": False, "continue_final_message": True}
        case _:
            return {}


def _sampling(sampling: Sampling, target: Target, losses: Losses) -> JsonObject:
    if sampling.top_k is not None and not losses.native and "top_k" not in losses.takes:
        losses.drop("field_dropped", "top_k")
        sampling = replace(sampling, top_k=None)
    if not losses.native:
        sampling = replace(sampling, stop=parted(sampling.stop, target)[0])
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "max_tokens": sampling.max_output_tokens,
        "stop": list(sampling.stop) or None,
        "seed": sampling.seed,
        "logprobs": sampling.logprobs or None,
        "top_logprobs": sampling.top_logprobs,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
    }


def _choice(request: Request) -> JsonObject:
    choice: ToolChoice | None = request.tool_choice
    if choice is None or not request.tools:
        return {}
    modes: dict[str, Json] = {
        "auto": None,
        "none": "none",
        "required": "required",
        "named": {"type": "function", "function": {"name": choice.name}},
    }
    return {"tool_choice": modes[choice.mode], "parallel_tool_calls": choice.parallel}


def _format(wanted: ResponseFormat | None, *, native: bool) -> JsonObject | None:
    if wanted is None:
        return None
    if wanted.kind == "json_object":
        return {"type": "json_object"}
    schema: JsonObject = {"name": wanted.name or "answer", "schema": wanted.schema}
    strict = wanted.strict
    if strict is None and not native:
        strict = is_closed(wanted.schema) or None  # where it came from, a schema is enforced
    if strict is not None:
        schema["strict"] = strict
    if wanted.description is not None:
        schema["description"] = wanted.description
    return {"type": "json_schema", "json_schema": schema}
