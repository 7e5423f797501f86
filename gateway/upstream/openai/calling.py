"""The names of tools, as OpenAI's APIs take them: 64 characters, where Anthropic's takes 128.

Servers of tools make long ones. What is cut is told to clients whole again.
Source: platform.openai.com/docs/api-reference (chat, tools); platform.claude.com/docs (tools).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from gateway.upstream.openai.ids import shortened as cut
from gateway.upstream.provider import Reader
from techniques.core.events import Event, ToolCallStarted
from techniques.core.request import Message, Part, Request, Tool, ToolCall, ToolChoice

_LONGEST: Final = 64
_MARK: Final = 12


def short(name: str) -> str:
    """Return the *name* of a tool as these APIs take it, the same each time."""
    return cut(name, _LONGEST, _MARK)


def shortened(request: Request) -> Request:
    """Return *request* with no name too long; itself, if none is."""
    if not _long_ones(request):
        return request
    tools = tuple(
        replace(tool, name=short(tool.name)) if isinstance(tool, Tool) else tool
        for tool in request.tools
    )
    return replace(
        request,
        tools=tools,
        tool_choice=_choice(request.tool_choice),
        messages=tuple(map(_message, request.messages)),
    )


def renamed(reader: Reader, request: Request) -> Reader:
    """Return *reader* of the answer to *request*, telling calls under the client's names."""
    names = _long_ones(request)
    return _Renamed(reader, names) if names else reader


class _Renamed:
    """Reads as *reader* does, and gives calls the *names* that the client knows."""

    def __init__(self, reader: Reader, names: Mapping[str, str]) -> None:
        self._reader = reader
        self._names = names

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that *chunk* completes."""
        return map(self._told, self._reader.feed(chunk))

    def end(self) -> Iterator[Event]:
        """Yield the events that are complete with the end."""
        return map(self._told, self._reader.end())

    def _told(self, event: Event) -> Event:
        if isinstance(event, ToolCallStarted) and event.name in self._names:
            return replace(event, name=self._names[event.name])
        return event


def _long_ones(request: Request) -> Mapping[str, str]:
    """Return the long names of the tools of *request*, each under its short one."""
    named = (tool.name for tool in request.tools if isinstance(tool, Tool))
    return {short(name): name for name in named if len(name) > _LONGEST}


def _choice(choice: ToolChoice | None) -> ToolChoice | None:
    if choice is None or choice.name is None:
        return choice
    return replace(choice, name=short(choice.name))


def _message(message: Message) -> Message:
    if not any(isinstance(part, ToolCall) for part in message.parts):
        return message
    return replace(message, parts=tuple(map(_part, message.parts)))


def _part(part: Part) -> Part:
    return replace(part, name=short(part.name)) if isinstance(part, ToolCall) else part
