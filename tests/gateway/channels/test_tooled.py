"""What becomes of a turn whose tool calls have a quota, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from gateway.admission.verdict import OnLimit, Patience
from gateway.attention.quota import Meter, Quota
from gateway.attention.tools import ToolQuotas
from gateway.channels.tooled import Turn
from gateway.config.attention import ToolAction, ToolConfig
from gateway.metering.ledger import Ledger
from gateway.policy.keys import Caller
from gateway.stores.ledger import PoolState, StoreLost
from gateway.stores.memory import MemoryLedger
from techniques.core.errors import KeyLimited, Unavailable
from techniques.core.events import Event, Finished, TextDelta, ToolCallStarted

APP = Caller("app")
TOOLS = {"search": ToolConfig(calls=2, period=60.0), "free": ToolConfig(calls=9)}


class Lost(MemoryLedger):
    """A ledger that does not answer."""

    async def peek(self, pool: str) -> PoolState:
        raise StoreLost(pool)


def calls(*names: str) -> list[Event]:
    """Return an answer that calls tools of these names."""
    made = [ToolCallStarted(n, f"id-{n}-{name}x", name) for n, name in enumerate(names)]
    return [TextDelta("so"), *made, Finished("tool_calls")]


@dataclass
class Scene:
    action: ToolAction
    ledger: MemoryLedger = field(
        default_factory=lambda: MemoryLedger(lambda: round(anyio.current_time() * 1000))
    )
    facts: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self.meter = Meter(self.ledger)
        self.quotas = ToolQuotas(self.meter, TOOLS, self.action)

    async def used(self, tool: str, times: int) -> None:
        for _ in range(times):
            taken = await self.quotas.acquire(APP, tool)
            assert taken is not None
            assert taken.granted
            self.quotas.spend(APP, tool, taken)

    async def left(self, tool: str = "search") -> int:
        quota = self.quotas.quota(APP, tool)
        assert isinstance(quota, Quota)
        return (await self.meter.look(quota)).left

    async def turn(
        self, answer: Sequence[Event], patience_s: float = 55, on_limit: OnLimit = "hold"
    ) -> list[Event]:
        """Return what is given of *answer*, as far as it is."""
        given: list[Event] = []
        self.given = given
        turn = Turn(
            self.quotas, APP, self.facts, Patience(patience_s, on_limit=on_limit), streamed=True
        )
        async with turn.over(_played(answer)) as events:
            async for event in events:
                given.append(event)
        return given

    def told(self) -> list[tuple[str, str, int]]:
        return [(fact.tool, fact.outcome, fact.wait_ms) for fact in self.facts.tools]


@asynccontextmanager
async def _played(answer: Sequence[Event]) -> AsyncGenerator[AsyncIterator[Event], None]:
    async def events() -> AsyncGenerator[Event, None]:
        for event in answer:
            yield event

    made = events()
    try:
        yield made
    finally:
        await made.aclose()


async def test_calls_within_the_quota_are_counted_and_given() -> None:
    scene = Scene("annotate")

    given = await scene.turn(calls("search", "other", "search"))

    assert given == calls("search", "other", "search")
    assert scene.told() == [("search", "counted", 0), ("search", "counted", 0)]
    assert await scene.left() == 0


async def test_a_call_beyond_the_quota_is_told_and_given() -> None:
    scene = Scene("annotate")
    await scene.used("search", 2)
    await anyio.sleep(20)

    given = await scene.turn(calls("search"))

    assert given == calls("search")
    assert scene.told() == [("search", "over", 40_000)]


async def test_a_turn_beyond_the_quota_is_refused_before_its_call_is_given() -> None:
    scene = Scene("refuse_turn")
    await scene.used("search", 1)

    with pytest.raises(KeyLimited) as refused:
        await scene.turn(calls("free", "search", "search"))

    assert (refused.value.code, refused.value.retry_after) == ("tool_quota_exhausted", 60)
    assert scene.given == calls("free", "search", "search")[:3]
    assert scene.told()[-1] == ("search", "refused", 60_000)


async def test_a_refused_turn_takes_nothing_of_any_quota() -> None:
    scene = Scene("refuse_turn")
    await scene.used("search", 1)

    with pytest.raises(KeyLimited):
        await scene.turn(calls("free", "search", "search"))

    assert (await scene.left("free"), await scene.left("search")) == (9, 1)


async def test_a_turn_is_held_until_the_tool_may_be_used() -> None:
    scene = Scene("hold_result")
    await scene.used("search", 2)
    await anyio.sleep(20)
    began = anyio.current_time()

    given = await scene.turn(calls("search"))

    assert given == calls("search")
    assert anyio.current_time() - began == pytest.approx(40, abs=0.002)
    assert scene.told() == [("search", "counted", 0)]
    assert scene.facts.holds.longest is None
    assert scene.facts.holds.reason == "tool"


@pytest.mark.parametrize(("patience_s", "on_limit"), [(30, "hold"), (55, "reject")])
async def test_a_turn_that_may_not_be_held_so_long_is_refused_at_once(
    patience_s: float, on_limit: OnLimit
) -> None:
    scene = Scene("hold_result")
    await scene.used("search", 2)
    await anyio.sleep(20)
    began = anyio.current_time()

    with pytest.raises(KeyLimited):
        await scene.turn(calls("search"), patience_s, on_limit)

    assert anyio.current_time() == began


async def test_a_held_turn_that_nobody_wants_any_more_takes_nothing() -> None:
    scene = Scene("hold_result")
    await scene.used("search", 2)

    with anyio.move_on_after(10) as left:
        await scene.turn(calls("search"), patience_s=300)
    assert left.cancelled_caught
    await anyio.sleep(50)

    assert await scene.left() == 2
    assert scene.facts.holds.longest is None


async def test_where_quotas_cannot_be_told_a_turn_is_only_annotated() -> None:
    scene = Scene("annotate", Lost())

    given = await scene.turn(calls("search"))

    assert given == calls("search")
    assert scene.told() == [("search", "unknown", 0)]


async def test_where_quotas_cannot_be_told_and_must_hold_no_turn_is_given() -> None:
    with pytest.raises(Unavailable) as lost:
        await Scene("refuse_turn", Lost()).turn(calls("search"))

    assert lost.value.code == "store_lost"


async def test_a_call_that_was_seen_and_is_then_acquired_is_one_use() -> None:
    scene = Scene("annotate")
    await scene.turn(calls("search"))

    taken = await scene.quotas.acquire(APP, "search", call_id="id-0-searchx")

    assert taken is not None
    assert taken.granted
    assert await scene.left() == 1


async def test_ids_that_a_provider_gives_in_every_answer_are_no_names_of_uses() -> None:
    scene = Scene("annotate")
    again: list[Event] = [ToolCallStarted(0, "call_0", "search"), Finished("tool_calls")]

    for _ in range(2):
        await scene.turn(again)

    assert await scene.left() == 0


async def test_keys_have_quotas_of_their_own_unless_the_tool_has_one_for_all() -> None:
    shared = {"search": ToolConfig(calls=1, per="global")}
    meter = Meter(MemoryLedger(lambda: round(anyio.current_time() * 1000)))
    own, all_ = ToolQuotas(meter, {"search": ToolConfig(calls=1)}), ToolQuotas(meter, shared)

    granted = [
        taken.granted
        for quotas in (own, all_)
        for caller in (APP, Caller("other"))
        for taken in [await quotas.acquire(caller, "search")]
        if taken is not None
    ]

    assert granted == [True, True, True, False]
