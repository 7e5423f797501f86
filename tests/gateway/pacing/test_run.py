"""Calls that are held, resumed and given back, on virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import anyio
import pytest

from gateway.admission.need.conformal import Conformal
from gateway.admission.need.value import Latency, SubCall
from gateway.admission.verdict import Patience
from gateway.metering.facts import MoneyMet
from gateway.metering.ledger import CallFinished, CallHeld, LimitHit
from gateway.pacing.errors import must_fit
from gateway.pacing.pacer import PacingPolicy
from gateway.pacing.run import Run
from gateway.policy.budgets import Budget
from gateway.policy.keys import Caller
from gateway.stores.database.ledger import Spender
from gateway.stores.ledger import QueueFull, WindowSpec
from pricing.usage import Usage
from techniques.core.channel import ask
from techniques.core.errors import (
    DeadlinePassed,
    GatewayError,
    HeldBack,
    OverLimit,
    RequestRejected,
    UpstreamFailed,
)
from techniques.core.groups import task_group
from techniques.core.request import Request, Sampling, said
from tests.gateway.pacing.provider import Answer, Provider, failure, refusal
from tests.gateway.pacing.scene import QUESTION, Paced, per_minute


async def told(
    paced: Paced, provider: Provider, run: Run | None = None, question: Request = QUESTION
) -> GatewayError | None:
    """Return how one call ended, None if well."""
    try:
        await ask(paced.channel(provider, run), question)
    except GatewayError as error:
        return error
    return None


async def at_once(paced: Paced, provider: Provider, calls: int) -> list[GatewayError | None]:
    """Return how so many calls ended that were made at the same moment."""
    ends: list[GatewayError | None] = [None] * calls

    async def one(place: int) -> None:
        ends[place] = await told(paced, provider)

    async with task_group() as group:
        for place in range(calls):
            group.start_soon(one, place)
    return ends


async def test_what_fits_goes_at_once() -> None:
    paced, provider = Paced((per_minute("requests", 5),)), Provider()
    await paced.store.define(paced.account.pool, [per_minute("requests", 5)])
    began = anyio.current_time()

    await at_once(paced, provider, 5)

    assert provider.began == [began] * 5
    assert not [fact for fact in paced.facts if isinstance(fact, CallHeld)]


async def test_what_does_not_fit_is_held_until_it_does_and_no_longer() -> None:
    paced, provider = Paced((per_minute("requests", 6),)), Provider()
    await paced.store.define(paced.account.pool, [per_minute("requests", 6)])
    began = anyio.current_time()

    ends = await at_once(paced, provider, 8)

    assert ends == [None] * 8
    assert [at - began for at in provider.began] == pytest.approx([0] * 6 + [10, 20], abs=0.01)
    held = [fact for fact in paced.facts if isinstance(fact, CallHeld)]
    assert [(fact.reason, fact.outcome) for fact in held] == [("requests", "resumed")] * 2
    assert sorted(fact.seconds for fact in held) == pytest.approx([10, 20], abs=0.01)


async def test_a_store_that_knows_no_windows_is_told_of_them() -> None:
    paced, provider = Paced((per_minute("requests", 100),)), Provider()

    assert await told(paced, provider) is None

    state = await paced.store.peek(paced.account.pool)
    assert [window.name for window in state.windows] == ["*:requests:60"]
    assert state.leases == 0


async def test_what_would_wait_too_long_is_given_back_with_its_time() -> None:
    paced, provider = Paced((per_minute("requests", 1),)), Provider()
    await told(paced, provider)
    run = paced.run(patience=Patience(30))

    error = await told(paced, provider, run)

    assert isinstance(error, HeldBack)
    assert error.retry_after == pytest.approx(59, abs=1.1)
    assert len(provider.began) == 1
    assert (await paced.store.peek(paced.account.pool)).queued == 0


async def test_who_wants_no_waiting_is_told_at_once() -> None:
    paced, provider = Paced((per_minute("requests", 1),)), Provider()
    await told(paced, provider)
    began = anyio.current_time()

    error = await told(paced, provider, paced.run(patience=Patience(300, on_limit="reject")))

    assert isinstance(error, HeldBack)
    assert anyio.current_time() == began


async def test_a_client_that_leaves_leaves_the_line() -> None:
    paced, provider = Paced((per_minute("requests", 1),)), Provider()
    await told(paced, provider)

    with anyio.move_on_after(5):
        await told(paced, provider)

    state = await paced.store.peek(paced.account.pool)
    assert (state.queued, state.leases, len(provider.began)) == (0, 0, 1)
    assert [f.outcome for f in paced.facts if isinstance(f, CallHeld)] == ["left"]


async def test_a_call_larger_than_the_window_is_told_so_and_not_held() -> None:
    paced, provider = Paced((per_minute("input_tokens", 1),)), Provider()
    began = anyio.current_time()

    error = await told(
        paced, provider, question=replace(QUESTION, messages=(said("user", "w " * 90),))
    )

    assert isinstance(error, OverLimit)
    assert anyio.current_time() == began
    assert not provider.began


async def test_a_bound_larger_than_the_window_waits_for_all_of_it() -> None:
    paced, provider = Paced((per_minute("tokens", 200),)), Provider()

    assert await told(paced, provider) is None
    assert await told(paced, provider) is None


async def test_what_was_not_used_comes_back() -> None:
    paced = Paced((per_minute("tokens", 100_000),))
    await paced.store.define(paced.account.pool, [per_minute("tokens", 100_000)])
    provider = Provider(Answer(usage=Usage(300, 200), takes_s=0))

    await told(paced, provider)

    (window,) = (await paced.store.peek(paced.account.pool)).windows
    assert window.level == pytest.approx(99_500, abs=1)
    assert window.held == 0


def left(requests: int) -> Answer:
    """Return an answer after which so many of sixty requests are left."""
    told = {"limit": 60, "remaining": requests, "reset": f"{60 - requests}s"}
    headers = {f"x-ratelimit-{what}-requests": str(value) for what, value in told.items()}
    return Answer(headers, takes_s=0)


async def test_headers_make_the_windows_of_an_account_that_stated_none() -> None:
    paced, provider = Paced(vendor="openai"), Provider(left(1), left(0), left(0))
    began = anyio.current_time()

    for _ in range(3):
        await told(paced, provider)

    assert [at - began for at in provider.began] == pytest.approx([0, 0, 1], abs=0.05)


async def test_the_first_call_to_an_account_that_tells_goes_alone() -> None:
    paced, provider = Paced(vendor="openai"), Provider(Answer(begins_s=0.5))
    began = anyio.current_time()

    await at_once(paced, provider, 3)

    assert [at - began for at in provider.began] == pytest.approx([0, 0.5, 0.5])


async def test_who_waits_for_the_first_answer_is_held_by_what_it_tells() -> None:
    answers = [
        Answer(
            {
                "x-ratelimit-limit-requests": "3",
                "x-ratelimit-remaining-requests": f"{left}",
                "x-ratelimit-reset-requests": f"{20 * (3 - left)}s",
            },
            begins_s=0.5,
        )
        for left in (2, 1, 0, 0)
    ]
    paced, provider = Paced(vendor="openai"), Provider(*answers)
    began = anyio.current_time()

    await at_once(paced, provider, 4)

    early = [at for at in provider.began if at - began < 10]
    assert len(early) <= 3


async def test_a_first_call_that_is_slow_holds_the_others_for_two_seconds() -> None:
    paced, provider = Paced(vendor="openai"), Provider(Answer(begins_s=30))
    began = anyio.current_time()

    await at_once(paced, provider, 3)

    assert [at - began for at in provider.began] == pytest.approx([0, 2, 2])


@pytest.mark.parametrize("why", ["budget", "deadline", "left", "not sent"])
async def test_nobody_waits_for_a_first_call_that_is_not_made(why: str) -> None:
    paced = Paced(vendor="openai")
    poor = Caller("poor", budgets=(Budget(Spender("poor"), 1, "total"),))
    rejected = Answer(error=RequestRejected("no such field"), unheard=True)
    calls: dict[str, Callable[[], Awaitable[GatewayError | None]]] = {
        "budget": lambda: told(paced, Provider(), paced.run(poor)),
        "deadline": lambda: told(paced, Provider(), paced.run(patience=Patience(1, deadline_s=-1))),
        "left": lambda: _leaving(paced, Provider(Answer(begins_s=9))),
        "not sent": lambda: told(paced, Provider(rejected)),
    }
    began = anyio.current_time()

    ends = [await calls[why]() for _ in range(3)]
    assert await told(paced, provider := Provider()) is None

    assert None not in ends
    assert provider.began == [began]


async def _leaving(paced: Paced, provider: Provider) -> GatewayError:
    with anyio.move_on_after(0):
        await told(paced, provider)
    return GatewayError("It has left.")


@pytest.mark.parametrize("declared", [(), (per_minute("requests", 1000),)])
async def test_after_a_429_nobody_goes_before_its_time(declared: tuple[WindowSpec, ...]) -> None:
    paced = Paced(declared)
    provider = Provider(refusal(7), Answer(takes_s=0))
    began = anyio.current_time()

    assert isinstance(await told(paced, provider), UpstreamFailed)
    ends = await at_once(paced, provider, 3)

    assert ends == [None] * 3
    assert all(at - began >= 7 for at in provider.began[1:])
    assert all(at - began < 9 for at in provider.began[1:])
    hits = [fact.expected for fact in paced.facts if isinstance(fact, LimitHit)]
    assert hits == [not declared]


@pytest.mark.parametrize(
    "declared",
    [
        (),
        (per_minute("requests", 1000),),
        (WindowSpec("*:concurrency:0", "gauge", 5),),
        (WindowSpec("real-fast:concurrency:0", "gauge", 5),),
        (per_minute("requests", 1000), WindowSpec("*:concurrency:0", "gauge", 5)),
    ],
)
async def test_a_429_after_another_is_heeded_too(declared: tuple[WindowSpec, ...]) -> None:
    paced = Paced(declared)
    provider = Provider(refusal(7), refusal(7), refusal(7), Answer(takes_s=0))

    for _ in range(4):
        await told(paced, provider)

    waits = [after - before for before, after in pairwise(provider.began)]
    assert len(waits) == 3
    assert all(7 <= wait < 9 for wait in waits)


async def test_a_longer_pause_extends_a_shorter_one_and_no_shorter_one_ends_it() -> None:
    paced = Paced()
    provider = Provider(refusal(10), refusal(1), Answer(takes_s=0))
    began = anyio.current_time()

    await at_once(paced, provider, 2)
    assert await told(paced, provider) is None

    assert provider.began[2] - began >= 10


class _Slow(Conformal):
    def latency(self, call: SubCall) -> Latency:
        return Latency(5, 1, 4, 0.5)


async def test_a_deadline_that_the_answer_cannot_keep_is_told_before_it_is_paid() -> None:
    paced, provider = Paced(), Provider()
    paced.pacer.predictor = _Slow()

    error = await told(paced, provider, paced.run(patience=Patience(300, deadline_s=3)))

    assert isinstance(error, DeadlinePassed)
    assert not provider.began


async def test_a_model_that_is_down_and_the_only_one_is_asked_by_one_at_a_time() -> None:
    paced, provider = Paced(), Provider(*[failure()] * 6, Answer(begins_s=1))
    for _ in range(6):
        error = await told(paced, provider)
        assert isinstance(error, UpstreamFailed)
        assert error.kind == "server"

    ends = await at_once(paced, provider, 4)

    assert ends.count(None) == 1
    for end in ends:
        if end is not None:
            assert isinstance(end, UpstreamFailed)
            assert end.kind == "overloaded"
            assert end.retry_after == pytest.approx(10)
    assert len(provider.began) == 7
    assert await told(paced, provider) is None


async def test_of_all_who_wait_for_a_model_that_was_down_one_goes_first() -> None:
    paced, provider = Paced(), Provider(*[failure()] * 5, Answer(begins_s=1))
    for _ in range(5):
        await told(paced, provider)
    await anyio.sleep(10)

    ends = await at_once(paced, provider, 4)

    assert [end is None for end in ends].count(True) == 1
    assert len(provider.began) == 6


async def test_of_several_replicas_one_goes_first_to_a_model_that_was_down() -> None:
    replicas = [Paced(), Paced()]
    replicas[1].store = replicas[1].pacer.store = replicas[0].store
    providers = [Provider(*[failure()] * 5, Answer(begins_s=3)) for _ in replicas]
    for paced, provider in zip(replicas, providers, strict=True):
        for _ in range(5):
            await told(paced, provider)
    await anyio.sleep(10)
    ends: list[GatewayError | None] = []

    async def one(paced: Paced, provider: Provider) -> None:
        ends.append(await told(paced, provider))

    async with task_group() as group:
        for paced, provider in zip(replicas, providers, strict=True):
            group.start_soon(one, paced, provider)

    assert [end is None for end in ends].count(True) == 1
    assert sorted(len(provider.began) for provider in providers) == [5, 6]
    assert all([await told(p, q) is None for p, q in zip(replicas, providers, strict=True)])


async def test_observing_holds_nothing_and_tells_what_would_have_been() -> None:
    paced = Paced((per_minute("requests", 1),), policy=PacingPolicy("observe"))
    provider = Provider(Answer(takes_s=0))
    began = anyio.current_time()

    ends = [await told(paced, provider) for _ in range(3)]

    assert ends == [None] * 3
    assert provider.began == [began] * 3
    held = [fact for fact in paced.facts if isinstance(fact, CallHeld)]
    assert [fact.outcome for fact in held] == ["observed"] * 2
    assert held[0].seconds == pytest.approx(60, abs=0.1)


async def test_every_call_leaves_nothing_behind_however_it_ends() -> None:
    paced = Paced((per_minute("requests", 1000), per_minute("tokens", 10**7)))
    kinds = ["server", "timeout", "transport", "rejected", "overloaded", "context_overflow"]
    provider = Provider(*(failure(kind) for kind in kinds), refusal(0.01), Answer())

    for _ in range(8):
        await told(paced, provider)
        await anyio.sleep(400)
    with anyio.move_on_after(0.5):
        await told(paced, provider)

    state = await paced.store.peek(paced.account.pool)
    assert (state.leases, state.queued, [w.held for w in state.windows]) == (0, 0, [0, 0])
    assert len([f for f in paced.facts if isinstance(f, CallFinished)]) == 9


@pytest.mark.parametrize(
    ("reset", "pause_s"),
    [
        ("1s", 1),
        ("12ms", 0.012),
        ("7.66s", 7.66),
        ("2m59.56s", 179.56),
        ("6m0s", 360),
        ("1h30m", 5400),
        ("30", 30),
        ("0", 0),
        ("-3", 0),
        ("", 0),
        ("soon", 0),
    ],
)
async def test_a_used_up_window_of_an_unknown_host_is_waited_for_until_its_reset(
    reset: str, pause_s: float
) -> None:
    headers = {"limit": "10", "remaining": "0", "reset": reset}
    told_of = {f"x-ratelimit-{what}-requests": value for what, value in headers.items()}
    paced, provider = Paced(vendor="generic"), Provider(Answer(told_of, takes_s=0), Answer())
    began = anyio.current_time()

    await told(paced, provider)
    await told(paced, provider, paced.run(patience=Patience(10_000)))

    pause = provider.began[1] - began
    if pause_s or reset in {"0", "-3"}:
        assert pause_s <= pause <= 1.1 * pause_s + 0.25
    else:
        assert pause <= 6


@pytest.mark.parametrize("vendor", ["openai", "azure", "generic"])
async def test_what_a_call_may_write_at_most_never_empties_a_window_for_long(vendor: str) -> None:
    paced = Paced((per_minute("tokens", 6000),), vendor=vendor)
    provider = Provider(Answer(usage=Usage(30, 6), takes_s=0))
    allowing = replace(QUESTION, sampling=Sampling(max_output_tokens=50_000))

    error = await told(paced, provider, question=allowing)
    began = anyio.current_time()
    assert await told(paced, provider) is None

    assert isinstance(error, OverLimit) == (vendor != "generic")
    assert anyio.current_time() - began <= 60


def test_a_line_that_is_full_says_when_to_come_again() -> None:
    asking = SimpleNamespace(account=Paced().account, needs={})

    with pytest.raises(HeldBack) as caught:
        must_fit(asking, QueueFull(tenant=False))  # type: ignore[arg-type]

    assert (caught.value.code, caught.value.retry_after) == ("queue_full", 1)


async def test_a_crowd_that_is_only_skimmed_leaves_nothing_held_and_is_charged() -> None:
    paced, provider = Paced((per_minute("requests", 1000),)), Provider()
    await paced.store.define(paced.account.pool, [per_minute("requests", 1000)])

    assert await at_once(paced, provider, 120) == [None] * 120

    (window,) = (await paced.store.peek(paced.account.pool)).windows
    assert window.held == 0
    assert window.level == pytest.approx(1000 - 120 + 1000 / 60, abs=1)
    assert paced.account.recent.total(anyio.current_time()) == (120, 120 * 15)


async def test_the_row_of_a_call_tells_how_long_it_was_held() -> None:
    paced, provider = Paced((per_minute("requests", 6),)), Provider()
    await paced.store.define(paced.account.pool, [per_minute("requests", 6)])

    await at_once(paced, provider, 7)

    held = [fact.held_s for fact in paced.facts if isinstance(fact, CallFinished)]
    assert sorted(held)[:6] == [0] * 6
    assert max(held) == pytest.approx(10, abs=0.01)


async def test_what_was_held_of_a_budget_is_told_with_what_it_cost() -> None:
    paced, provider = Paced(), Provider()
    budget = Budget(Spender("app"), 10**15, "total")
    run = paced.run(Caller(name="app", budgets=(budget,)))

    assert await told(paced, provider, run) is None

    (met,) = [fact for fact in paced.facts if isinstance(fact, MoneyMet)]
    (row,) = [fact for fact in paced.facts if isinstance(fact, CallFinished)]
    assert (met.model, met.cost) == ("fast", row.cost)
    assert met.held >= met.cost > 0


async def test_an_account_tells_how_many_of_its_models_are_not_asked_for_a_while() -> None:
    paced = Paced()
    account = paced.account
    began = anyio.current_time()
    for model in ("down", "slow", "fine"):
        health = account.health(model)
        for _ in range({"down": 5, "slow": 1, "fine": 0}[model]):
            health.failed(began)

    assert account.shut(began) == 1
    assert account.shut(began + 3600) == 0  # it may be asked again, though nobody has


async def test_a_call_that_is_called_off_before_it_is_sent_is_charged_to_nobody() -> None:
    paced = Paced((per_minute("requests", 1000), per_minute("tokens", 10**7)))
    budget = Budget(Spender("app"), 10**15, "total")
    run = paced.run(Caller(name="app", budgets=(budget,)))

    with anyio.move_on_after(1):
        await told(paced, Provider(Answer(begins_s=10, unsent=True)), run)

    (row,) = [fact for fact in paced.facts if isinstance(fact, CallFinished)]
    assert (row.outcome, row.cost) == ("cancelled", 0)
    account, purse = [await paced.store.peek(one) for one in (paced.account.pool, "key:app")]
    assert (account.leases, purse.leases) == (0, 0)
    requests, tokens = account.windows
    assert requests.level / requests.cap == pytest.approx(tokens.level / tokens.cap)
    assert [(w.held, w.level) for w in purse.windows] == [(0, 10**15)]
