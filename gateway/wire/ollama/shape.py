"""Where an answer's text stands: the one thing in which the two answers of this API differ."""

from __future__ import annotations

from typing import Protocol

from techniques.core.json import JsonObject


class Shape(Protocol):
    """Puts pieces of an answer into fields.

    ``around`` is what stands before and after a text in a line that is only that.
    """

    around: tuple[bytes, bytes]

    def said(self, text: str) -> JsonObject:
        """Return the fields of some *text*, which may be empty."""
        ...

    def thought(self, text: str) -> JsonObject:
        """Return the fields of some reasoning."""
        ...

    def called(self, calls: list[JsonObject]) -> JsonObject:
        """Return the fields of tool *calls*."""
        ...

    def whole(self, text: str, thinking: str, calls: list[JsonObject]) -> JsonObject:
        """Return the fields of a whole answer."""
        ...


class Chat:
    """The answers of ``/api/chat``: messages."""

    around = (b',"message":{"role":"assistant","content":', b'},"done":false}')

    def said(self, text: str) -> JsonObject:
        """Return a message."""
        return {"message": {"role": "assistant", "content": text}}

    def thought(self, text: str) -> JsonObject:
        """Return a message that is reasoning."""
        return {"message": {"role": "assistant", "content": "", "thinking": text}}

    def called(self, calls: list[JsonObject]) -> JsonObject:
        """Return a message that calls."""
        return {"message": {"role": "assistant", "content": "", "tool_calls": calls}}

    def whole(self, text: str, thinking: str, calls: list[JsonObject]) -> JsonObject:
        """Return a message; what it does not have is left out."""
        optional = {"thinking": thinking, "tool_calls": calls}
        given = {name: value for name, value in optional.items() if value}
        return {"message": {"role": "assistant", "content": text, **given}}


class Generate:
    """The answers of ``/api/generate``: texts. They know no tools."""

    around = (b',"response":', b',"done":false}')

    def said(self, text: str) -> JsonObject:
        """Return a text."""
        return {"response": text}

    def thought(self, text: str) -> JsonObject:
        """Return reasoning beside an empty text."""
        return {"response": "", "thinking": text}

    def called(self, calls: list[JsonObject]) -> JsonObject:
        """Return an empty text: there is no place for *calls*, and no tool was offered."""
        del calls
        return self.said("")

    def whole(self, text: str, thinking: str, calls: list[JsonObject]) -> JsonObject:
        """Return a text, and its reasoning if there is any."""
        del calls
        return {"response": text, **({"thinking": thinking} if thinking else {})}
