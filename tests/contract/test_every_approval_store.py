"""What keeps questions does so in the same way: memory, SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.attention.memory import MemoryApprovals
from gateway.attention.questions import SECOND, Absence, ApprovalStore, Ask, Decision, Sought
from gateway.attention.tables import ApprovalTables
from gateway.stores.database.engine import opened
from techniques.core.groups import task_group
from tests.gateway.attention.scene import EPOCH, approval
from tests.services.postgres import Postgres

LATER = EPOCH + SECOND
DAY = 86_400 * SECOND


@pytest.fixture
def anyio_backend() -> str:
    """SQLAlchemy runs on asyncio alone."""
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ApprovalStore]:
    """Open an empty store of each kind."""
    if request.param == "memory":
        yield MemoryApprovals()
        return
    url = f"sqlite+aiosqlite:///{tmp_path}/lockgate.db"
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        url = server.database()
    async with opened(url) as database:
        yield ApprovalTables(database)


async def names(store: ApprovalStore, sought: Sought | None = None) -> list[str]:
    return [it.id for it in await store.find(sought or Sought(), LATER)]


async def test_a_question_comes_back_as_it_was_kept(store: ApprovalStore) -> None:
    full = approval("full", detail="all of it", urgent=True, options=("ä", "b"))
    open_ = approval("open", key=None, options=())

    await store.add(full)
    await store.add(open_)

    assert await store.get("full") == full
    assert await store.get("open") == open_
    assert await store.get("none") is None


async def test_questions_are_found_by_whom_whose_and_how_they_stand(store: ApprovalStore) -> None:
    await store.add(approval("a", created_at=EPOCH))
    await store.add(approval("b", created_at=EPOCH + 1, person="ben"))
    await store.add(approval("c", created_at=EPOCH + 2, tenant="key:other"))
    await store.add(approval("late", created_at=EPOCH + 3, expires_at=LATER))
    await store.decide("hash-a", Decision("rejected", LATER, "now", "why"))

    assert await names(store) == ["late", "c", "b", "a"]
    assert await names(store, Sought(limit=2)) == ["late", "c"]
    assert await names(store, Sought(person="ben")) == ["b"]
    assert await names(store, Sought(tenant="key:other")) == ["c"]
    assert await names(store, Sought(state="pending")) == ["c", "b"]
    assert await names(store, Sought(state="expired")) == ["late"]
    assert await names(store, Sought(state="rejected", person="ana")) == ["a"]
    assert await store.count_pending("key:app", LATER) == 1


async def test_a_decision_is_for_all_that_are_pending_with_its_hash(store: ApprovalStore) -> None:
    for name in "abc":
        await store.add(approval(name, hash="same"))
    await store.add(approval("d"))
    await store.add(approval("late", hash="same", expires_at=LATER))
    await store.withdraw("c", LATER)

    decided = await store.decide("same", Decision("approved", LATER, "now", "go on"))
    again = await store.decide("same", Decision("rejected", LATER + 1))

    assert {(it.id, it.state, it.option, it.note, it.decided_at) for it in decided} == {
        (name, "approved", "now", "go on", LATER) for name in "ab"
    }
    assert again == []
    kept = await store.get("b")
    assert kept in decided


async def test_only_a_pending_question_can_be_withdrawn(store: ApprovalStore) -> None:
    await store.add(approval("a"))
    await store.add(approval("late", expires_at=LATER))

    answers = [await store.withdraw(name, LATER) for name in ("a", "a", "late", "none")]

    assert answers == [True, False, False, False]


async def test_each_question_expires_once(store: ApprovalStore) -> None:
    await store.add(approval("a"))
    await store.add(approval("late", expires_at=LATER))

    early, first, second = [await store.expire(at) for at in (LATER - 1, LATER, LATER + 1)]

    assert (early, second) == ([], [])
    assert [(it.id, it.state, it.decided_at) for it in first] == [("late", "expired", LATER)]


async def test_what_waits_is_asked_once(store: ApprovalStore) -> None:
    await store.add(approval("b", created_at=EPOCH + 1))
    await store.add(approval("a"))
    await store.add(approval("late", expires_at=LATER))

    before = [it.id for it in await store.waiting(LATER)]
    asked = await store.begin(Ask("one", "ana", LATER), ["hash-a", "hash-late"])
    again = await store.begin(Ask("two", "ana", LATER), ["hash-a"])

    assert before == ["a", "b"]
    assert (asked, again) == (True, False)
    assert [it.id for it in await store.waiting(LATER)] == ["b"]
    (told,) = await store.of_ask("one", LATER)
    assert (told.id, told.ask, told.asked_at) == ("a", "one", LATER)
    assert await store.asked_since("ana", EPOCH) == [LATER]
    assert await store.asked_since("ana", LATER) == []
    assert await store.asked_since("ben", EPOCH) == []


async def test_an_identical_question_joins_one_that_was_asked(store: ApprovalStore) -> None:
    await store.add(approval("a", hash="same"))
    await store.begin(Ask("one", "ana", LATER), ["same"])
    await store.add(approval("b", hash="same", created_at=LATER + 1))
    await store.decide("same", Decision("approved", LATER + 2))
    await store.add(approval("c", hash="same", created_at=LATER + 3))

    joined, anew = await store.get("b"), await store.get("c")

    assert joined is not None
    assert (joined.ask, joined.asked_at) == ("one", LATER)
    assert anew is not None
    assert anew.ask is None


async def test_however_many_begin_to_ask_at_once_one_does(store: ApprovalStore) -> None:
    begun: list[bool] = []

    async def add(number: int) -> None:
        await store.add(approval(f"{number}", hash="same"))

    async def begin(number: int) -> None:
        begun.append(await store.begin(Ask(f"ask-{number}", "ana", LATER), ["same"]))

    await store.add(approval("first", hash="same"))
    async with task_group() as group:
        for number in range(4):
            group.start_soon(add, number)
            group.start_soon(begin, number)

    found = await store.find(Sought(), LATER)
    assert begun.count(True) == 1
    assert len({it.ask for it in found}) == 1
    assert len(await store.asked_since("ana", EPOCH)) == 1


async def test_an_ask_is_told_of_by_one_and_again_when_it_is_due(store: ApprovalStore) -> None:
    await store.add(approval("a"))
    ask = Ask("one", "ana", EPOCH, due_at=EPOCH)
    await store.begin(ask, ["hash-a"])

    due = await store.due(EPOCH)
    claims = [await store.attempt(due[0], LATER) for _ in range(2)]
    between = await store.due(LATER - 1)
    await store.put_off("one", LATER - 1)
    (again,) = await store.due(LATER - 1)
    last = await store.attempt(again, None)

    assert due == [ask]
    assert claims == [True, False]
    assert (between, again.attempts, last) == ([], 1, True)
    assert await store.due(LATER + DAY) == []


async def test_an_ask_that_was_delivered_is_not_told_of_again(store: ApprovalStore) -> None:
    await store.add(approval("a"))
    ask = Ask("one", "ana", EPOCH, due_at=EPOCH)
    await store.begin(ask, ["hash-a"])

    await store.delivered("one", LATER)

    assert await store.due(LATER + DAY) == []
    assert not await store.attempt(ask, LATER)


async def test_the_last_absence_of_a_person_is_known(store: ApprovalStore) -> None:
    await store.set_absence("ana", Absence("ana", EPOCH))
    first = await store.absence("ana")
    await store.set_absence("ana", Absence("ana", EPOCH + 1, LATER))
    second = await store.absence("ana")
    await store.set_absence("ana", None)

    assert first == Absence("ana", EPOCH)
    assert second == Absence("ana", EPOCH + 1, LATER)
    assert await store.absence("ana") is None
    assert await store.absence("ben") is None


async def test_what_ended_before_is_forgotten_and_what_is_open_is_not(store: ApprovalStore) -> None:
    for name in "abc":
        await store.add(approval(name, created_at=EPOCH))
    await store.begin(Ask("one", "ana", EPOCH), ["hash-a"])
    await store.decide("hash-a", Decision("approved", EPOCH + 1))
    await store.decide("hash-b", Decision("approved", LATER))

    await store.forget(LATER)

    assert sorted(await names(store)) == ["b", "c"]
    assert await store.asked_since("ana", 0) == []
