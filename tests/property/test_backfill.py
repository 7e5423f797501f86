"""Who goes before a larger one that waits never makes it wait longer."""

from __future__ import annotations

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.stores.ledger import Granted, Waiting
from gateway.stores.memory import MemoryLedger
from tests.contract.ledger_store.desk import Clock, Desk, bucket, fixed

needs = st.fixed_dictionaries(
    {},
    optional={"tok": st.integers(1, 1500), "req": st.integers(1, 6), "turn": st.integers(1, 6)},
).filter(bool)


async def play(
    used: dict[str, int], large: dict[str, int], others: list[tuple[int, dict[str, int]]]
) -> None:
    desk = Desk(MemoryLedger(clock := Clock()), clock)
    await desk.define(
        bucket("tok", 1500), bucket("req", 6), fixed("turn", 6, ends_in_ms=20_000, period_ms=60_000)
    )
    await desk.ask("first", dispatched=True, **used)  # type: ignore[arg-type]
    answer = await desk.ask("large", **large)  # type: ignore[arg-type]
    if not isinstance(answer, Waiting):
        return
    assert answer.eta_ms is not None
    planned = clock.now + answer.eta_ms
    for number, (ms, small) in enumerate(others):
        clock.pass_(min(ms, planned - clock.now))
        if clock.now == planned:
            break
        await desk.check("large")
        await desk.ask(f"small{number}", **small)  # type: ignore[arg-type]
    while clock.now < planned:
        clock.pass_(min(10_000, planned - clock.now))
        answer = await desk.check("large")
    assert isinstance(await desk.check("large"), Granted)


@settings(max_examples=150)
@given(needs, needs, st.lists(st.tuples(st.integers(0, 9000), needs), max_size=12))
def test_who_goes_first_never_delays_the_planned_start_of_who_waits(
    used: dict[str, int], large: dict[str, int], others: list[tuple[int, dict[str, int]]]
) -> None:
    anyio.run(play, used, large, others)
