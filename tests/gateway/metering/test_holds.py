"""What is held now, and for how long something was."""

from __future__ import annotations

from gateway.metering.holds import Holds


def test_what_waits_is_told_with_whose_call_it_is_and_no_more_when_it_goes_on() -> None:
    holds = Holds()
    holds.hold("one", 5_000, 2, "tokens", of=("fast", "oa"))
    holds.hold("two", None, 0, "usd", of=("fast", ""))
    holds.hold("one", 3_000, 1, "tokens", of=("fast", "oa"))
    first, second = holds.waiting

    assert (first.eta_ms, first.position, first.of, first.account) == (3_000, 1, "fast", "oa")
    assert (second.eta_ms, second.reason, second.account) == (None, "usd", "")
    assert first.since <= second.since

    holds.release("one")
    assert holds.waiting == (second,)
    holds.release("two")
    assert not holds.waiting
    assert holds.longest is None
    paused = holds.paused_ms()
    assert holds.release("two") == 0.0
    assert holds.paused_ms() == paused
