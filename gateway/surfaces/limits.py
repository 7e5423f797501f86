"""What a caller may still take, in the headers that its dialect's clients read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from gateway.admission.left import Left
from gateway.wire.respond import Headers

_CHAT: Final = ("requests", "tokens")
_MESSAGES: Final = {
    "requests": "requests",
    "tokens": "tokens",
    "input_tokens": "input-tokens",
    "output_tokens": "output-tokens",
}


def chat_limits(left: Mapping[str, Left]) -> Headers:
    """Return ``x-ratelimit-*``, with durations as ``1h2m3.4s``."""
    headers: Headers = []
    for what in _CHAT:
        if (window := left.get(what)) is not None:
            name = what.encode()
            headers += [
                (b"x-ratelimit-limit-" + name, b"%d" % window.cap),
                (b"x-ratelimit-remaining-" + name, b"%d" % window.left),
                (b"x-ratelimit-reset-" + name, _duration(window.full_ms).encode()),
            ]
    return headers


def message_limits(left: Mapping[str, Left], now: datetime) -> Headers:
    """Return ``anthropic-ratelimit-*``, with points in time after *now*, which is UTC."""
    headers: Headers = []
    for what, shown in _MESSAGES.items():
        if (window := left.get(what)) is not None:
            name = b"anthropic-ratelimit-" + shown.encode()
            reset = now + timedelta(milliseconds=window.full_ms)
            headers += [
                (name + b"-limit", b"%d" % window.cap),
                (name + b"-remaining", b"%d" % window.left),
                (name + b"-reset", reset.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()),
            ]
    return headers


def _duration(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest / 1000:g}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds
