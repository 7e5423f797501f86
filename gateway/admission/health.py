"""Whether a model at an account is up, by how its last calls ended. Arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Gate: TypeAlias = Literal["open", "probe", "shut"]
"""A call may go; it may go alone, to find out; it may not."""

_IN_A_ROW: Final = 5
_WEIGHT: Final = 0.1
_AT_LEAST: Final = 20
_HALF: Final = 0.5
_FIRST_S: Final = 10.0
_LONGEST_S: Final = 300.0
_OVERLOADED_S: Final = 5.0
_REFUSED_S: Final = 60.0
_GONE_S: Final = 60.0
_IN_VAIN: Final = 3
_VAIN_S: Final = 10.0


@dataclass(slots=True)
class Health:
    """A circuit breaker: *limit* failures in a row shut it, or every second of twenty or more.

    A limit of 0 never does.

    It stays shut for 10 s, after each failed probe for twice as long, up to 5 min; who has no other
    to ask goes all the same, one at a time until an answer begins. Failures are the provider's or
    the network's; what it refuses is none, and neither is a rate limit. After an overload (503,
    529) others are asked rather, for 5 s, and so they are where a rate limit has let nothing
    through for a while, for as long again, up to 1 min: its word is not to be relied on.
    A limit that three times refused who came after the time that it had named, for 10 s or more,
    and let nobody through meanwhile, ``is_no_window``: money that is gone, or a limit of nothing.
    One that its provider does not have (any more) is asked after the others for 1 min, ``is_gone``
    until it answers. Who has no other goes on. Times are seconds of one clock.

    Source: Nygard 2007, "Release It!", circuit breaker.
    """

    limit: int = _IN_A_ROW
    failures: int = 0
    error_rate: float = 0.0
    calls: int = 0
    until: float = 0.0
    busy_until: float = 0.0
    refused_since: float | None = None
    refused_at: float = 0.0
    shut_s: float = 0.0
    probing: bool = False
    heard: bool = False
    is_gone: bool = False
    in_vain: int = 0
    named_until: float = 0.0

    def gate(self, now: float, *, last: bool = False) -> Gate:
        """Return whether a call may go; the *last* that could be asked is not left out.

        Nobody else would answer: while it is shut one call at a time finds out what becomes of it.
        An answer that has begun, and may last for minutes, tells that already.
        """
        if last and self.probing and self.heard:
            return "open"
        if now < self.until:
            return "probe" if last and not self.probing else "shut"
        if not self.shut_s:
            return "open"
        return "shut" if self.probing else "probe"

    def left_s(self, now: float) -> float:
        """Return in how many seconds a call had better go, as far as is known."""
        return max(self.until - now, self.busy_until - now, 0.0)

    def probe(self) -> None:
        """Note that one call goes alone."""
        self.probing, self.heard = True, False

    def withdraw(self) -> None:
        """Note that the probe was not made after all."""
        self.probing = False

    def succeeded(self) -> None:
        """Note a call that was answered, if only with a refusal. When shut, a probe alone opens."""
        self._count(0.0)
        self.began()
        self.failures = 0
        if self.probing:
            self.shut_s = self.until = 0.0
            self.calls, self.error_rate = 0, 0.0
        self.probing = False

    def overloaded(self, now: float) -> None:
        """Note that the provider has too much to do."""
        self.probing = False
        if self.limit:
            self.busy_until = now + _OVERLOADED_S

    def is_no_window(self, now: float) -> bool:
        """Return whether what refuses calls is no limit that waiting helps against."""
        since = self.refused_since
        return since is not None and self.in_vain >= _IN_VAIN and now - since >= _VAIN_S

    def refused(self, now: float, wait_s: float = 0.0) -> None:
        """Note a refusal by a rate limit, which named so many seconds."""
        self.probing = False
        if self.refused_since is None or now - self.refused_at > 2 * _REFUSED_S + wait_s:
            self.refused_since, self.in_vain, self.named_until = now, 0, now
        if now >= self.named_until:  # and was not under way when others were refused
            self.in_vain += 1
            self.named_until = now + wait_s
        self.refused_at = now
        self.busy_until = max(self.busy_until, now + min(now - self.refused_since, _REFUSED_S))

    def gone(self, now: float) -> None:
        """Note that the provider says that it has no such model."""
        self.succeeded()
        if self.limit:
            self.is_gone, self.busy_until = True, now + _GONE_S

    def began(self) -> None:
        """Note an answer that has begun: nothing is refused any more."""
        self.heard = True
        if self.refused_since is not None or self.is_gone:
            self.refused_since, self.is_gone, self.busy_until = None, False, 0.0

    def failed(self, now: float) -> None:
        """Note a call that failed."""
        self._count(1.0)
        self.failures += 1
        if not self.limit:
            return
        if self.probing and now < self.until:  # it went early, and tells nothing new
            self.failures, self.probing = 0, False
            return
        if self.probing or self.failures >= self.limit or self._is_bad():
            self.shut_s = min(2 * self.shut_s, _LONGEST_S) if self.shut_s else _FIRST_S
            self.until = max(self.until, now + self.shut_s)
            self.failures = 0
            self.probing = False

    def _is_bad(self) -> bool:
        return self.calls >= _AT_LEAST and self.error_rate > _HALF

    def _count(self, error: float) -> None:
        self.calls += 1
        self.error_rate += _WEIGHT * (error - self.error_rate)
