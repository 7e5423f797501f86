"""What every journal does with whole runs: lists them, takes them in, forgets them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace

import anyio
import pytest
from redis.asyncio import Redis

from gateway.stores.journal.journal import (
    Claimed,
    Journal,
    Place,
    Sought,
    StaleToken,
    Write,
    place_of,
)
from gateway.stores.journal.names import text
from gateway.stores.journal.records import RunName, RunRecord, RunState, Standing, Stored
from gateway.stores.journal.redis import RedisJournal
from tests.contract.journal.desk import LEASE_MS, Clock, claim, claimed, run, step
from tests.patience import PATIENCE_S
from tests.services.valkey import Valkey

pytestmark = pytest.mark.anyio
DONE = step(state="completed", seq=1, events="[]", of=("key", "parent"))


def put(record: RunRecord, *paths: str) -> Stored:
    """Return a run to put in."""
    steps = tuple(replace(DONE, path=path) for path in paths or (DONE.path,))
    return Stored(record, Standing("interrupted", reason="forked"), 0, 0, steps)


async def test_runs_are_listed_the_latest_first_with_their_steps(journal: Journal) -> None:
    for place, (name, owner, session) in enumerate(
        [("a", "key", None), ("b", "key", "s"), ("c", "other", "s"), ("d", "key", "s 2")]
    ):
        record = replace(run(name, owner, session=session), created_ms=1_000_000 + place)
        hold = (await claimed(journal, record)).hold
        await journal.write(Write(hold, (DONE,), Standing("completed"), ends=True))

    async def names(sought: Sought) -> str:
        found = await journal.listed(sought)
        assert all(list(one.steps) == [DONE] for one in found)
        return "".join(one.record.name.run for one in found)

    assert await names(Sought("key")) == "dba"
    assert await names(Sought(None)) == "dcba"
    assert await names(Sought("key", "s")) == "b"
    assert await names(Sought("key", grouped=True)) == "db"
    assert await names(Sought("key", limit=1)) == "d"
    assert await names(Sought("nobody")) == ""


NAMES = ("a", "B", "b", "ä", "run 10", "run 9", "Z", "_", "😀", "\uff5e")


@pytest.mark.parametrize("owner", ["key", None])
async def test_pages_have_each_run_once_also_of_one_instant_and_while_others_begin(
    journal: Journal, owner: str | None
) -> None:
    told = [(whose, name) for whose in ("key", "other", "Key") for name in NAMES]
    for place, (whose, name) in enumerate(told):
        await journal.put(put(replace(run(name, whose), created_ms=1_000_000 + place % 3)))
    expected = [one for one in told if owner in (None, one[0])]
    found: list[Place] = []
    sought = Sought(owner, limit=4)
    while page := await journal.listed(sought):
        found += [place_of(stored.record) for stored in page]
        assert len(page) == 4 or len(found) == len(expected)
        sought = replace(sought, after=found[-1])
        late = replace(run(f"late {len(found)}"), created_ms=2_000_000)
        await journal.put(put(late))
    assert sorted((one.owner, one.run) for one in found) == sorted(expected)
    assert found == sorted(found, reverse=True)


async def test_a_page_may_begin_after_a_run_that_is_gone(journal: Journal) -> None:
    for place, name in enumerate("abcd"):
        record = replace(run(name, session="s"), created_ms=1_000_000 + place)
        await journal.put(put(record))
    after = Place(1_000_002, "key", "c")
    await journal.forget([RunName("key", "c")])
    found = await journal.listed(Sought("key", "s", after=after))
    assert [one.record.name.run for one in found] == ["b", "a"]
    assert await journal.listed(Sought("key", after=Place(1_000_000, "key", "a"))) == []


async def test_runs_are_listed_by_how_they_stand(journal: Journal) -> None:
    states: dict[str, RunState] = {"a": "suspended", "b": "completed", "d": "suspended"}
    for place, name in enumerate("abcd"):
        record = replace(run(name, session=None if name == "d" else "s"), created_ms=place)
        hold = (await claimed(journal, record)).hold
        if state := states.get(name):
            await journal.write(Write(hold, (DONE,), Standing(state), ends=True))

    async def names(*states: RunState, session: str | None = None) -> str:
        found = await journal.listed(Sought("key", session, states=states))
        return "".join(one.record.name.run for one in found)

    assert await names("suspended") == "da"
    assert await names("executing", "suspended") == "dca"
    assert await names("executing", "suspended", session="s") == "ca"
    assert await names("failed") == ""
    assert await names() == "dcba"


async def test_a_run_that_was_over_and_goes_on_is_listed_as_one_that_does(
    journal: Journal,
) -> None:
    async def listed() -> list[str]:
        found = await journal.listed(Sought(None, states=("executing", "suspended")))
        return [one.record.name.run for one in found]

    hold = (await claimed(journal, run())).hold
    assert await listed() == ["run"]
    await journal.write(Write(hold, (), Standing("failed"), ends=True))
    assert await listed() == []
    again = await journal.claim(claim(run(), again=True))
    assert isinstance(again, Claimed)
    assert await listed() == ["run"]
    await journal.write(Write(again.hold, (), Standing("completed"), ends=True))
    assert await journal.put(put(run("brought"))) is None
    assert await listed() == []
    assert (await claimed(journal, run("brought"))).stored.steps
    assert await listed() == ["brought"]
    await journal.forget([RunName("key", "brought")])
    assert await listed() == []


async def test_redis_looks_only_at_runs_that_are_not_over_for_those_that_are_not(
    valkey: Valkey, clock: Clock
) -> None:
    client = Redis.from_url(valkey.url)
    await client.flushall()
    journal = RedisJournal(client, "test", clock=clock)
    for number in range(50):
        hold = (await claimed(journal, run(f"over{number}"))).hold
        await journal.write(Write(hold, (), Standing("completed"), ends=True))
    hold = (await claimed(journal, run("away"))).hold
    await journal.write(Write(hold, (), Standing("suspended"), ends=True))
    await client.config_resetstat()

    found = await journal.listed(Sought(None, states=("executing", "suspended")))

    stats = await client.info("commandstats")
    calls = {name: each["calls"] for name, each in stats.items() if "config" not in name}
    await client.aclose()
    assert [one.record.name.run for one in found] == ["away"]
    assert sum(calls.values()) < 10


async def test_a_run_that_is_put_in_is_found_as_it_was_and_can_be_claimed(
    journal: Journal,
) -> None:
    record = run(origin=RunName("elsewhere", "run"), checkpoint={"step": 3, "extra": {"a": [1]}})
    brought = put(record, "one", "two")
    assert await journal.put(brought) is None
    found = await journal.find(record.name)
    assert found is not None
    assert (found.record, found.standing, found.lease_ms) == (record, brought.standing, 0)
    assert sorted(found.steps, key=lambda one: one.path) == list(brought.steps)
    assert len((await claimed(journal, record)).stored.steps) == 2


async def test_a57_what_is_there_is_not_replaced_unless_that_is_said(journal: Journal) -> None:
    assert await journal.put(put(run(body="old"), "old")) is None
    there = await journal.put(put(run(body="new"), "new"))
    assert there is not None
    assert (there.record.body, [one.path for one in there.steps]) == ("old", ["old"])
    assert await journal.put(put(run(body="new"), "new"), replaces=True) is None
    found = await journal.find(RunName("key", "run"))
    assert found is not None
    assert (found.record.body, [one.path for one in found.steps]) == ("new", ["new"])


async def test_a_run_that_somebody_is_at_work_on_is_not_replaced(
    journal: Journal, clock: Clock
) -> None:
    hold = (await claimed(journal, run())).hold
    assert await journal.put(put(run()), replaces=True) is not None
    clock.now += LEASE_MS
    assert await journal.put(put(run()), replaces=True) is None
    with pytest.raises(StaleToken):
        await journal.write(Write(hold, (step("late"),)))


async def test_of_many_that_put_a_run_in_at_once_one_does(journal: Journal) -> None:
    answers = []

    async def bring(number: int) -> None:
        answers.append(await journal.put(put(run(), f"step{number}")))

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(bring, number)
    assert answers.count(None) == 1
    found = await journal.find(RunName("key", "run"))
    assert found is not None
    assert len(found.steps) == 1


async def test_a57_a_fork_is_not_found_by_the_body_of_its_parent(journal: Journal) -> None:
    fork = run("fork", parent="run")
    assert await journal.put(put(fork)) is None
    new = await claimed(journal, run("asked"), "any")
    assert new.is_new
    again = await claimed(journal, fork)
    assert not again.is_new
    await journal.write(Write(again.hold, record=fork, standing=Standing("suspended"), ends=True))
    assert (await claimed(journal, run("asked too"), "waiting")).is_new


async def test_runs_that_are_forgotten_are_gone_with_their_steps(journal: Journal) -> None:
    for name in ("one", "two", "three"):
        hold = (await claimed(journal, run(name))).hold
        await journal.write(Write(hold, (DONE,), Standing("suspended"), ends=True))
    names = [RunName("key", name) for name in ("one", "two", "none")]
    assert await journal.forget(names) == 2
    assert [one.record.name.run for one in await journal.listed(Sought("key"))] == ["three"]
    assert list((await claimed(journal, run("one"))).stored.steps) == []


async def test_who_is_at_work_on_a_run_that_was_forgotten_writes_to_none_of_its_name(
    journal: Journal,
) -> None:
    old = await claimed(journal, run())
    await journal.erase("key")
    late = replace(run(), created_ms=1_000_500)
    new = await journal.claim(claim(late))
    assert isinstance(new, Claimed)
    assert new.is_new
    with pytest.raises(StaleToken):
        await journal.write(Write(old.hold, (step("late"),)))
    assert list(await journal.renew([old.hold], LEASE_MS)) == [old.hold]
    await journal.write(Write(new.hold, (step(),)))


async def test_what_is_forgotten_or_old_is_in_no_list(journal: Journal, clock: Clock) -> None:
    await journal.put(put(run("old", session="s")))
    clock.now += 100_000
    await journal.put(put(run("young", session="s")))
    if type(journal).__name__ == "RedisJournal":
        await journal.forget([RunName("key", "old")])  # there it goes by itself: see below
    else:
        assert await journal.purge(clock.now - 50_000) == 1
    for sought in (Sought("key"), Sought(None), Sought("key", "s")):
        assert [one.record.name.run for one in await journal.listed(sought)] == ["young"]
    assert list((await claimed(journal, run("old"))).stored.steps) == []


@pytest.fixture
async def client(valkey: Valkey) -> AsyncIterator[Redis]:
    """Return a client of an empty server."""
    opened = Redis.from_url(valkey.url)
    await opened.flushall()
    yield opened
    await opened.aclose()


PREFIX = "a[b]*?"  # which stands for itself


async def test_redis_keeps_nothing_beyond_the_retention(client: Redis) -> None:
    journal = RedisJournal(client, PREFIX, keep_s=0.1)
    for number in range(60):
        with suppress(StaleToken):  # on a slow machine one is gone before it is written
            hold = (await claimed(journal, run(f"r{number}", background=True))).hold
            await journal.write(Write(hold, (DONE,), Standing("completed"), ends=True))
        await anyio.sleep(0.01)
    assert await client.scard(f"{PREFIX}:runs:owner:key") < 50, "names of the dead pile up"
    with anyio.fail_after(PATIENCE_S):
        while await client.keys():  # noqa: ASYNC110 - the server tells nobody
            await anyio.sleep(0.01)


async def test_redis_keeps_nothing_of_who_is_erased_though_nothing_leads_to_it(
    client: Redis,
) -> None:
    journal = RedisJournal(client, PREFIX)
    for owner in ("key", "key 2"):
        await journal.put(put(run("one", owner, background=True)))
        await claimed(journal, run("two", owner, session="s"))
    await client.delete(f"{PREFIX}:runs:owner:key")  # as when one died before it had noted it
    assert await journal.erase("key") == 2
    left = {text(key) for key in await client.keys()}
    background, live = f"{PREFIX}:runs:background", f"{PREFIX}:runs:live"
    assert len(left) == 6
    assert all("key%202" in key for key in left - {background, live}), left
    assert await client.smembers(background) == {b"key%202 one"}
    assert await client.smembers(live) == {b"key%202 one", b"key%202 two"}
