"""The times that a request was held at a rate limit, as far as they matter to its client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple


class Holding(NamedTuple):
    """One sub-call that waits.

    ``eta_ms`` is when it can probably go, None: when others have ended. ``position`` is how many
    are before it, ``reason`` the kind of window it waits for, ``since`` a time of ``perf_counter``.
    ``of`` is the model that is called, or the tool, ``account`` whose window it is, where it is one
    of an account.
    """

    eta_ms: int | None
    position: int
    reason: str
    since: float
    of: str = ""
    account: str = ""


class Holds:
    """What is held now, and for how long something was, over all sub-calls of a request.

    ``watch`` is told when a hold begins; ``reason`` is that of the last one.
    """

    __slots__ = ("_ended_s", "_open", "_since", "reason", "watch")

    def __init__(self) -> None:
        self.watch: Callable[[], None] | None = None
        self.reason = ""
        self._open: dict[str, Holding] = {}
        self._ended_s = 0.0
        self._since = 0.0

    def hold(
        self,
        lease: str,
        eta_ms: int | None,
        position: int,
        reason: str,
        *,
        of: tuple[str, str] = ("", ""),
    ) -> None:
        """Note that *lease* waits, or waits on with another prospect.

        *of* are the model or the tool that is called, and the account.
        """
        now = perf_counter()
        known = self._open.get(lease)
        if known is None and not self._open:
            self._since = now
        since = known.since if known else now
        self._open[lease] = Holding(eta_ms, position, reason, since, *of)
        self.reason = reason
        if known is None and self.watch is not None:
            self.watch()

    def release(self, lease: str) -> float:
        """Note that *lease* waits no more; return the seconds that it did, 0 if it did not."""
        known = self._open.pop(lease, None)
        if known is None:
            return 0.0
        now = perf_counter()
        if not self._open:
            self._ended_s += now - self._since
        return now - known.since

    @property
    def longest(self) -> Holding | None:
        """The sub-call that has waited longest, None if none waits."""
        return next(iter(self._open.values()), None)

    @property
    def waiting(self) -> Sequence[Holding]:
        """What waits now, what has waited longest first."""
        return tuple(self._open.values())

    def paused_ms(self) -> int:
        """Return the milliseconds in which at least one sub-call waited."""
        running = perf_counter() - self._since if self._open else 0.0
        return int(1000 * (self._ended_s + running))
