"""What a caller may still take, in the headers that its dialect's clients read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from gateway.admission.left import Left
from gateway.admission.limits.page import Page

_CHAT: Final = ("requests", "tokens")
_CHAT_NAMES: Final = {
    what: (
        f"x-ratelimit-limit-{what}",
        f"x-ratelimit-remaining-{what}",
        f"x-ratelimit-reset-{what}",
    )
    for what in _CHAT
}
_MESSAGES: Final = {
    "requests": "requests",
    "tokens": "tokens",
    "input_tokens": "input-tokens",
    "output_tokens": "output-tokens",
}
_TOKENS: Final = ("tokens", "input_tokens", "output_tokens")


class Shown(NamedTuple):
    """What a provider told of a window: its size, what is left, in how many ms it is full.

    None: nobody knows.
    """

    cap: int | None
    left: int | None
    full_ms: int | None


Window: TypeAlias = Left | Shown
"""What is known of a window, ours or told of by a provider."""


def limits_in(dialect: str, windows: Mapping[str, Window], now: datetime) -> dict[str, str]:
    """Return what a client of *dialect* reads of *windows*, by what each counts; *now* is UTC."""
    return message_limits(windows, now) if dialect == "anthropic" else chat_limits(windows)


def chat_limits(windows: Mapping[str, Window]) -> dict[str, str]:
    """Return ``x-ratelimit-*``, with durations as ``1h2m3.4s``."""
    found: dict[str, str] = {}
    for what in _CHAT:
        window = windows.get(what)
        if window is None and what == "tokens":
            window = _tightest([windows[name] for name in _TOKENS if name in windows])
        if window is not None:
            reset = None if window.full_ms is None else _duration(window.full_ms)
            found |= _named(chat_names(what), window, reset)
    return found


def message_limits(windows: Mapping[str, Window], now: datetime) -> dict[str, str]:
    """Return ``anthropic-ratelimit-*``, with points in time after *now*, which is UTC."""
    found: dict[str, str] = {}
    for what in _MESSAGES:
        if (window := windows.get(what)) is not None:
            reset = None if window.full_ms is None else _moment(now, window.full_ms)
            found |= _named(message_names(what), window, reset)
    return found


def chat_names(what: str) -> tuple[str, str, str]:
    """Return OpenAI's names for the size, the rest and the reset of what counts *what*."""
    return _CHAT_NAMES[what]


def message_names(what: str) -> tuple[str, str, str]:
    """Return Anthropic's names for the size, the rest and the reset of what counts *what*."""
    name = f"anthropic-ratelimit-{_MESSAGES[what]}"
    return f"{name}-limit", f"{name}-remaining", f"{name}-reset"


def read_limits(headers: Mapping[str, str], now: datetime) -> dict[str, Shown]:
    """Return what *headers* (lower-case names) tell in either vendor's names, by what it counts."""
    page = Page(headers, now.timestamp())
    found: dict[str, Shown] = {}
    for what in _MESSAGES:
        for names in ((chat_names(what),) if what in _CHAT else ()) + (message_names(what),):
            window = _read(page, names)
            if what not in found and window != _UNKNOWN:
                found[what] = window
    return found


_UNKNOWN: Final = Shown(None, None, None)


def _read(page: Page, names: tuple[str, str, str]) -> Shown:
    cap, left, reset = page.amount(names[0]), page.amount(names[1]), page.delay(names[2])
    return Shown(_whole(cap), _whole(left), None if reset is None else round(1000 * reset))


def _whole(amount: float | None) -> int | None:
    return None if amount is None else int(amount)


def _tightest(windows: list[Window]) -> Window | None:
    """Return the one of *windows* of which least is left."""
    known = [window for window in windows if window.left is not None]
    return min(known, key=lambda window: window.left or 0, default=None)


def _named(names: tuple[str, str, str], window: Window, reset: str | None) -> dict[str, str]:
    said: dict[str, str] = {}
    if window.cap is not None:
        said[names[0]] = str(window.cap)
    if window.left is not None:
        said[names[1]] = str(window.left)
    if reset is not None:
        said[names[2]] = reset
    return said


def _moment(now: datetime, milliseconds: int) -> str:
    at = now + timedelta(milliseconds=milliseconds)
    return at.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _duration(milliseconds: int) -> str:
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest / 1000:g}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds
