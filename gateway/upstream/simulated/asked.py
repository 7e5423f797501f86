"""Reads the body of a chat completion call as a provider would, and rejects what one would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
from jsonschema_rs import meta

from techniques.core.json import Json, JsonObject

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


@dataclass(eq=False)
class Refused(Exception):
    """The call is answered with an error; ``kind`` is the ``type`` of OpenAI's error object."""

    status: int
    message: str
    param: str | None = None
    code: str | None = None
    kind: str = "invalid_request_error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: its text parts joined, and the calls in it (``function`` objects)."""

    role: str
    text: str
    calls: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for. ``digest`` is what two calls with the same question share."""

    model: str
    turns: tuple[Turn, ...]
    digest: bytes
    prompt_tokens: int
    n: int = 1
    streamed: bool = False
    include_usage: bool = False
    temperature: float = 1.0
    seed: int | None = None
    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    top_logprobs: int | None = None
    tools: tuple[JsonObject, ...] = ()
    tool_choice: Json = None
    parallel: bool = True
    response_format: JsonObject = field(default_factory=dict)

    @property
    def last_user(self) -> str:
        """The text of the last user turn, "" if there is none."""
        return next((turn.text for turn in reversed(self.turns) if turn.role == "user"), "")

    @property
    def everything(self) -> str:
        """All that was said by system and user."""
        return "\n\n".join(
            turn.text for turn in self.turns if turn.role not in {"assistant", "tool"}
        )


def read(raw: bytes) -> Asked:
    """Return what the JSON body *raw* asks for.

    Raises:
        Refused: It is no valid call.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise _bad(f"We could not parse the JSON body of your request: {error}") from error
    if not isinstance(body, dict):
        raise _bad("The body must be a JSON object.")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise _bad("You must provide a model parameter.", "model")
    turns = _turns(body.get("messages"))
    shared = orjson.dumps([body["messages"], body.get("tools"), body.get("response_format")])
    logprobs = body.get("logprobs") is True
    return Asked(
        model=model,
        turns=turns,
        digest=shared,
        prompt_tokens=3 + 4 * len(turns) + _letters(body, turns) // 4,
        n=_whole(body, "n", 1, 128) or 1,
        streamed=body.get("stream") is True,
        include_usage=_dict(body, "stream_options").get("include_usage") is True,
        temperature=_number(body, "temperature", 2.0),
        seed=_whole(body, "seed", -(2**63), 2**63 - 1),
        max_tokens=_whole(body, "max_completion_tokens", 1, 10**9)
        or _whole(body, "max_tokens", 1, 10**9),
        stops=_stops(body.get("stop")),
        top_logprobs=(_whole(body, "top_logprobs", 0, 20) or 0) if logprobs else None,
        tools=tuple(_tools(body)),
        tool_choice=_choice(body.get("tool_choice")),
        parallel=body.get("parallel_tool_calls") is not False,
        response_format=_format(body),
    )


def _bad(message: str, param: str | None = None) -> Refused:
    return Refused(400, message, param)


def _letters(body: JsonObject, turns: tuple[Turn, ...]) -> int:
    said = sum(len(turn.text) + sum(len(orjson.dumps(c)) for c in turn.calls) for turn in turns)
    told = (orjson.dumps(body[k]) for k in ("tools", "response_format") if body.get(k))
    return said + sum(len(text) for text in told)


def _turns(messages: Json) -> tuple[Turn, ...]:
    if not isinstance(messages, list) or not messages:
        raise _bad("Invalid 'messages': expected an array with at least one message.", "messages")
    return tuple(_turn(message, f"messages.[{i}]") for i, message in enumerate(messages))


def _turn(message: Json, where: str) -> Turn:
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str) or role not in _ROLES:
        raise _bad(f"Invalid value for '{where}.role'.", f"{where}.role")
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(_part(part) for part in content)
    if content is not None and not isinstance(content, str):
        raise _bad(f"Invalid type for '{where}.content'.", f"{where}.content")
    calls = message.get("tool_calls")
    listed = calls if isinstance(calls, list) else []
    functions = [call.get("function") for call in listed if isinstance(call, dict)]
    return Turn(role, content or "", tuple(f for f in functions if isinstance(f, dict)))


def _part(part: Json) -> str:
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _dict(body: JsonObject, name: str) -> JsonObject:
    value = body.get(name)
    if value is not None and not isinstance(value, dict):
        raise _bad(f"Invalid type for '{name}': expected an object.", name)
    return value or {}


def _whole(body: JsonObject, name: str, low: int, high: int) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _bad(f"Invalid '{name}': expected an integer from {low} to {high}.", name)
    return value


def _number(body: JsonObject, name: str, high: float) -> float:
    value = body.get(name)
    if value is None:
        return 1.0
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= high:
        raise _bad(f"Invalid '{name}': expected a number from 0 to {high:g}.", name)
    return float(value)


def _stops(stop: Json) -> tuple[str, ...]:
    stops = [stop] if isinstance(stop, str) else stop or []
    if not isinstance(stops, list) or not all(isinstance(s, str) for s in stops):
        raise _bad("Invalid 'stop': expected a string or an array of strings.", "stop")
    return tuple(s for s in stops if s)


def _tools(body: JsonObject) -> list[JsonObject]:
    tools = body.get("tools")
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise _bad("Invalid 'tools': expected an array.", "tools")
    functions = [_dict(tool, "function") for tool in tools if isinstance(tool, dict)]
    for function in functions:
        if not isinstance(function.get("name"), str):
            raise _bad("Invalid 'tools': every function needs a name.", "tools")
        _check_schema(function.get("parameters"), "tools")
    return functions


def _choice(choice: Json) -> Json:
    if isinstance(choice, dict):
        _dict(choice, "function")
    return choice


def _format(body: JsonObject) -> JsonObject:
    wanted = _dict(body, "response_format")
    _check_schema(_dict(wanted, "json_schema").get("schema"), "response_format")
    return wanted


def _check_schema(schema: Json, param: str) -> None:
    if schema is not None and not (isinstance(schema, dict) and meta.is_valid(schema)):
        raise _bad(f"Invalid schema in '{param}'.", param)
