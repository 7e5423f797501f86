"""Where a request stands in a trace, by W3C's Trace Context; nothing here sends anything."""

from __future__ import annotations

import re
from collections.abc import Callable
from secrets import token_hex
from typing import Final, NamedTuple, TypeAlias

from gateway.clock import utc_now

_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NO_TRACE: Final = "0" * 32
_NO_SPAN: Final = "0" * 16
_SAMPLED: Final = 1


class Trace(NamedTuple):
    """The span of a request: its trace, its own id, and the client's span that it is part of.

    ``sampled`` False: it is passed on to providers, and not written down. It began ``at`` so many
    seconds after the epoch.
    """

    trace_id: str
    span_id: str
    parent: str | None = None
    sampled: bool = True
    at: float = 0.0

    def header(self, span: str) -> str:
        """Return the ``traceparent`` that goes with a call whose span is *span*."""
        return f"00-{self.trace_id}-{span}-{self.sampled:02x}"


Begin: TypeAlias = Callable[[str | None, str], Trace | None]
"""Tells where a request stands, by its client's ``traceparent`` and its own id."""


def untraced(_traceparent: str | None, _request_id: str) -> Trace | None:
    """Keep no trace."""
    return None


def begun(traceparent: str | None, request_id: str, part: float) -> Trace:
    """Return where a request stands that came with *traceparent*.

    Without a usable one it begins a trace, named like the request; *part* (0 to 1) of these are
    sampled. Of a client's trace the client has decided.

    Source: W3C Trace Context, level 1, sections 3.2 and 4.
    """
    found = _PARENT.fullmatch(traceparent.strip()) if traceparent else None
    own, now = token_hex(8), utc_now().timestamp()
    if found is None or not _is_usable(found):
        return Trace(request_id, own, None, _is_sampled(request_id, part), now)
    return Trace(found[2], own, found[3], bool(int(found[4], 16) & _SAMPLED), now)


def _is_usable(found: re.Match[str]) -> bool:
    version, trace_id, parent, more = found[1], found[2], found[3], found[5]
    if version == "ff" or (version == "00" and more):
        return False
    return trace_id != _NO_TRACE and parent != _NO_SPAN


def _is_sampled(trace_id: str, part: float) -> bool:
    """Return whether a trace is among *part* of all: every replica finds the same."""
    return int(trace_id[-14:], 16) < part * 16**14
