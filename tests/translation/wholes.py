"""Answers of each provider, and where in them values of the SDKs' types stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from anthropic.types import (
    CacheCreation,
    ContentBlock,
    Message,
    OutputTokensDetails,
    RefusalStopDetails,
    ServerToolUsage,
    TextCitation,
    Usage,
)
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice, ChoiceLogprobs
from openai.types.chat.chat_completion_message import Annotation, AnnotationURLCitation
from openai.types.completion_usage import CompletionTokensDetails, PromptTokensDetails
from openai.types.responses import (
    Response,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)
from openai.types.responses.response import IncompleteDetails, ToolUsage, ToolUsageWebSearch
from openai.types.responses.response_usage import InputTokensDetails
from openai.types.responses.response_usage import OutputTokensDetails as ResponseOutputDetails

from techniques.core.json import Json, JsonObject
from tests.translation.samples import CHAT, MESSAGES, RESPONSES

TEXT: Final = "Hello there."
MORE: Final = " Well."
TOKEN: Final[JsonObject] = {"token": "Hello", "bytes": [72], "logprob": -0.5, "top_logprobs": []}


@dataclass(frozen=True, eq=False)
class Spot:
    """Where in an answer of *provider* an object of *kind* stands, or a word of it.

    Attributes:
        name: The path to it, empty for the answer itself.
        put: Makes an answer with what it is given.
        base: What is there without it.
    """

    provider: str
    name: str
    kind: Any
    put: Callable[[Json], JsonObject]
    base: Json = None


def chat(message: JsonObject | None = None, **told: Json) -> JsonObject:
    """Return an answer whose *message* and other fields differ from the usual so."""
    said = {"role": "assistant", "content": TEXT, **(message or {})}
    reason = "tool_calls" if said.get("tool_calls") or said.get("function_call") else "stop"
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 50}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": usage, **told}


def _choice(told: Json) -> JsonObject:
    made = chat()
    return {**made, "choices": [{**made["choices"][0], **told}]}


def _counted(made: JsonObject, *path: str) -> Callable[[Json], JsonObject]:
    """Return what puts counts at *path* in the usage of *made*."""

    def put(told: Json) -> JsonObject:
        value = told
        for name in reversed(path):
            value = {name: value}
        return {**made, "usage": {**made["usage"], **value}}

    return put


def response(*items: JsonObject, **told: Json) -> JsonObject:
    """Return an answer with these *items* of output."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "error": None,
        "incomplete_details": None,
        "output": list(items) or [spoken()],
        "usage": {"input_tokens": 100, "output_tokens": 50},
        **told,
    }


def spoken(*content: JsonObject, **told: Json) -> JsonObject:
    """Return a message of these parts."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    return {**head, "content": list(content) or [_said()], **told}


def _said(**told: Json) -> JsonObject:
    return {"type": "output_text", "text": TEXT, "annotations": [], **told}


def _item(item: Json) -> JsonObject:
    kind = item.get("type")
    if kind == "message":
        return response({**item, "content": [_said(), _said(text=MORE)]})
    return response(spoken(), item)


def message(*content: JsonObject, **told: Json) -> JsonObject:
    """Return an answer of these blocks of *content*."""
    calls = any(block.get("type") == "tool_use" for block in content)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": list(content) or [{"type": "text", "text": TEXT}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 50},
        **told,
    }


def _block(block: Json) -> JsonObject:
    more = {**block, "text": MORE} if block.get("type") == "text" else block
    return message({"type": "text", "text": TEXT}, more)


def _refused(details: Json) -> JsonObject:
    return message(stop_reason="refusal", stop_details={"type": "refusal", **details})


SPOTS: Final = (
    Spot(CHAT, "", ChatCompletion, lambda told: {**chat(), **told}, {}),
    Spot(CHAT, "choices", Choice, _choice, {}),
    Spot(
        CHAT,
        "choices.finish_reason",
        Choice.model_fields["finish_reason"].annotation,
        lambda word: _choice({"finish_reason": word}),
        "stop",
    ),
    Spot(CHAT, "choices.logprobs", ChoiceLogprobs, lambda told: _logged(told), {}),
    Spot(CHAT, "choices.message", ChatCompletionMessage, lambda told: chat(told), {}),
    Spot(
        CHAT,
        "choices.message.tool_calls",
        ChatCompletionMessage.model_fields["tool_calls"].annotation,
        lambda call: chat({"tool_calls": [call] if call else None}),
    ),
    Spot(
        CHAT,
        "choices.message.annotations",
        Annotation,
        lambda one: chat({"annotations": [one] if one else []}),
    ),
    Spot(
        CHAT,
        "choices.message.annotations.url_citation",
        AnnotationURLCitation,
        lambda told: chat({"annotations": [_cited(told)]}),
        {},
    ),
    Spot(CHAT, "usage", CompletionUsage, _counted(chat()), {}),
    Spot(
        CHAT,
        "usage.prompt_tokens_details",
        PromptTokensDetails,
        _counted(chat(), "prompt_tokens_details"),
        {},
    ),
    Spot(
        CHAT,
        "usage.completion_tokens_details",
        CompletionTokensDetails,
        _counted(chat(), "completion_tokens_details"),
        {},
    ),
    Spot(RESPONSES, "", Response, lambda told: _with(told), {}),
    Spot(
        RESPONSES,
        "incomplete_details.reason",
        IncompleteDetails.model_fields["reason"].annotation,
        lambda word: _incomplete(word),
    ),
    Spot(
        RESPONSES,
        "output",
        Response.model_fields["output"].annotation,
        lambda item: _item(item) if item else response(),
    ),
    Spot(
        RESPONSES,
        "output.content",
        ResponseOutputMessage.model_fields["content"].annotation,
        lambda part: response(spoken(*([_said(), part] if part else []))),
    ),
    Spot(
        RESPONSES,
        "output.content.annotations",
        ResponseOutputText.model_fields["annotations"].annotation,
        lambda one: response(spoken(_said(annotations=[one] if one else []))),
    ),
    Spot(RESPONSES, "usage", ResponseUsage, _counted(response()), {}),
    Spot(
        RESPONSES,
        "usage.input_tokens_details",
        InputTokensDetails,
        _counted(response(), "input_tokens_details"),
        {},
    ),
    Spot(
        RESPONSES,
        "usage.output_tokens_details",
        ResponseOutputDetails,
        _counted(response(), "output_tokens_details"),
        {},
    ),
    Spot(RESPONSES, "tool_usage", ToolUsage, lambda told: response(tool_usage=told), {}),
    Spot(
        RESPONSES,
        "tool_usage.web_search",
        ToolUsageWebSearch,
        lambda told: response(tool_usage={"web_search": told}),
        {},
    ),
    Spot(MESSAGES, "", Message, lambda told: {**message(), **told}, {}),
    Spot(
        MESSAGES,
        "stop_reason",
        Message.model_fields["stop_reason"].annotation,
        lambda word: message(stop_reason=word),
        "end_turn",
    ),
    Spot(MESSAGES, "stop_details", RefusalStopDetails, _refused, {}),
    Spot(MESSAGES, "content", ContentBlock, lambda block: _block(block) if block else message()),
    Spot(
        MESSAGES,
        "content.citations",
        TextCitation,
        lambda one: message({"type": "text", "text": TEXT, "citations": [one] if one else []}),
    ),
    Spot(MESSAGES, "usage", Usage, _counted(message()), {}),
    Spot(
        MESSAGES,
        "usage.cache_creation",
        CacheCreation,
        lambda told: _counted(message())(
            {"cache_creation_input_tokens": 20, "cache_creation": told}
        ),
        {},
    ),
    Spot(
        MESSAGES,
        "usage.output_tokens_details",
        OutputTokensDetails,
        _counted(message(), "output_tokens_details"),
        {},
    ),
    Spot(
        MESSAGES,
        "usage.server_tool_use",
        ServerToolUsage,
        _counted(message(), "server_tool_use"),
        {},
    ),
)
"""All of them, each provider's answer first."""


def _cited(told: Json) -> JsonObject:
    usual = {"url": "https://b.test", "title": "b", "start_index": 1, "end_index": 5}
    return {"type": "url_citation", "url_citation": {**usual, **told}}


def _with(told: Json) -> JsonObject:
    failed = {"status": "failed"} if told.get("error") else {}
    return {**response(), **told, **failed}


def _logged(told: Json) -> JsonObject:
    refused = "refusal" in told
    said = {"content": None, "refusal": TEXT} if refused else {"content": TEXT}
    logprobs = {name: [TOKEN] for name in told}
    made = chat(said)
    return {**made, "choices": [{**made["choices"][0], "logprobs": logprobs or None}]}


def _incomplete(reason: Json) -> JsonObject:
    if reason is None:
        return response()
    return response(status="incomplete", incomplete_details={"reason": reason})
