"""The response object: what was asked, and how it stands with the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from gateway.wire.dialect import Call, Summary, with_total
from gateway.wire.openai_responses.output import Names, Status, names_of
from pricing.usage import Usage
from techniques.core.events import FinishReason
from techniques.core.json import Json, JsonObject

_ID: Final = "resp_"
_INCOMPLETE: Final[Mapping[FinishReason, str]] = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}
"""Why an answer is not all that it was to be; every other reason completes it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What all forms of one response share: its id, its time, its model and what was asked."""

    call: Call
    id: str
    created_at: int
    model: str

    @property
    def names(self) -> Names:
        """The names of its items."""
        return names_of(self.id.removeprefix(_ID), self.call.relay.body)

    def response(self, status: str, output: list[Json], **told: Json) -> JsonObject:
        """Return the response with that *status* and *output*; *told* are fields that differ."""
        asked = self.call.relay.body
        body: JsonObject = {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "background": False,
            "completed_at": now() if status == "completed" else None,
            "error": None,
            "incomplete_details": None,
            **{name: asked.get(name) for name in _ECHOED},
            **_stated(asked),
            "model": self.model,
            "output": output,
            "service_tier": "default",
            "store": False,
            "usage": None,
        }
        return {**body, **told}


_ECHOED: Final = (
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "safety_identifier",
    "temperature",
    "top_p",
    "user",
)


def _stated(asked: Mapping[str, Json]) -> JsonObject:
    """Return the fields that have a value also where the client gave none."""
    wish, text, parallel = (
        asked.get("reasoning"),
        asked.get("text"),
        asked.get("parallel_tool_calls"),
    )
    reasoning = {"effort": None, "summary": None, **(wish if isinstance(wish, dict) else {})}
    form = {"format": {"type": "text"}, "verbosity": "medium"}
    tools = asked.get("tools")
    given = text.items() if isinstance(text, dict) else ()
    return {
        "metadata": asked.get("metadata") or {},
        "parallel_tool_calls": True if parallel is None else parallel,
        "reasoning": reasoning,
        "text": {**form, **{name: value for name, value in given if value is not None}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": [_tool(tool) for tool in tools] if isinstance(tools, list) else [],
        "top_logprobs": asked.get("top_logprobs") or 0,
        "truncation": asked.get("truncation") or "disabled",
    }


def _tool(tool: Json) -> Json:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return tool
    return {"description": None, "parameters": None, "strict": None, **tool}


def response_id(provided: str, request_id: str) -> str:
    """Return the provider's own id where it has this API's form, else one of *request_id*."""
    if provided.startswith(_ID):
        return provided
    return _ID + (re.sub(r"[^A-Za-z0-9]", "", request_id or provided) or uuid4().hex)


def now() -> int:
    """Return the time, in seconds since the epoch."""
    return int(datetime.now(UTC).timestamp())


def ended(reason: FinishReason) -> tuple[str, JsonObject]:
    """Return the status of a response that ended so, and what else is told of it."""
    why = _INCOMPLETE.get(reason)
    if why is None:
        return "completed", {}
    return "incomplete", {"incomplete_details": {"reason": why}}


def last_of(reason: FinishReason) -> Status:
    """Return the status of the last item of a response that ended so."""
    return "incomplete" if reason in _INCOMPLETE else "completed"


def usage_of(usage: Usage) -> JsonObject:
    """Return this API's ``usage`` object."""
    written = usage.cache_write_tokens + usage.cache_write_1h_tokens
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": written,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def tools_used(searches: int) -> JsonObject:
    """Return the field that tells how often the web was searched, if it was."""
    if not searches:
        return {}
    drawn = {
        "input_tokens": 0,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "output_tokens": 0,
        "total_tokens": 0,
    }
    return {"tool_usage": {"image_gen": drawn, "web_search": {"num_requests": searches}}}


def reported(usage: Usage | None, summary: Summary) -> JsonObject:
    """Return the answer's own *usage*, with what the whole run came to beside it."""
    return with_total(
        usage_of(summary.usage if usage is None else usage), usage_of(summary.usage), summary
    )
