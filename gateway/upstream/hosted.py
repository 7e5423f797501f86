"""What a provider does itself, with tools or with a conversation: what becomes of it at another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from gateway.upstream.client_tools import as_functions
from gateway.upstream.provider import Target
from techniques.core.errors import RequestRejected
from techniques.core.request import Opaque, Request, Tool

_ANTHROPIC: Final = "anthropic"
_SERVERS: Final = "mcp_servers"
_UNTHREADED: Final = "thread_unsupported_request"
"""What Anthropic calls it. Its SDKs then send the whole conversation, and no ``thread``."""


def without_hosted(
    request: Request, target: Target, dialect: str, drop: Callable[[str, str], None]
) -> Request:
    """Return *request* without tools that only others than providers of *dialect* have.

    Those that the client carries out are functions there. It is *request* itself where *target* is
    not to go without the others, and where the client insists on one of them: its codec refuses
    them. *drop* is told of each by its kind.

    Raises:
        RequestRejected: The request is strict, or names servers of tools that *target* cannot call.
    """
    if request.dialect == _ANTHROPIC != dialect and request.extra.get(_SERVERS):
        request = _without_servers(request, target, drop)
    request = as_functions(request, dialect, drop)
    foreign = [tool for tool in request.tools if _is_foreign(tool, dialect)]
    if not foreign or not target.drops_hosted or _insists(request, foreign):
        return request
    for tool in foreign:
        drop("tool_dropped", _field(tool, "type"))
    left = tuple(tool for tool in request.tools if not _is_foreign(tool, dialect))
    return replace(request, tools=left)


def _without_servers(request: Request, target: Target, drop: Callable[[str, str], None]) -> Request:
    if not target.drops_hosted:
        message = f"The model's provider does not call servers of tools ({_SERVERS})."
        raise RequestRejected(message, code="unsupported_tool", param=_SERVERS)
    drop("tool_dropped", _SERVERS)
    left = {name: value for name, value in request.extra.items() if name != _SERVERS}
    return replace(request, extra=left)


def refuse_thread(request: Request) -> None:
    """See that *request*, which the gateway writes, goes on with nothing that is kept elsewhere.

    Raises:
        RequestRejected: It is: what went before is known to the server that answered it alone.
    """
    if request.dialect == _ANTHROPIC and request.extra.get("thread") is not None:
        message = "thread: no conversation is kept for this model; send all of its messages."
        raise RequestRejected(message, code=_UNTHREADED, param="thread")


def _is_foreign(tool: Tool | Opaque, dialect: str) -> bool:
    return isinstance(tool, Opaque) and tool.dialect != dialect


def _insists(request: Request, foreign: list[Tool | Opaque]) -> bool:
    """Tell whether the client chose one of the *foreign* tools, by its kind or by its name."""
    if isinstance(request.extra.get("tool_choice"), Mapping):
        return True
    choice = request.tool_choice
    named = None if choice is None or choice.mode != "named" else choice.name
    return named is not None and any(_field(tool, "name") == named for tool in foreign)


def _field(tool: Tool | Opaque, name: str) -> str:
    value = tool.value if isinstance(tool, Opaque) else None
    return str(value.get(name, "")) if isinstance(value, Mapping) else ""
