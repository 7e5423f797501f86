"""The gateway's side of a router that is a process: in time, or gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest

from gateway.routing.asking import Asker
from router_service.client import Remote, RouterClient, connected
from router_service.contract import (
    Feedback,
    NoExactProfile,
    Observation,
    Offer,
    RouteQuery,
    RouterGone,
    Vector,
)
from tests.fakes.router import TOKEN, RouterProcess
from tests.router_service.store.scene import FULL, observation

PLENTY_S = 5.0
"""For a decision on a busy machine, where how long it takes is not what is tested."""
QUERY = RouteQuery(
    model="small",
    offers=(Offer(arm="none"), Offer(arm="best_of_n/3", cost=3.0)),
    vector=Vector(encoder="hashed/4", values=(0.5, -0.5, 0.5, 0.5)),
)


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouterProcess]:
    folder = tmp_path_factory.mktemp("router")
    with RouterProcess(folder, {"LOCKGATE_ROUTER_TOKEN": TOKEN}) as running:
        yield running


@asynccontextmanager
async def client_of(
    router: RouterProcess, within_s: float = PLENTY_S, token: str = TOKEN
) -> AsyncGenerator[RouterClient, None]:
    async with connected(Remote(router.url, token, within_s)) as client:
        yield client


async def test_it_decides_as_the_engine_in_the_process_would(router: RouterProcess) -> None:
    async with client_of(router) as client:
        decision = await client.route(QUERY)

    assert decision.arm == "none"
    assert decision.router == "semknn"
    assert set(decision.scores) == {"none", "best_of_n/3"}


async def test_strict_it_says_that_nothing_was_learnt_of_these_models(
    router: RouterProcess,
) -> None:
    strict = QUERY.model_copy(update={"strict": True, "model": "never"})
    told = []
    async with client_of(router) as client:
        for _ in range(6):  # which is no failure
            try:
                await client.route(strict)
            except NoExactProfile as error:
                told.append(error)

    assert [error.profile for error in told] == ["never"] * 6
    assert told[0].want


async def test_what_was_observed_said_and_forgotten_gets_there(router: RouterProcess) -> None:
    async with client_of(router) as client:
        await client.observe([observation("c1"), FULL, observation("c2", caller="else")])
        known = await client.feedback(Feedback(request_id="r-c1", quality=0.25))
        unknown = await client.feedback(Feedback(request_id="r-unknown", quality=0.25))
        before = _given(router)
        gone = await client.forget("app")

    assert (known, unknown, gone) == (True, False, 2)
    assert before["c1"].quality == 0.25
    assert before["full"] == FULL
    assert _given(router).keys() == {"c2"}


def _given(router: RouterProcess) -> dict[str, Observation]:
    lines = router.ask("GET", "/v1/observations", token=TOKEN).body.splitlines()
    rows = map(Observation.model_validate_json, lines)
    return {row.id: row for row in rows}


async def test_a_wrong_token_is_a_router_that_is_gone(router: RouterProcess) -> None:
    async with client_of(router, token="wrong") as client:
        with pytest.raises(RouterGone, match="401"):
            await client.route(QUERY)
        with pytest.raises(RouterGone, match="401"):
            await client.forget("app")
        with pytest.raises(RouterGone, match="401"):
            await client.feedback(Feedback(request_id="r", quality=1))


LEFT_ALONE = "it has failed before, and is not asked for a while"


async def _reasons(client: RouterClient, number: int) -> list[str]:
    """Return why each of so many questions got no answer."""
    reasons = []
    for _ in range(number):
        with pytest.raises(RouterGone) as gone:
            await client.route(QUERY)
        reasons.append(str(gone.value))
    return reasons


async def test_a_router_that_hangs_costs_twenty_milliseconds_and_soon_none(
    tmp_path: Path,
) -> None:
    with RouterProcess(tmp_path) as router:
        async with client_of(router, within_s=0.02) as client:
            router.pause()
            reasons = await _reasons(client, 8)

    assert reasons == 5 * ["no answer within 20 ms"] + 3 * [LEFT_ALONE]


async def test_a_router_that_is_killed_and_comes_back_is_found_again(tmp_path: Path) -> None:
    with RouterProcess(tmp_path) as router:
        async with client_of(router) as client:
            await client.route(QUERY)
            router.kill()
            reasons = await _reasons(client, 6)
            await client.observe([observation("late")])
            with RouterProcess(tmp_path, port=router.port) as again:
                for _ in range(400):
                    if await _answers(client) and "late" in _given(again):
                        break
                    await anyio.sleep(0.05)
                assert await _answers(client)
                assert "late" in _given(again)

    assert reasons[-1] == LEFT_ALONE


async def _answers(client: RouterClient) -> bool:
    try:
        await client.route(QUERY)
    except RouterGone:
        return False
    return True


class Answers:
    """A router that answers what it is told to; ``bodies`` are what it was sent."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self._answers = list(answers)
        self.bodies: list[bytes] = []

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(await request.aread())
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def client(self, counted: Counter[str] | None = None) -> AsyncGenerator[RouterClient]:
        def count(result: str, number: int) -> None:
            if counted is not None:
                counted[result] += number

        transport = httpx2.MockTransport(self)
        async with httpx2.AsyncClient(base_url="http://router", transport=transport) as http:
            yield RouterClient(http, Remote("http://router"), count)


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(500),
        httpx2.Response(200, content=b"{}"),
        httpx2.Response(200, content=b"not json"),
        httpx2.Response(200, json={"arm": "none", "why": "", "more": 1}),
        httpx2.Response(200, content=b"x" * 2_000_000),
        httpx2.Response(302, headers={"location": "http://elsewhere/"}),
        httpx2.Response(409, json={"error": {}}),
        httpx2.ReadError("reset"),
    ],
)
async def test_whatever_is_no_decision_is_a_router_that_is_gone(
    answer: httpx2.Response | Exception,
) -> None:
    far = Answers(answer)
    async with far.client() as client:
        with pytest.raises(RouterGone):
            await client.route(QUERY)

    assert len(far.bodies) == 1


async def test_who_was_not_strict_is_not_refused_for_want_of_a_profile() -> None:
    none = {"error": {"profile": "small", "have": ["large"], "want": "small"}}
    far = Answers(httpx2.Response(409, json=none))
    async with far.client() as client:
        with pytest.raises(RouterGone, match="409"):
            await client.route(QUERY)
        with pytest.raises(NoExactProfile):
            await client.route(QUERY.model_copy(update={"strict": True}))


async def test_what_a_refusal_says_is_no_longer_than_a_client_can_be_told() -> None:
    have = ["h" * 100_000, *map(str, range(1_000))]
    long = {"profile": "p" * 100_000, "have": have, "want": "w" * 100_000}
    far = Answers(httpx2.Response(409, json={"error": long}))
    async with far.client() as client:
        with pytest.raises(NoExactProfile) as told:
            await client.route(QUERY.model_copy(update={"strict": True}))

    assert len(str(told.value)) + len("".join(told.value.have)) < 10_000


class Hangs:
    """A router that answers nothing; ``asked`` is how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        del request
        self.asked += 1
        await anyio.sleep_forever()
        raise AssertionError

    @asynccontextmanager
    async def client(self, within_s: float) -> AsyncGenerator[RouterClient]:
        transport = httpx2.MockTransport(self)
        async with httpx2.AsyncClient(base_url="http://router", transport=transport) as http:
            yield RouterClient(http, Remote("http://router", None, within_s))


@pytest.mark.parametrize("reloaded", [False, True])
async def test_one_that_hangs_is_left_alone_though_who_asks_has_the_same_deadline(
    reloaded: bool,  # noqa: FBT001
) -> None:
    far = Hangs()
    async with far.client(PLENTY_S if reloaded else 0.02) as client:
        client.within_s = 0.02
        asker = Asker(client, None, 0.02, 1.0)
        answers = [await asker.ask(QUERY, "") for _ in range(8)]

    assert far.asked == 5
    assert [answer.failing for answer in answers] == 5 * ["slow"] + 3 * ["gone"]


async def test_clients_that_leave_early_do_not_make_a_router_one_that_hangs() -> None:
    far = Hangs()
    async with far.client(PLENTY_S) as client:
        for _ in range(8):
            with anyio.move_on_after(0.005):
                await client.route(QUERY)

    assert far.asked == 8


_WRONG = [
    httpx2.Response(500),
    httpx2.Response(200, json={"arm": "no_such", "why": "x"}),
]


@pytest.mark.parametrize("wrong", _WRONG)
async def test_after_five_failures_it_is_not_asked(wrong: httpx2.Response) -> None:
    far = Answers(wrong)
    async with far.client() as client:
        await _reasons(client, 8)

    assert len(far.bodies) == 5


async def test_what_is_sent_of_a_query_is_what_the_contract_has(router: RouterProcess) -> None:
    far = Answers(httpx2.Response(200, json={"arm": "none", "why": "x"}))
    async with far.client() as client:
        await client.route(QUERY)

    assert RouteQuery.model_validate_json(far.bodies[0]) == QUERY


async def test_rows_that_are_refused_are_dropped_and_counted() -> None:
    counted: Counter[str] = Counter()
    far = Answers(httpx2.Response(400), httpx2.Response(400), httpx2.Response(200))
    async with far.client(counted) as client:
        await client.observe([observation("a"), observation("b")])
        await client.outbox.flush()

    assert counted == {"dropped": 1, "sent": 1}
