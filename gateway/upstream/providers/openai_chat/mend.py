"""Sets right what hosts get wrong in a choice: finish reasons, tool indexes, arguments."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from gateway.upstream.openai.failure import reported
from gateway.upstream.openai.payload import as_index, as_list, as_object, as_text
from techniques.core.events import FinishReason
from techniques.core.json import Json, JsonObject

NEUTRAL: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
"""OpenAI's finish reasons, and what they are inside."""

_FOREIGN = {
    **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence", "complete"), "stop"),
    **dict.fromkeys(("max_tokens", "max_output_tokens", "max_new_tokens"), "length"),
    **dict.fromkeys(("model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("tool_use", "tool_call", "function_calls"), "tool_calls"),
    **dict.fromkeys(("safety", "recitation", "blocklist", "prohibited_content"), "content_filter"),
    **dict.fromkeys(("spii", "image_safety", "content_filtered", "refusal"), "content_filter"),
    **dict.fromkeys(("content-filter", "sensitive"), "content_filter"),
}
_FAILED = frozenset(
    {"error", "abort", "aborted", "cancelled", "insufficient_system_resource", "network_error"}
)


@dataclass(slots=True)
class _Call:
    """What is known of one call: ``begun`` once it has arguments, ``whole`` if all in one piece."""

    identity: str
    name: str = ""
    begun: bool = False
    whole: bool = False

    def take(self, identity: str, name: str, arguments: Json) -> None:
        self.identity = self.identity or identity
        self.name = self.name or name
        if arguments and not self.begun:
            self.begun, self.whole = True, _is_whole(arguments)

    def ended_by(self, identity: str, name: str, arguments: Json) -> bool:
        """Tell whether a piece with a *name* is of another call, as a name comes before arguments.

        Some hosts give a call's name with each of its pieces.
        """
        if not name or not self.begun or (identity and identity == self.identity):
            return False
        return name != self.name or (self.whole and bool(arguments))


@dataclass(slots=True)
class Calls:
    """Which tool call each piece of a streamed choice belongs to.

    Hosts leave ``index`` out, count from 1, or give every call 0; ids and names then tell.
    """

    _open: dict[int | None, int] = field(default_factory=dict)
    _calls: list[_Call] = field(default_factory=list)
    _ids: dict[str, int] = field(default_factory=dict)
    _last: int = 0

    def place(self, call: JsonObject) -> int:
        """Return the number of the call, from 0, that *call* is a piece of."""
        given, function = as_index(call.get("index")), as_object(call.get("function"))
        identity, name = as_text(call.get("id")), as_text(function.get("name"))
        arguments = function.get("arguments")
        found = self._known(given, identity, named=bool(name))
        if found is not None and self._calls[found].ended_by(identity, name, arguments):
            found = None
        if found is None:
            found = len(self._calls)
            self._calls.append(_Call(identity))
        self._calls[found].take(identity, name, arguments)
        if identity:
            self._ids.setdefault(self._calls[found].identity, found)
        if given is not None:
            self._open[given] = found
        self._last = found
        return found

    def _known(self, given: int | None, identity: str, *, named: bool) -> int | None:
        if given in self._open:
            found = self._open[given]
            known = self._calls[found].identity
            return None if identity and known and identity != known and named else found
        if identity in self._ids and (given is None or not named):
            return self._ids[identity]
        if given is None and not identity and self._calls:
            return self._last
        return None


@dataclass(slots=True)
class Choice:
    """What is known so far of one choice of an answer."""

    calls: Calls = field(default_factory=Calls)
    called: str = ""
    reason: str | None = None

    def mend_delta(self, choice: JsonObject) -> bool:
        """Set right a choice of a chunk, in place; return whether that changed anything.

        Raises:
            UpstreamFailed: It says that the host failed.
        """
        changed = False
        if not isinstance(choice.get("delta"), dict):
            choice["delta"] = as_object(choice.get("message"))
            changed = True
        changed |= _mend_index(choice)
        delta = choice["delta"]
        pieces = delta.get("tool_calls")
        calls = [piece for piece in as_list(pieces) if isinstance(piece, dict)]
        if pieces is not None and pieces != calls:
            delta["tool_calls"] = calls
            changed = True
        for call in calls:
            changed |= self._mend_piece(call)
        if function := as_object(delta.get("function_call")):
            self.called = "function_call"
            changed |= mend_arguments(function)
        return self.mend_finish(choice) or changed

    def mend_message(self, choice: JsonObject) -> bool:
        """Set right a choice of a whole answer, as ``mend_delta`` does."""
        message = choice.get("message")
        if not isinstance(message, dict):
            message = choice["message"] = as_object(choice.get("delta"))
        changed = "content" not in message
        if changed:
            message.setdefault("role", "assistant")
            message["content"] = None
        changed |= _mend_index(choice)
        for call in as_list(message.get("tool_calls")):
            self.called = "tool_calls"
            changed |= mend_arguments(as_object(as_object(call).get("function")), whole=True)
        if function := as_object(message.get("function_call")):
            self.called = self.called or "function_call"
            changed |= mend_arguments(function, whole=True)
        return self.mend_finish(choice) or changed

    def mend_finish(self, choice: JsonObject) -> bool:
        """Make the finish reason one of OpenAI's, or null; return whether that changed it."""
        said = choice.get("finish_reason")
        reason = _canonical(said)
        if reason == "stop" and self.called:
            reason = self.called
        if reason is not None:
            self.reason = reason
        if reason == said:
            return False
        choice["finish_reason"] = reason
        return True

    def _mend_piece(self, call: JsonObject) -> bool:
        self.called = "tool_calls"
        place = self.calls.place(call)
        changed = mend_arguments(as_object(call.get("function")))
        if type(call.get("index")) is not int or call["index"] != place:
            call["index"] = place
            changed = True
        return changed


def _mend_index(choice: JsonObject) -> bool:
    """Make the index of a *choice* a number, in place; return whether that changed it."""
    given = choice.get("index")
    if type(given) is int:
        return False
    choice["index"] = as_index(given) or 0
    return True


def _is_whole(arguments: Json) -> bool:
    """Tell whether *arguments* are all that a call can have."""
    if not isinstance(arguments, str):
        return True
    try:
        return isinstance(orjson.loads(arguments), dict)
    except ValueError:
        return False


def mend_arguments(function: JsonObject, *, whole: bool = False) -> bool:
    """Make a call's arguments JSON text, in place; return whether that changed them.

    In a *whole* answer they are never missing: ``{}`` stands for none.
    """
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        return False
    if arguments is None:
        if whole and function:
            function["arguments"] = "{}"
        return whole and bool(function)
    function["arguments"] = orjson.dumps(arguments).decode()
    return True


def _canonical(said: Json) -> str | None:
    if not isinstance(said, str) or not said:
        return None
    if said in NEUTRAL:
        return said
    name = said.lower()
    if name in _FAILED:
        raise reported({"error": {"type": name, "message": f"The model stopped with {name!r}."}})
    return name if name in NEUTRAL else _FOREIGN.get(name, "stop")
