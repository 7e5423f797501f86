"""What every journal does, whatever keeps it."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.stores.journal.journal import Claimed, Journal, StaleToken, Write
from gateway.stores.journal.records import RunName, Sent, Standing, Stored
from tests.contract.journal.desk import LEASE_MS, Clock, claim, claimed, run, step

pytestmark = pytest.mark.anyio
FULL = step(
    state="completed",
    after=1,
    seq=2,
    attempts=1,
    role="candidate",
    model="m",
    provider="p",
    shown="shown",
    tokens=(3, 4),
    cost=10**15,
    events='[["TextDelta",["\\u0000 \\u00e9"]]]',
    at_ms=7,
)


async def test_a_run_that_is_new_begins_with_its_first_claim(journal: Journal) -> None:
    answer = await claimed(journal, run())
    assert answer.is_new
    assert answer.hold.name == RunName("key", "run")
    assert answer.stored.steps == ()


async def test_a56_what_was_written_is_found_again_as_it_was(journal: Journal) -> None:
    sent = Sent("/v1/chat/completions", '{"model": "é"}', {"x-lockgate-technique": "fec"})
    record = run(session="s1", named=True, technique="fec", model="m", sent=sent)
    hold = (await claimed(journal, record)).hold
    standing = Standing(eta_ms=5, reason="tokens", waste=10**15)
    failed = step("other", state="failed", error=("server", "upstream_failed", "It broke."))
    await journal.write(Write(hold, (FULL, failed), standing))
    found = await journal.find(record.name)
    assert found is not None
    assert found.record == record
    assert found.standing == standing
    assert sorted(found.steps, key=lambda one: one.path) == [failed, FULL]
    assert found.lease_ms == LEASE_MS


async def test_a56_the_latest_word_on_a_step_stands(journal: Journal) -> None:
    hold = (await claimed(journal, run())).hold
    await journal.write(Write(hold, (step(state="dispatched"),)))
    await journal.write(Write(hold, (step(state="completed", seq=1),)))
    found = await journal.find(hold.name)
    assert found is not None
    assert [one.state for one in found.steps] == ["completed"]


async def test_a56_a_run_that_is_not_there_is_not_found(journal: Journal) -> None:
    assert await journal.find(RunName("key", "none")) is None


async def test_a_run_that_somebody_is_at_work_on_is_not_claimed(
    journal: Journal, clock: Clock
) -> None:
    await claimed(journal, run())
    clock.now += LEASE_MS - 1
    answer = await journal.claim(claim(run()))
    assert isinstance(answer, Stored)
    assert answer.is_executing


async def test_a_run_whose_owner_was_lost_is_claimed_with_its_steps(
    journal: Journal, clock: Clock
) -> None:
    first = await claimed(journal, run())
    await journal.write(Write(first.hold, (step(state="dispatched"),)))
    clock.now += LEASE_MS
    second = await claimed(journal, run())
    assert not second.is_new
    assert second.hold.token == first.hold.token + 1
    assert [one.state for one in second.stored.steps] == ["dispatched"]


async def test_a61_a_stale_token_writes_nothing(journal: Journal, clock: Clock) -> None:
    stale = (await claimed(journal, run())).hold
    clock.now += LEASE_MS
    owner = (await claimed(journal, run())).hold
    for change in (
        Write(stale, (step(state="completed"),)),
        Write(stale, standing=Standing("completed"), ends=True),
        Write(stale, record=run(body="other")),
        Write(stale, ends=True),
    ):
        with pytest.raises(StaleToken):
            await journal.write(change)
    found = await journal.find(owner.name)
    assert found is not None
    assert found.steps == ()
    assert found.is_executing
    assert found.record.body == "body"


async def test_a61_of_many_that_claim_at_once_one_gets_the_run(
    journal: Journal, clock: Clock
) -> None:
    await claimed(journal, run())
    clock.now += LEASE_MS
    answers = []

    async def take() -> None:
        answers.append(await journal.claim(claim(run())))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(take)
    assert sum(isinstance(answer, Claimed) for answer in answers) == 1


async def test_a61_of_many_that_begin_a_run_at_once_one_does(journal: Journal) -> None:
    answers = []

    async def take() -> None:
        answers.append(await journal.claim(claim(run())))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(take)
    assert sum(isinstance(answer, Claimed) for answer in answers) == 1


async def test_a_claim_that_is_renewed_is_held_on_to(journal: Journal, clock: Clock) -> None:
    hold = (await claimed(journal, run())).hold
    clock.now += LEASE_MS - 1
    assert await journal.renew([hold], LEASE_MS) == []
    clock.now += LEASE_MS - 1
    assert isinstance(await journal.claim(claim(run())), Stored)


async def test_who_renews_a_claim_that_is_lost_is_told(journal: Journal, clock: Clock) -> None:
    lost = (await claimed(journal, run())).hold
    kept = (await claimed(journal, run("other"))).hold
    clock.now += LEASE_MS
    await claimed(journal, run())
    assert list(await journal.renew([lost, kept], LEASE_MS)) == [lost]


async def test_a_run_that_has_ended_is_not_held_by_a_late_renewal(
    journal: Journal,
) -> None:
    hold = (await claimed(journal, run())).hold
    await journal.write(Write(hold, standing=Standing("suspended"), ends=True))
    assert list(await journal.renew([hold], LEASE_MS)) == []
    assert isinstance(await journal.claim(claim(run())), Claimed)


@pytest.mark.parametrize("state", ["suspended", "interrupted", "failed"])
async def test_a_run_that_can_go_on_is_claimed_by_its_name(journal: Journal, state: str) -> None:
    hold = (await claimed(journal, run())).hold
    await journal.write(Write(hold, standing=Standing(state), ends=True))  # type: ignore[arg-type]
    answer = await claimed(journal, run())
    assert answer.stored.standing.state == state
    found = await journal.find(hold.name)
    assert found is not None
    assert found.is_executing


@pytest.mark.parametrize("state", ["completed", "cancelled"])
async def test_a_run_that_is_over_is_claimed_only_by_who_says_again(
    journal: Journal, state: str
) -> None:
    hold = (await claimed(journal, run())).hold
    await journal.write(Write(hold, (FULL,), Standing(state), ends=True))  # type: ignore[arg-type]
    answer = await journal.claim(claim(run()))
    assert isinstance(answer, Stored)
    assert list(answer.steps) == [FULL]
    assert isinstance(await journal.claim(claim(run(), again=True)), Claimed)


async def test_another_body_does_not_claim_a_run(journal: Journal) -> None:
    hold = (await claimed(journal, run())).hold
    await journal.write(Write(hold, standing=Standing("suspended"), ends=True))
    answer = await journal.claim(claim(run(body="other")))
    assert isinstance(answer, Stored)
    assert answer.record.body == "body"


@pytest.mark.parametrize("state", ["suspended", "interrupted"])
async def test_a_run_that_waits_is_found_by_its_body(journal: Journal, state: str) -> None:
    hold = (await claimed(journal, run("first"))).hold
    await journal.write(Write(hold, standing=Standing(state), ends=True))  # type: ignore[arg-type]
    answer = await claimed(journal, run("second"), "waiting")
    assert answer.hold.name.run == "first"
    third = await claimed(journal, run("third"), "waiting")
    assert third.is_new


async def test_a_run_whose_owner_was_lost_is_found_by_its_body(
    journal: Journal, clock: Clock
) -> None:
    await claimed(journal, run("first"))
    clock.now += LEASE_MS
    answer = await claimed(journal, run("second"), "waiting")
    assert answer.hold.name.run == "first"


async def test_runs_under_way_or_over_are_not_found_by_their_body(journal: Journal) -> None:
    over = (await claimed(journal, run("over"))).hold
    await journal.write(Write(over, standing=Standing("completed"), ends=True))
    await claimed(journal, run("going"))
    assert (await claimed(journal, run("new"), "waiting")).is_new


async def test_whether_a_run_waits_to_be_taken_up_is_told_by_its_key_and_body(
    journal: Journal, clock: Clock
) -> None:
    record = run("one")
    owner, body = record.name.owner, record.body
    assert not await journal.waits(owner, body)
    hold = (await claimed(journal, record)).hold
    assert not await journal.waits(owner, body)
    await journal.write(Write(hold, standing=Standing("interrupted"), ends=True))
    assert await journal.waits(owner, body)
    assert not await journal.waits("other", body)
    assert not await journal.waits(owner, "another")
    await claimed(journal, run("two"), "waiting")
    assert not await journal.waits(owner, body)
    clock.now += LEASE_MS
    assert await journal.waits(owner, body)


async def test_what_a_router_chose_is_kept_with_its_run(journal: Journal) -> None:
    await claimed(journal, replace(run("one"), routed='{"arm": "none"}'))
    found = await journal.find(run("one").name)
    assert found is not None
    assert found.record.routed == '{"arm": "none"}'


async def test_who_asks_again_finds_the_last_run_of_its_body(journal: Journal) -> None:
    over = (await claimed(journal, run("over"))).hold
    await journal.write(Write(over, standing=Standing("completed"), ends=True))
    answer = await journal.claim(claim(run("new"), "any"))
    assert isinstance(answer, Stored)
    assert answer.record.name.run == "over"


async def test_runs_of_another_key_are_never_found(journal: Journal) -> None:
    hold = (await claimed(journal, run())).hold
    await journal.write(Write(hold, standing=Standing("suspended"), ends=True))
    assert await journal.find(RunName("other", "run")) is None
    assert (await claimed(journal, run("x", owner="other"), "any")).is_new
    assert (await claimed(journal, run("run", owner="other"))).is_new


async def test_a63_names_that_are_alike_are_different_runs(journal: Journal) -> None:
    names = ["a/b", "a_b", "a b", "a:b", "a%2Fb", "ä", "a"]
    for name in names:
        assert (await claimed(journal, run(name, body=name))).is_new
    assert (await claimed(journal, run("b", owner="a"))).is_new
    for name in names:
        found = await journal.find(RunName("key", name))
        assert found is not None
        assert found.record.body == name


async def test_a63_a_hundred_writes_at_once_leave_one_valid_state(journal: Journal) -> None:
    hold = (await claimed(journal, run())).hold

    async def save(number: int) -> None:
        steps = (step(f"own{number}"), step("shared", seq=number))
        await journal.write(Write(hold, steps, Standing(waste=number)))

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(save, number)
    found = await journal.find(hold.name)
    assert found is not None
    assert len(found.steps) == 101
    (shared,) = (one for one in found.steps if one.path == "shared")
    assert shared.seq == found.standing.waste


async def test_runs_of_the_background_that_nobody_is_at_work_on_are_told(
    journal: Journal, clock: Clock
) -> None:
    lost = run("lost", background=True)
    await claimed(journal, lost)
    await claimed(journal, run("asked"))
    over = (await claimed(journal, run("over", background=True))).hold
    await journal.write(Write(over, standing=Standing("completed"), ends=True))
    assert list(await journal.abandoned(10)) == []
    clock.now += LEASE_MS
    assert list(await journal.abandoned(10)) == [lost]


async def test_a_run_can_be_sent_to_the_background_later(journal: Journal) -> None:
    hold = (await claimed(journal, run())).hold
    sent = replace(run(), background=True)
    await journal.write(Write(hold, standing=Standing("suspended"), ends=True, record=sent))
    assert list(await journal.abandoned(10)) == [sent]


async def test_a_run_that_is_called_back_from_the_background_is_not_taken_up(
    journal: Journal,
) -> None:
    hold = (await claimed(journal, run(background=True))).hold
    await journal.write(Write(hold, standing=Standing("interrupted"), ends=True, record=run()))
    assert list(await journal.abandoned(10)) == []


async def test_runs_that_are_put_away_are_told_with_their_time(journal: Journal) -> None:
    for name, eta_ms in (("one", 5), ("two", None)):
        hold = (await claimed(journal, run(name))).hold
        away = Standing("suspended", eta_ms=eta_ms)
        await journal.write(Write(hold, standing=away, ends=True))
    await claimed(journal, run("going"))

    told = await journal.suspended(10)

    assert told is not None
    assert sorted(map(str, told)) == ["5", "None"]
    assert len(await journal.suspended(1) or ()) == 1
    assert isinstance(await journal.claim(claim(run("one"))), Claimed)
    assert len(await journal.suspended(10) or ()) == 1


async def test_a56_all_runs_of_a_key_are_erased(journal: Journal) -> None:
    for name in ("one", "two"):
        hold = (await claimed(journal, run(name))).hold
        await journal.write(Write(hold, (FULL,)))
    await claimed(journal, run("one", owner="other"))
    assert await journal.erase("key") == 2
    assert await journal.find(RunName("key", "one")) is None
    assert await journal.find(RunName("other", "one")) is not None
    again = await claimed(journal, run("one"))
    assert again.is_new
    assert list(again.stored.steps) == []


async def test_what_is_old_is_forgotten_unless_somebody_is_at_work_on_it(
    journal: Journal, clock: Clock
) -> None:
    if type(journal).__name__ == "RedisJournal":
        pytest.skip("there what is old goes by itself")
    old = (await claimed(journal, run("old"))).hold
    await journal.write(Write(old, (FULL,), Standing("completed"), ends=True))
    going = (await claimed(journal, run("going"))).hold
    clock.now += 100_000
    await journal.renew([going], LEASE_MS)
    await claimed(journal, run("young"))
    assert await journal.purge(clock.now - 50_000) == 1
    found = [await journal.find(RunName("key", name)) for name in ("old", "going", "young")]
    assert [one is not None for one in found] == [False, True, True]
