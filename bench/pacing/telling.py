"""How each vendor tells of its windows: the headers of answers, and the refusals.

A run may be faster than the world: the account's seconds are divided by its speed, here and nowhere
else, so that all a client reads is in the client's seconds. What vendors round to whole seconds is
rounded in the account's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from bench.pacing.account import Account, Refused, Vendor
from bench.pacing.windows import Window

_SLACK: Final = 1e-6
_THOUSAND: Final = 1000
_NAMES: Final = {"input-tokens": "input tokens", "output-tokens": "output tokens"}


@dataclass(frozen=True, slots=True)
class Moment:
    """When something is told: ``now`` by the account's clock, ``utc`` by the wall's."""

    now: float
    utc: datetime
    speed: float = 1.0

    @classmethod
    def at(cls, now: float, speed: float) -> Moment:
        """Return the present, which is *now* by the account's clock."""
        return cls(now, datetime.now(UTC), speed)


def headers(account: Account, moment: Moment) -> dict[str, str]:
    """Return what the vendor says of the account's windows in every answer."""
    account.pass_time(moment.now)
    match account.terms.vendor:
        case "openai":
            return dict(_openai(account, moment, ("requests", "tokens")))
        case "groq":
            return dict(_openai(account, moment, ("requests-day", "tokens")))
        case "azure":
            return dict(_azure(account, moment))
        case "anthropic":
            return dict(_anthropic(account, moment))


def refusal(
    account: Account, refused: Refused, moment: Moment
) -> tuple[dict[str, str], dict[str, object]]:
    """Return the headers and the body of a 429."""
    told = headers(account, moment)
    if math.isfinite(refused.wait_s):
        told |= _retry_after(account.terms.vendor, refused.wait_s, moment.speed)
    return told, _body(account, refused, moment)


def duration(seconds: float) -> str:
    """Return *seconds* as Go writes them, to the millisecond and never less."""
    thousandths = math.ceil(seconds * 1000 - _SLACK)
    if thousandths < 1000:
        return f"{max(thousandths, 0)}ms" if thousandths > 0 else "0s"
    minutes, rest = divmod(thousandths, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def _openai(account: Account, moment: Moment, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name in names:
        window, what = account.windows[name], name.removesuffix("-day")
        yield f"x-ratelimit-limit-{what}", str(window.cap)
        yield f"x-ratelimit-remaining-{what}", str(_left(window, moment))
        yield f"x-ratelimit-reset-{what}", duration(window.full_in(moment.now) / moment.speed)


def _azure(account: Account, moment: Moment) -> Iterator[tuple[str, str]]:
    for name in ("requests", "tokens"):
        window = account.windows[name]
        yield f"x-ratelimit-limit-{name}", str(window.cap)
        yield f"x-ratelimit-remaining-{name}", str(_left(window, moment))
        yield f"x-ratelimit-reset-{name}", _whole(window.full_in(moment.now), moment.speed)


def _anthropic(account: Account, moment: Moment) -> Iterator[tuple[str, str]]:
    """Yield each window, tokens rounded to thousands, and what both kinds of tokens come to."""
    parts = {name: account.windows[name] for name in ("input-tokens", "output-tokens")}
    rows = [
        ("requests", account.windows["requests"].cap, _left(account.windows["requests"], moment))
    ]
    rows += [(name, window.cap, _rounded(_left(window, moment))) for name, window in parts.items()]
    rows += [("tokens", sum(row[1] for row in rows[1:]), sum(row[2] for row in rows[1:]))]
    waits = {name: account.windows[name].full_in(moment.now) for name in ("requests", *parts)}
    waits["tokens"] = max(waits[name] for name in parts)
    for name, cap, left in rows:
        yield f"anthropic-ratelimit-{name}-limit", str(cap)
        yield f"anthropic-ratelimit-{name}-remaining", str(left)
        yield f"anthropic-ratelimit-{name}-reset", _date(waits[name], moment)


def _left(window: Window, moment: Moment) -> int:
    return max(0, math.floor(window.left(moment.now) + _SLACK))


def _rounded(tokens: int) -> int:
    return round(tokens / _THOUSAND) * _THOUSAND


def _whole(seconds: float, speed: float) -> str:
    """Return whole seconds of the account, in the client's: `3` where both are the same."""
    return f"{math.ceil(seconds - _SLACK) / speed:.3f}".rstrip("0").rstrip(".")


def _date(seconds: float, moment: Moment) -> str:
    then = moment.utc + timedelta(seconds=math.ceil(seconds - _SLACK) / moment.speed)
    precise = "milliseconds" if moment.speed > 1 else "seconds"
    return then.astimezone(UTC).isoformat(timespec=precise).replace("+00:00", "Z")


def _retry_after(vendor: Vendor, wait_s: float, speed: float) -> dict[str, str]:
    told = {"retry-after": _whole(wait_s, speed)}
    if vendor in {"openai", "azure"}:
        told["retry-after-ms"] = str(math.ceil(1000 * wait_s / speed - _SLACK))
    return told


def _body(account: Account, refused: Refused, moment: Moment) -> dict[str, object]:
    window = account.windows[refused.window]
    name = refused.window
    vendor = account.terms.vendor
    if vendor == "anthropic":
        text = f"Over the account's limit of {window.cap} {_NAMES.get(name, name)} per minute."
        return {"type": "error", "error": {"type": "rate_limit_error", "message": text}}
    if vendor == "azure":
        what = "token" if name == "tokens" else "call"
        wait = _whole(refused.wait_s, moment.speed)
        text = f"Over the deployment's {what} rate limit. Please retry after {wait} seconds."
        return {"error": {"code": "429", "message": text}}
    short = {"tokens": "tokens per min (TPM)", "requests-day": "requests per day (RPD)"}
    unit = short.get(name, "requests per min (RPM)")
    used = math.ceil(window.cap - window.left(moment.now))
    text = (
        f"Rate limit reached on {unit}: Limit {window.cap}, Used {used},"
        f" Requested {refused.amount:.0f}."
    )
    if math.isfinite(refused.wait_s):
        text += f" Please try again in {duration(refused.wait_s / moment.speed)}."
    kind = name.removesuffix("-day")
    return {"error": {"message": text, "type": kind, "code": "rate_limit_exceeded"}}
