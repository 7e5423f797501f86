"""A provider's rate limits: token buckets, and the headers that tell of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from gateway.upstream.simulated.asked import Refused
from gateway.upstream.simulated.settings import Simulation, Vendor

_MINUTE = 60.0
_MINUTES_A_DAY = 1440
_SLACK = 1e-9  # what floating point may lack


class Bucket:
    """Starts full and fills continuously: *limit* units over *period* seconds."""

    def __init__(self, limit: int, period: float = _MINUTE) -> None:
        self.limit = limit
        self._rate = limit / period
        self._level = float(limit)
        self._at: float | None = None

    def level(self, now: float) -> float:
        """Return how much is there."""
        if self._at is not None:
            self._level = min(self.limit, self._level + (now - self._at) * self._rate)
        self._at = now
        return self._level

    def wait(self, amount: int, now: float) -> float:
        """Return the seconds until *amount* is there, infinite if it never will be."""
        if amount > self.limit:
            return math.inf
        lack = amount - self.level(now)
        return lack / self._rate if lack > _SLACK else 0.0

    def take(self, amount: int, now: float) -> None:
        """Take *amount* out."""
        self._level = self.level(now) - amount

    def full_in(self, now: float) -> float:
        """Return the seconds until the bucket is full."""
        return (self.limit - self.level(now)) / self._rate


class Limits:
    """The buckets of one account. Times are seconds of one clock, *utc_now* the wall's."""

    def __init__(self, simulation: Simulation, utc_now: Callable[[], datetime]) -> None:
        limits = {"requests": simulation.rpm, "tokens": simulation.tpm}
        self._buckets = {what: Bucket(limit) for what, limit in limits.items() if limit}
        self._vendor: Vendor = simulation.vendor
        self._shown = dict(self._buckets)
        if self._vendor == "groq" and simulation.rpm:
            day = Bucket(simulation.rpm * _MINUTES_A_DAY, _MINUTE * _MINUTES_A_DAY)
            self._shown["requests"] = day  # Groq limits minutes too, but tells of the day
        self._utc_now = utc_now

    def take(self, tokens: int, now: float) -> None:
        """Let one request of so many *tokens* in.

        Raises:
            Refused: There is no room for it. Its ``headers`` say when there will be, unless the
                request is larger than the limit itself.
        """
        amounts = {"requests": 1, "tokens": tokens}
        waits = {what: b.wait(amounts[what], now) for what, b in self._buckets.items()}
        tightest = max(waits, key=lambda what: waits[what], default=None)
        if tightest is not None and waits[tightest] > 0:
            raise self._refused(tightest, amounts[tightest], waits[tightest])
        for what in self._shown:
            self._shown[what].take(amounts[what], now)
            if self._shown[what] is not self._buckets[what]:
                self._buckets[what].take(amounts[what], now)

    def headers(self, now: float) -> dict[str, str]:
        """Return the vendor's headers about what is left."""
        told: dict[str, str] = {}
        for what, bucket in self._shown.items():
            remaining = str(max(0, math.floor(bucket.level(now) + _SLACK)))
            reset = self._moment(bucket.full_in(now))
            if self._vendor == "anthropic":
                name = f"anthropic-ratelimit-{what}-{{}}"
            else:
                name = f"x-ratelimit-{{}}-{what}"
            told[name.format("limit")] = str(bucket.limit)
            told[name.format("remaining")] = remaining
            told[name.format("reset")] = reset
        return told

    def _moment(self, seconds: float) -> str:
        if self._vendor == "anthropic":
            return rfc3339(self._utc_now() + timedelta(seconds=seconds))
        return str(math.ceil(seconds - _SLACK)) if self._vendor == "azure" else duration(seconds)

    def _refused(self, what: str, amount: int, wait: float) -> Refused:
        limit = self._buckets[what].limit
        start = f"Rate limit reached on {what} per minute: limit {limit}, requested {amount}."
        if math.isinf(wait):
            message = f"Request too large. {start}"
            return Refused(429, message, code="rate_limit_exceeded", kind=what)
        headers = {"retry-after": str(math.ceil(wait - _SLACK))}
        if self._vendor in {"openai", "azure"}:
            headers["retry-after-ms"] = str(math.ceil(1000 * wait - _SLACK))
        message = f"{start} Please try again in {duration(wait)}."
        return Refused(429, message, code="rate_limit_exceeded", kind=what, headers=headers)


def duration(seconds: float) -> str:
    """Return *seconds* as Go does: ``0s``, ``12ms``, ``1.5s``, ``6m0s``, ``1h0m2s``."""
    milliseconds = math.ceil(1000 * seconds - 1e-6)
    if milliseconds < 1000:
        return f"{milliseconds}ms" if milliseconds > 0 else "0s"
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def rfc3339(moment: datetime) -> str:
    """Return *moment* (UTC) to the second, never before it."""
    if moment.microsecond:
        moment = moment.replace(microsecond=0) + timedelta(seconds=1)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
