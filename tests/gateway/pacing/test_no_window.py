"""A limit that lets nobody through is told soon; one that does is waited for as ever."""

from __future__ import annotations

from random import Random

import anyio
import pytest

from gateway.admission.verdict import Patience
from gateway.channels.retrying import RetryPolicy
from gateway.channels.stack import Stack
from gateway.policy.models import Model
from techniques.core.channel import ask
from techniques.core.errors import HeldBack, UpstreamFailed
from techniques.core.groups import task_group
from tests.gateway.pacing.provider import Answer, Provider, refusal
from tests.gateway.pacing.scene import QUESTION, Paced, per_minute
from tests.gateway.pacing.test_moving import served

PAUSE = Patience(55.0)


async def call(paced: Paced, *models: Model, patience: Patience = PAUSE) -> None:
    run = paced.run(patience=patience)
    stack = Stack(RetryPolicy(2, paced=True), Random(1), paced.ledger, paced=run)
    await ask(stack.to(models), QUESTION)


async def refused(paced: Paced, model: Model, patience: Patience = PAUSE) -> float:
    """Return after how many seconds a call is told that it is refused."""
    began = anyio.current_time()
    with pytest.raises(UpstreamFailed) as caught:
        await call(paced, model, patience=patience)
    assert caught.value.kind == "rate_limited"
    assert caught.value.retry_after
    return anyio.current_time() - began


@pytest.mark.parametrize("stated", [False, True], ids=["bare", "stated"])
@pytest.mark.parametrize(
    ("asks_s", "took", "tries"), [(1, 8, 9), (2, 10, 6), (5, 10, 3), (7, 14, 3), (20, 40, 3)]
)
async def test_who_is_refused_by_one_is_told_soon(
    asks_s: float, took: float, tries: int, *, stated: bool
) -> None:
    paced, provider = Paced(), Provider(refusal(asks_s))
    windows = [per_minute("requests", 6000)] if stated else []
    model = served("fast", provider, "a", *windows)

    late_s = 4.0 if stated else 0.2  # a window that has been shut opens bit by bit
    assert took - 0.2 <= await refused(paced, model) <= took + late_s
    assert len(provider.began) <= tries


async def test_who_comes_later_is_told_after_one_try() -> None:
    paced, provider = Paced(), Provider(refusal(7))
    model = served("fast", provider, "a")
    await refused(paced, model)
    before = len(provider.began)

    took = [await refused(paced, model) for _ in range(3)]

    assert len(provider.began) == before + 3
    assert max(took) <= 7.2


@pytest.mark.parametrize("stated", [False, True], ids=["bare", "stated"])
async def test_it_is_called_what_is_known_of_it(*, stated: bool) -> None:
    windows = [per_minute("requests", 6000)] if stated else []
    paced, provider = Paced(), Provider(refusal(7))
    model = served("fast", provider, "a", *windows)

    with pytest.raises(HeldBack) as caught:
        await call(paced, model, patience=Patience(0.5))

    which = "The limit of requests" if stated else "A rate limit"
    assert caught.value.message == f"{which} of a is reached."


async def test_when_it_lets_somebody_through_it_is_waited_for_again() -> None:
    paced = Paced()
    provider = Provider(*[refusal(7)] * 3, Answer(takes_s=0), *[refusal(2)] * 5, Answer(takes_s=0))
    model = served("fast", provider, "a")
    await refused(paced, model)
    await call(paced, model)

    await call(paced, model)

    assert len(provider.began) == 10


async def test_one_that_lets_some_through_is_waited_for_as_ever() -> None:
    class Full(Provider):
        """Lets one of four through."""

        def open(self, request: object) -> object:  # type: ignore[override]
            self.answers = [Answer(takes_s=0) if len(self.began) % 4 == 3 else refusal(2)]
            return super().open(request)  # type: ignore[arg-type]

    paced, provider = Paced(), Full()
    model = served("fast", provider, "a")

    async with task_group() as group:
        for _ in range(4):
            group.start_soon(call, paced, model)

    assert len(provider.began) == 16


async def test_what_nobody_waits_for_is_tried_as_often_as_ever() -> None:
    paced, provider = Paced(), Provider(refusal(7))
    model = served("fast", provider, "a")

    assert await refused(paced, model, Patience(86_400.0)) == pytest.approx(56, abs=0.2)
    assert len(provider.began) == 9


async def test_a_fallback_is_asked_as_soon_as_ever() -> None:
    paced, one, two = Paced(), Provider(refusal(7)), Provider(Answer(takes_s=0))
    fast, slow = served("fast", one, "a"), served("slow", two, "b")
    began = anyio.current_time()

    for _ in range(5):
        await call(paced, fast, slow)

    assert len(two.began) == 5
    assert anyio.current_time() - began <= 2


@pytest.mark.parametrize("read_s", [10.0, 25.0])
async def test_nobody_is_held_for_longer_than_its_sdk_waits(read_s: float) -> None:
    paced, provider = Paced(), Provider(refusal(7))
    model = served("fast", provider, "a")

    assert await refused(paced, model, Patience(55.0, read_s=read_s)) <= read_s - 5
