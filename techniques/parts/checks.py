"""Tells what is wrong with a reply without asking anyone: free, exact, and always first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import jsonschema_rs

from techniques.core.errors import TechniqueFailed
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Opaque, Request, Tool, ToolCall
from techniques.parts.decisions import read_json

Lost: TypeAlias = Literal[
    "failed", "deadline", "empty", "truncated", "filtered", "invalid", "forbidden"
]
"""Why a sub-call's reply is an erasure: it never votes and enters no prompt.

``forbidden``: it calls a tool where none was offered or none may be called. While an answer that
was cut off or is invalid may be better than none, this never is.
"""

_MOST_DEFECTS: Final = 5
_LISTED: Final = 20_000  # characters; to list all that is wrong with more takes too long
_LONGEST_TOLD: Final = 400  # characters of what is said of a defect


class Checks:
    """The rules that a request sets for its reply, compiled once.

    A schema that is itself wrong, or points outside itself, is not checked: nothing is fetched.
    """

    def __init__(self, request: Request) -> None:
        self._format = request.response_format
        self._choice = request.tool_choice
        self._schema = _validator(self._format.schema if self._format else None)
        tools = [tool for tool in request.tools if isinstance(tool, Tool)]
        self._tools: Mapping[str, jsonschema_rs.Validator | None] = {
            tool.name: _validator(tool.parameters) for tool in tools
        }
        chosen = self._choice.mode if self._choice else "auto"
        self._may_act = bool(request.tools) and chosen != "none"
        self._open = any(isinstance(tool, Opaque) for tool in request.tools)
        self.strict = bool(self._format and self._format.strict) or any(
            tool.strict for tool in tools
        )

    def lost(self, reply: Reply) -> Lost | None:
        """Return why *reply* is no candidate, None if it is one."""
        if reply.finish_reason == "content_filter":
            return "filtered"
        if reply.tool_calls and not self._may_act:
            return "forbidden"
        if not says_anything(reply):
            return "empty"
        if reply.finish_reason == "length":
            return "truncated"
        declines = bool(reply.refusal) or reply.finish_reason == "refusal"
        return None if declines or not self.defects(reply) else "invalid"

    def defects(self, reply: Reply) -> tuple[str, ...]:
        """Return what *reply* breaks of the rules, in words that its model can act on."""
        calls = reply.tool_calls
        found = self._choice_defects(calls)
        for call in calls:
            found += self._call_defects(call)
        if self._format is not None and not calls:
            found += self._text_defects(reply.text)
        return tuple(found[:_MOST_DEFECTS])

    def _choice_defects(self, calls: tuple[ToolCall, ...]) -> list[str]:
        choice = self._choice
        if choice is None:
            return []
        found = []
        if choice.mode == "none" and calls:
            found.append("No tool may be called.")
        if choice.mode in {"required", "named"} and not calls:
            found.append("A tool must be called.")
        if choice.mode == "named" and any(call.name != choice.name for call in calls):
            found.append(f"The tool to call is {choice.name!r}.")
        if choice.parallel is False and len(calls) > 1:
            found.append("Only one tool may be called at a time.")
        return found

    def _call_defects(self, call: ToolCall) -> list[str]:
        if call.name not in self._tools:
            return [] if self._open else [f"There is no tool {call.name!r}."]
        try:
            arguments = read_json(call.arguments or "{}")
        except ValueError:
            return [f"The arguments of {call.name!r} are no JSON."]
        if not isinstance(arguments, dict):
            return [f"The arguments of {call.name!r} are no JSON object."]
        return _breaches(
            self._tools[call.name], arguments, f"arguments of {call.name!r}", len(call.arguments)
        )

    def _text_defects(self, text: str) -> list[str]:
        try:
            value = read_json(text)
        except ValueError:
            return ["The answer is no JSON."]
        if self._format and self._format.kind == "json_object" and not isinstance(value, dict):
            return ["The answer is no JSON object."]
        return _breaches(self._schema, value, "answer", len(text))


def must_keep_form(checks: Checks, reply: Reply) -> None:
    """Look whether *reply* keeps to the form that the request sets.

    Raises:
        TechniqueFailed: It does not.
    """
    if checks.lost(reply) in {"invalid", "forbidden"}:
        raise form_broken()


def form_broken() -> TechniqueFailed:
    """Return the failure of a technique whose model kept to no form that the request sets."""
    message = "The model did not keep to the form that the request sets."
    return TechniqueFailed(message, code="invalid_answer")


def says_anything(reply: Reply) -> bool:
    """Tell whether *reply* has more than its thinking."""
    if reply.text.strip() or reply.refusal or reply.tool_calls:
        return True
    return any(isinstance(part, Opaque) and not part.thinking for part in reply.parts)


def _validator(schema: Json) -> jsonschema_rs.Validator | None:
    if schema is None:
        return None
    try:
        return jsonschema_rs.validator_for(schema, retriever=_fetch_nothing)
    except ValueError:
        return None


def _fetch_nothing(uri: str) -> Json:
    raise ValueError(f"{uri!r} lies outside the schema.")


def _breaches(
    validator: jsonschema_rs.Validator | None, value: Json, where: str, length: int
) -> list[str]:
    """Return what *value*, spelt in *length* characters, breaks; of a long one the first only."""
    if validator is None:
        return []
    found = []
    for error in _errors(validator, value, length):
        path = "/".join(map(str, error.instance_path))
        told = error.message[:_LONGEST_TOLD]
        found.append(f"In the {where}{' at ' + path if path else ''}: {told}")
        if len(found) == _MOST_DEFECTS:
            break
    return found


def _errors(
    validator: jsonschema_rs.Validator, value: Json, length: int
) -> Iterable[jsonschema_rs.ValidationError]:
    if length <= _LISTED:
        return validator.iter_errors(value)
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []
