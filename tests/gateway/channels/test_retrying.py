from __future__ import annotations

from random import Random

import anyio
import pytest

from gateway.channels.capped import CappedChannel
from gateway.channels.retrying import RetryingChannel, RetryPolicy
from gateway.metering.caps import Caps, RunAllowance
from gateway.metering.ledger import Ledger
from techniques.core.channel import Channel, ask
from techniques.core.errors import CapReached, StreamBroken, UpstreamFailed
from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.testing import Line, ScriptedChannel

QUESTION = Request("m")
POLICY = RetryPolicy(retries=2, backoff_s=4, max_wait_s=60)


def busy(retry_after: float | None = None, *, retryable: bool = True) -> Line:
    error = UpstreamFailed("busy", "rate_limited", retryable=retryable, retry_after=retry_after)
    return Line(error)


class Retried:
    """Remembers what it is told of, and when."""

    def __init__(self) -> None:
        self.failures: list[UpstreamFailed] = []

    def __call__(self, failure: UpstreamFailed) -> None:
        self.failures.append(failure)


def retrying(
    channel: Channel,
    policy: RetryPolicy = POLICY,
    retried: Retried | None = None,
    seed: int = 1,
) -> RetryingChannel:
    return RetryingChannel(channel, policy, Random(seed), retried or Retried())


async def asked_for(channel: RetryingChannel) -> tuple[Reply, float]:
    """Return the reply, and how long it took."""
    started = anyio.current_time()
    reply = await ask(channel, QUESTION)
    return reply, anyio.current_time() - started


async def test_a_retryable_failure_is_tried_again_and_told() -> None:
    channel, retried = ScriptedChannel([busy(), "fine"]), Retried()

    assert (await ask(retrying(channel, retried=retried), QUESTION)).text == "fine"
    assert len(channel.asked) == 2
    assert [failure.kind for failure in retried.failures] == ["rate_limited"]


async def test_after_the_last_attempt_its_failure_is_raised() -> None:
    channel, retried = ScriptedChannel(lambda _request: busy()), Retried()
    with pytest.raises(UpstreamFailed, match="busy"):
        await ask(retrying(channel, retried=retried), QUESTION)

    assert (len(channel.asked), channel.open_calls) == (3, 0)
    assert len(retried.failures) == 2


async def test_what_is_not_retryable_is_raised_at_once() -> None:
    channel, retried = ScriptedChannel([busy(retryable=False)]), Retried()
    with pytest.raises(UpstreamFailed):
        await ask(retrying(channel, retried=retried), QUESTION)

    assert (len(channel.asked), retried.failures) == (1, [])


async def test_an_answer_that_has_begun_is_never_asked_for_again() -> None:
    line = Line(replied("half"), breaks=StreamBroken("cut"))
    channel = ScriptedChannel(lambda _request: line)
    with pytest.raises(StreamBroken, match="cut"):
        await ask(retrying(channel), QUESTION)

    assert len(channel.asked) == 1


@pytest.mark.parametrize("seed", range(20))
async def test_waits_double_and_are_at_least_half_of_the_backoff(seed: int) -> None:
    _, first = await asked_for(retrying(ScriptedChannel([busy(), "fine"]), seed=seed))
    _, both = await asked_for(retrying(ScriptedChannel([busy(), busy(), "fine"]), seed=seed))

    assert 2 <= first <= 4
    assert 4 <= both - first <= 8


async def test_waits_differ() -> None:
    waits = set()
    for seed in range(5):
        waits.add((await asked_for(retrying(ScriptedChannel([busy(), "fine"]), seed=seed)))[1])

    assert len(waits) == 5


async def test_a_provider_that_asks_for_more_time_gets_it() -> None:
    _, took = await asked_for(retrying(ScriptedChannel([busy(retry_after=30), "fine"])))

    assert took == pytest.approx(30)


async def test_a_provider_that_asks_for_less_time_than_the_backoff_does_not_shorten_it() -> None:
    _, took = await asked_for(retrying(ScriptedChannel([busy(retry_after=0.01), "fine"])))

    assert took >= 2


async def test_a_provider_that_asks_for_too_much_time_is_not_waited_for() -> None:
    channel = ScriptedChannel([busy(retry_after=61)])
    started = anyio.current_time()
    with pytest.raises(UpstreamFailed):
        await ask(retrying(channel), QUESTION)

    assert anyio.current_time() == started
    assert len(channel.asked) == 1


async def test_a_wait_that_would_end_after_the_deadline_is_not_begun() -> None:
    channel = ScriptedChannel([busy(retry_after=30)])
    started = anyio.current_time()
    with pytest.raises(UpstreamFailed), anyio.fail_after(20):
        await ask(retrying(channel), QUESTION)

    assert anyio.current_time() == started


async def test_without_backoff_the_second_attempt_follows_at_once() -> None:
    policy = RetryPolicy(retries=1, backoff_s=0)
    _, took = await asked_for(retrying(ScriptedChannel([busy(), "fine"]), policy))

    assert took == pytest.approx(0)


async def test_no_retries_are_no_retries() -> None:
    channel = ScriptedChannel([busy()])
    with pytest.raises(UpstreamFailed):
        await ask(retrying(channel, RetryPolicy(retries=0)), QUESTION)

    assert len(channel.asked) == 1


async def test_cancelled_during_the_wait_makes_no_further_attempt() -> None:
    channel = ScriptedChannel(lambda _request: busy())
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, retrying(channel), QUESTION)
            await anyio.sleep(1)
            scope.cancel()

    assert len(channel.asked) == 1


async def test_when_the_caps_leave_no_further_attempt_the_providers_failure_is_raised() -> None:
    channel = ScriptedChannel(lambda _request: busy())
    capped = CappedChannel(channel, RunAllowance(Caps(max_calls=2), Ledger()))
    with pytest.raises(UpstreamFailed, match="busy"):
        await ask(retrying(capped), QUESTION)

    assert len(channel.asked) == 2


async def test_when_the_caps_leave_no_attempt_at_all_they_are_the_failure() -> None:
    allowance = RunAllowance(Caps(max_calls=1), Ledger())
    allowance.take()
    with pytest.raises(CapReached):
        await ask(retrying(CappedChannel(ScriptedChannel([]), allowance)), QUESTION)


async def test_what_pacing_holds_anyway_is_tried_four_times_as_often() -> None:
    channel = ScriptedChannel(lambda _request: busy(3))
    policy = RetryPolicy(retries=2, backoff_s=4, max_wait_s=60, paced=True)
    with pytest.raises(UpstreamFailed, match="busy"):
        await ask(retrying(channel, policy), QUESTION)

    assert len(channel.asked) == 9


async def test_what_pacing_holds_takes_no_tries_from_other_failures() -> None:
    broken = Line(UpstreamFailed("broken", "server", retryable=True))
    channel = ScriptedChannel([busy(3), busy(3), broken, busy(3), broken, "fine"])
    policy = RetryPolicy(retries=2, backoff_s=4, max_wait_s=60, paced=True)

    assert (await ask(retrying(channel, policy), QUESTION)).text == "fine"


async def test_a_wait_after_which_the_client_would_not_listen_is_not_begun() -> None:
    channel = ScriptedChannel([busy(20), busy(20), "too late"])
    began = anyio.current_time()

    with pytest.raises(UpstreamFailed, match="busy") as caught:
        await ask(retrying(channel, POLICY.less(0, None, 30)), QUESTION)

    assert caught.value.retry_after == 20
    assert anyio.current_time() - began == 20
    assert len(channel.asked) == 2


@pytest.mark.parametrize("reads_s", [None, 121.0, 600.0])
def test_who_listens_for_longer_than_all_waits_gets_the_policy_as_it_is(
    reads_s: float | None,
) -> None:
    assert POLICY.less(0, None, reads_s) is POLICY
