"""Requests that have something special, as both SDKs put them, and what answer is good."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import jsonschema_rs
from anthropic.types import Message
from openai.types.chat import ChatCompletion

from techniques.core.json import Json

_PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4"
    "2mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_PLACE: Final = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
_FACTS: Final = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
    "additionalProperties": False,
}
_ABOUT: Final = "The weather in a city."


def _asks(text: str) -> list[Json]:
    return [{"role": "user", "content": text}]


@dataclass(frozen=True, slots=True)
class Given:
    """An answer, whatever surface it came from."""

    text: str
    calls: tuple[tuple[str, Json], ...]
    choices: int = 1
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class Special:
    """A sort of request.

    Attributes:
        chat: The fields for the chat completions SDK.
        messages: Those for the messages SDK, None where it cannot ask so.
        good: Tells whether an answer keeps what was asked for.
        cell: Which column of the table of special requests it is about, "" for a plain text.
    """

    chat: dict[str, Json]
    messages: dict[str, Json] | None
    good: Callable[[Given], bool]
    cell: str = ""


def of_chat(answer: ChatCompletion) -> Given:
    """Return what a chat completion gives."""
    message = answer.choices[0].message
    calls = tuple(
        (call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls or ()
        if call.type == "function"
    )
    told = answer.choices[0].logprobs
    return Given(message.content or "", calls, len(answer.choices), bool(told and told.content))


def of_message(answer: Message) -> Given:
    """Return what a message gives."""
    texts = [block.text for block in answer.content if block.type == "text"]
    calls = [(block.name, block.input) for block in answer.content if block.type == "tool_use"]
    return Given("".join(texts), tuple(calls))


def _has_text(given: Given) -> bool:
    return bool(given.text.strip()) and not given.calls


def _calls(count: int) -> Callable[[Given], bool]:
    check = jsonschema_rs.validator_for(_PLACE)

    def good(given: Given) -> bool:
        places = [arguments for name, arguments in given.calls if name == "get_weather"]
        return len(places) == len(given.calls) == count and all(map(check.is_valid, places))

    return good


def _fits(given: Given) -> bool:
    return jsonschema_rs.validator_for(_FACTS).is_valid(json.loads(given.text))


_CHAT_TOOL: Final = {
    "type": "function",
    "function": {"name": "get_weather", "description": _ABOUT, "parameters": _PLACE},
}
_TOOL: Final = {"name": "get_weather", "description": _ABOUT, "input_schema": _PLACE}
_ONE: Final = _asks("What is the weather in Paris?")
_TWO: Final = _asks("What is the weather in Paris and Rome?")
_SEEN: Final = "What do you see in this picture? Describe it."

SPECIAL: Final = {
    "text": Special(
        {"messages": _asks("What is 17 * 23?")},
        {"messages": _asks("What is 17 * 23?")},
        _has_text,
    ),
    "prose": Special(
        {"messages": _asks("Describe the sea in a few sentences.")},
        {"messages": _asks("Describe the sea in a few sentences.")},
        _has_text,
    ),
    "tools": Special(
        {"messages": _ONE, "tools": [_CHAT_TOOL]},
        {"messages": _ONE, "tools": [_TOOL]},
        _calls(1),
        "tools",
    ),
    "parallel tools": Special(
        {"messages": _TWO, "tools": [_CHAT_TOOL]},
        {"messages": _TWO, "tools": [_TOOL]},
        _calls(2),
        "tools",
    ),
    "strict schema": Special(
        {
            "messages": _asks("How many people live in Oslo?"),
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "facts", "strict": True, "schema": _FACTS},
            },
        },
        {
            "messages": _asks("How many people live in Oslo?"),
            "output_config": {"format": {"type": "json_schema", "schema": _FACTS}},
        },
        _fits,
        "json",
    ),
    "image": Special(
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": _SEEN},
                        {
                            "type": "image_url",
                            "image_url": {"url": f"data:image/png;base64,{_PIXEL}"},
                        },
                    ],
                }
            ]
        },
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": _SEEN},
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": _PIXEL,
                            },
                        },
                    ],
                }
            ]
        },
        _has_text,
        "images",
    ),
    "after a tool result": Special(
        {
            "messages": [
                *_ONE,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees, rain"},
            ],
            "tools": [_CHAT_TOOL],
        },
        {
            "messages": [
                *_ONE,
                {
                    "role": "assistant",
                    "content": [
                        {
                            "type": "tool_use",
                            "id": "call_1",
                            "name": "get_weather",
                            "input": {"city": "Paris"},
                        }
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "call_1",
                            "content": "12 degrees, rain",
                        }
                    ],
                },
            ],
            "tools": [_TOOL],
        },
        _has_text,
        "tools",
    ),
    "n = 2": Special(
        {"messages": _asks("What is 17 * 23?"), "n": 2},
        None,
        lambda given: _has_text(given) and given.choices == 2,
        "many",
    ),
    "logprobs": Special(
        {"messages": _asks("What is 17 * 23?"), "logprobs": True, "top_logprobs": 2},
        None,
        lambda given: _has_text(given) and given.logprobs,
        "logprobs",
    ),
}
"""By name."""
