"""Calls that go where they can be taken soonest."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import anyio
import pytest

from gateway.admission.limits import VENDORS
from gateway.channels.retrying import RetryPolicy
from gateway.channels.stack import Stack
from gateway.metering.ledger import Ledger
from gateway.policy.models import Model
from gateway.stores.ledger import WindowSpec
from gateway.upstream.account import Account
from gateway.upstream.provider import Target
from techniques.core.channel import ask
from techniques.core.errors import Said, UpstreamFailed
from techniques.core.groups import task_group
from tests.gateway.pacing.provider import Answer, Provider, failure, refusal
from tests.gateway.pacing.scene import PRICE, QUESTION, Paced, Straight, per_minute


def served(name: str, provider: Provider, account: str, *windows: WindowSpec) -> Model:
    """Return the model *name* at *account*, which has *windows*."""
    target = Target(name, account, f"real-{name}")
    at = Account(account, VENDORS["generic"], windows)
    return Model(Straight(provider, target), PRICE, account=at)  # type: ignore[arg-type]


async def call(paced: Paced, *models: Model, retries: int = 0) -> Ledger:
    """Make one call to the first of *models*, the others in reserve."""
    run = paced.run()
    stack = Stack(RetryPolicy(retries, paced=True), Random(1), paced.ledger, paced=run)
    ledger = paced.ledger
    await ask(stack.to(models), QUESTION)
    return ledger


def warned(ledger: Ledger) -> list[tuple[str, str]]:
    return [(warning.code, warning.detail) for warning in ledger.warnings]


async def test_what_would_be_held_goes_to_the_equal_account_that_has_room() -> None:
    paced, one, two = Paced(), Provider(Answer(takes_s=0)), Provider(Answer(takes_s=0))
    other = served("fast", two, "b", per_minute("requests", 100))
    model = served("fast", one, "a", per_minute("requests", 1))
    model = replace(model, others=(other,))
    began = anyio.current_time()

    ledgers = [await call(paced, model) for _ in range(4)]

    assert anyio.current_time() == began
    assert len(one.began) + len(two.began) == 4
    assert len(one.began) >= 1
    assert all(warned(ledger) == [] for ledger in ledgers)


async def test_equal_accounts_share_what_comes_at_once() -> None:
    paced, one, two = Paced(), Provider(Answer(takes_s=5)), Provider(Answer(takes_s=5))
    other = served("fast", two, "b", per_minute("requests", 100))
    model = replace(served("fast", one, "a", per_minute("requests", 100)), others=(other,))

    async with task_group() as group:
        for _ in range(6):
            group.start_soon(call, paced, model)

    assert (len(one.began), len(two.began)) == (3, 3)


async def test_a_fallback_takes_what_its_own_model_would_hold_for_long() -> None:
    paced, one, two = Paced(), Provider(Answer(takes_s=0)), Provider(Answer(takes_s=0))
    fast = served("fast", one, "a", per_minute("requests", 1))
    slow = served("slow", two, "b", per_minute("requests", 100))
    await call(paced, fast, slow)
    fast.account.has_tightened()
    began = anyio.current_time()

    ledger = await call(paced, fast, slow)

    assert anyio.current_time() == began
    assert (len(one.began), len(two.began)) == (1, 1)
    assert warned(ledger) == [("fallback", "slow")]


async def test_where_all_are_full_the_one_that_is_free_soonest_is_waited_for() -> None:
    paced, one, two = Paced(), Provider(Answer(takes_s=0)), Provider(Answer(takes_s=0))
    fast = served("fast", one, "a", per_minute("requests", 1))
    slow = served("slow", two, "b", per_minute("requests", 2))
    await paced.store.define(slow.account.pool, [per_minute("requests", 2)])
    for _ in range(3):
        await call(paced, fast, slow)
    began = anyio.current_time()

    ledger = await call(paced, fast, slow)

    assert anyio.current_time() - began == 30
    assert (len(one.began), len(two.began)) == (1, 3)
    assert warned(ledger) == [("fallback", "slow")]


async def test_a_short_wait_is_no_reason_for_another_model() -> None:
    paced, one, two = Paced(), Provider(Answer(takes_s=0)), Provider(Answer(takes_s=0))
    fast = served("fast", one, "a", per_minute("requests", 60))
    slow = served("slow", two, "b", per_minute("requests", 60))
    for _ in range(70):
        await call(paced, fast, slow)

    assert len(one.began) == 70
    assert not two.began


async def test_seconds_are_compared_not_tokens() -> None:
    paced, one, two = Paced(), Provider(Answer(takes_s=0)), Provider(Answer(takes_s=0))
    day = WindowSpec("*:requests:86400", "bucket", 86_400, 86_400_000, level=0)
    minute = WindowSpec("*:requests:60", "bucket", 600, 60_000, level=0)
    large, small = served("fast", one, "large", day), served("fast", two, "small", minute)
    await paced.store.define(large.account.pool, [day])
    await paced.store.define(small.account.pool, [minute])
    large.account.has_tightened()
    began = anyio.current_time()

    await call(paced, replace(large, others=(small,)))

    assert (len(one.began), len(two.began)) == (0, 1)
    assert anyio.current_time() - began < 1


async def test_a_model_that_is_down_is_passed_over() -> None:
    paced = Paced()
    one, two = Provider(failure()), Provider(Answer(takes_s=0))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")

    for _ in range(8):
        await call(paced, fast, slow)

    assert (len(one.began), len(two.began)) == (5, 8)


def gone(code: str | None = "model_not_found", message: str = "") -> Answer:
    """Return the failure of a model that is not there, as the provider says it."""
    answer = failure("unknown_model", 404)
    assert isinstance(answer.error, UpstreamFailed)
    answer.error.said = Said(404, message, code=code)
    return answer


async def test_a_model_that_is_gone_is_asked_after_the_others_for_a_minute() -> None:
    paced, one, two = Paced(), Provider(gone()), Provider(Answer(takes_s=0))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")

    for _ in range(8):
        await call(paced, fast, slow)
    assert (len(one.began), len(two.began), fast.account.gone()) == (1, 8, 1)
    await anyio.sleep(60)
    for _ in range(8):
        await call(paced, fast, slow)

    assert (len(one.began), len(two.began)) == (2, 16)


async def test_what_a_client_has_written_takes_a_model_from_nobody() -> None:
    words = "Previous response with id 'unknown model' not found."
    paced, one = Paced(), Provider(gone("previous_response_not_found", words))
    two = Provider(Answer(takes_s=0))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")

    for _ in range(4):
        await call(paced, fast, slow)

    assert (len(one.began), fast.account.gone()) == (4, 0)


async def test_one_that_is_there_again_is_asked_first() -> None:
    paced, one, two = Paced(), Provider(gone(), Answer(takes_s=0)), Provider(Answer(takes_s=0))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")
    await call(paced, fast, slow)
    await anyio.sleep(60)
    for _ in range(3):
        await call(paced, fast, slow)

    assert (len(one.began), len(two.began), fast.account.gone()) == (4, 1, 0)


@pytest.mark.parametrize("others", [True, False])
async def test_what_the_client_has_named_or_nothing_else_serves_is_asked_each_time(
    *, others: bool
) -> None:
    paced, one, two = Paced(), Provider(gone()), Provider(Answer(takes_s=0))
    fast, slow = served("fast-*" if others else "fast", one, "a"), served("slow", two, "b")

    for _ in range(5):
        with pytest.raises(UpstreamFailed, match="broken"):
            await call(paced, fast, *([slow] if others else []))

    assert (len(one.began), len(two.began)) == (5, 0)


@pytest.mark.parametrize("windows", [(), (per_minute("requests", 6000),)], ids=["bare", "stated"])
@pytest.mark.parametrize("gap_s", [0.0, 0.5])
@pytest.mark.parametrize("asks_s", [0.1, 0.7, 1.0, 1.9, 5.0])
async def test_who_is_refused_for_a_moment_again_and_again_moves_on(
    asks_s: float, gap_s: float, windows: tuple[WindowSpec, ...]
) -> None:
    paced, one, two = Paced(), Provider(refusal(asks_s)), Provider(Answer(takes_s=0))
    fast, slow = served("fast", one, "a", *windows), served("slow", two, "b")
    took: list[float] = []

    async def timed() -> None:
        began = anyio.current_time()
        await call(paced, fast, slow, retries=2)
        took.append(anyio.current_time() - began)

    async with task_group() as group:
        for _ in range(12):
            group.start_soon(timed)
            await anyio.sleep(gap_s)

    assert len(two.began) == 12
    assert max(took) <= 2 * paced.pacer.move_after_s


async def test_where_nothing_is_let_through_the_next_ask_ever_less_often() -> None:
    paced, one, two = Paced(), Provider(refusal(1)), Provider(Answer(takes_s=0))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")
    began = anyio.current_time()

    for _ in range(300):
        await call(paced, fast, slow, retries=2)
        await anyio.sleep(1)

    assert len(two.began) == 300
    assert len(one.began) < 30
    assert anyio.current_time() - began < 320


async def test_who_can_go_nowhere_else_waits_as_ever() -> None:
    paced = Paced()
    one, two = Provider(refusal(1), refusal(1), refusal(1), Answer()), Provider(refusal(30))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")

    await call(paced, fast, slow, retries=2)

    assert (len(one.began), len(two.began)) == (4, 1)


async def test_a_refusal_long_ago_says_nothing_of_today() -> None:
    paced, two = Paced(), Provider(Answer(takes_s=0))
    one = Provider(refusal(0.1), refusal(0.1), Answer(takes_s=0))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")
    await call(paced, fast, slow)
    await anyio.sleep(600)
    await call(paced, fast, slow)
    await anyio.sleep(0.2)
    await call(paced, fast, slow)

    assert (len(one.began), len(two.began)) == (3, 2)


async def test_calls_at_once_that_are_all_taken_are_not_waited_for_where_another_is_free() -> None:
    paced, one, two = Paced(), Provider(Answer(takes_s=60)), Provider(Answer(takes_s=0))
    fast = served("fast", one, "a", WindowSpec("*:concurrency:0", "gauge", 1))
    slow = served("slow", two, "b")

    async with task_group() as group:
        group.start_soon(call, paced, fast, slow)
        await anyio.sleep(1)
        began = anyio.current_time()
        await call(paced, fast, slow)
        took = anyio.current_time() - began

    assert took <= paced.pacer.move_after_s
    assert (len(one.began), len(two.began)) == (1, 1)
