"""People are asked so often and no more, and decide as themselves; A-72 and A-74."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from gateway.attention.attending import Go, Hold, Suspend
from gateway.attention.board import Question
from gateway.attention.memory import MemoryApprovals
from gateway.attention.questions import SECOND, Ask, Decision
from gateway.attention.rounds import asked_now
from gateway.stores.database.records import NotThere, Taken
from techniques.core.errors import Denied, KeyLimited, RequestRejected
from techniques.core.groups import task_group
from tests.gateway.attention.scene import APP, EPOCH, OTHER, YES, Scene, clock, person


async def test_a_person_is_asked_three_times_and_then_when_the_first_is_an_hour_old() -> None:
    scene = Scene()
    verdicts = []
    for number in range(3):
        await scene.ask(f"{number}?")
        verdicts.append(await scene.board.attending.verdict(scene.ana))
        await anyio.sleep(60)

    late = await scene.ask("3?")
    await anyio.sleep(3600 - 180 - 0.01)
    await scene.asking.beat()
    early = await scene.board.one(late.id, APP)
    await anyio.sleep(0.02)
    await scene.asking.beat()

    assert verdicts == [Go(2), Go(1), Hold(EPOCH + 3600 * SECOND)]
    assert (late.asked_at, early.asked_at) == (None, None)
    assert (await scene.board.one(late.id, APP)).asked_at is not None


async def test_who_makes_a_question_that_is_being_asked_waits_until_it_is() -> None:
    scene = Scene(persons=(person(asks=1),), store=_Slow())
    made = await scene.board.ask(APP, Question("ana", "Deploy?"))

    async with task_group() as group:
        group.start_soon(scene.asking.beat)
        await anyio.sleep(0.5)  # it has taken the only time, and is about to write it down
        await asked_now(scene.board, scene.ana)
        seen = await scene.board.one(made.id, APP)

    assert seen.asked_at is not None


class _Slow(MemoryApprovals):
    """Takes a second to write down that a question is asked."""

    async def begin(self, ask: Ask, hashes: Sequence[str]) -> bool:
        await anyio.sleep(1)
        return await super().begin(ask, hashes)


async def test_being_away_leaves_nothing_and_being_available_clears_it() -> None:
    scene = Scene()

    away = await scene.board.be_away(scene.ana, None)
    waits = await scene.ask("Deploy?")
    back = await scene.board.be_available(scene.ana)
    await scene.asking.beat()

    assert (away, waits.asked_at, back) == (Suspend(), None, Go(3))
    assert (await scene.board.one(waits.id, APP)).asked_at is not None


async def test_an_absence_with_an_end_ends_by_the_clock() -> None:
    scene = Scene()

    away = await scene.board.be_away(scene.ana, clock() + 600 * SECOND)
    await scene.ask("Deploy?")
    await anyio.sleep(599)
    still = await scene.board.attending.verdict(scene.ana)
    await anyio.sleep(1)
    over = await scene.board.attending.verdict(scene.ana)

    assert away == still == Hold(EPOCH + 600 * SECOND)
    assert over == Go(3)


async def test_who_is_away_and_was_asked_often_is_there_when_both_are_over() -> None:
    scene = Scene()
    for number in range(3):
        await scene.ask(f"{number}?")

    verdict = await scene.board.be_away(scene.ana, clock() + 60 * SECOND)

    assert verdict == Hold(EPOCH + 3600 * SECOND)


async def test_an_absence_must_end_in_the_future() -> None:
    scene = Scene()

    with pytest.raises(RequestRejected):
        await scene.board.be_away(scene.ana, clock())


async def test_what_waits_is_asked_in_one_digest() -> None:
    scene = Scene((person(asks=1),))
    await scene.ask("first?")
    for number in range(5):
        await scene.ask(f"{number}?")
        await anyio.sleep(1)

    await anyio.sleep(3600)
    await scene.asking.beat()

    assert await scene.asked() == [{"first?"}, {f"{number}?" for number in range(5)}]
    assert scene.count("lockgate_asks_total", form="digest") == 1
    assert scene.count("lockgate_asks_waiting") == 0


async def test_what_is_urgent_goes_before_the_digest() -> None:
    scene = Scene((person(asks=1),))
    for question, urgent in (("first?", False), ("a?", False), ("fire?", True), ("b?", False)):
        await scene.ask(question, urgent=urgent)

    for _ in range(2):
        await anyio.sleep(3600)
        await scene.asking.beat()

    assert await scene.asked() == [{"first?"}, {"fire?"}, {"a?", "b?"}]


async def test_identical_questions_are_asked_once_and_one_answer_is_for_all() -> None:
    scene = Scene()

    asked = [await scene.ask("Deploy?") for _ in range(4)]
    await scene.board.decide(scene.ana, asked[0].id, replace(YES, at=clock(), note="go on"))

    found = [await scene.board.one(it.id, APP) for it in asked]
    assert {(it.state, it.note) for it in found} == {("approved", "go on")}
    assert len({it.ask for it in found}) == 1
    assert await scene.board.attending.verdict(scene.ana) == Go(2)


async def test_a_person_sees_identical_questions_once() -> None:
    scene = Scene()
    for _ in range(3):
        await scene.ask("Deploy?")

    assert len(await scene.board.listed(scene.ana, "pending", 10)) == 1
    assert len(await scene.board.listed(APP, "pending", 10)) == 3


async def test_the_same_words_of_another_tenant_are_another_question() -> None:
    scene = Scene()
    own, other = await scene.ask("Deploy?"), await scene.ask("Deploy?", OTHER)

    await scene.board.decide(scene.ana, own.id, replace(YES, at=clock()))

    assert (await scene.board.one(other.id, OTHER)).state == "pending"


async def test_a_question_that_is_asked_again_after_its_answer_is_asked_again() -> None:
    scene = Scene()
    first = await scene.ask("Deploy?")
    await scene.board.decide(scene.ana, first.id, Decision("rejected", clock()))

    again = await scene.ask("Deploy?")

    assert again.state == "pending"
    assert again.ask != first.ask


async def test_a_question_that_one_asker_takes_back_stands_for_the_others() -> None:
    scene = Scene()
    first, second = [await scene.ask("Deploy?") for _ in range(2)]

    gone = await scene.board.withdraw(APP, first.id)

    assert gone.state == "withdrawn"
    assert (await scene.board.one(second.id, APP)).state == "pending"
    with pytest.raises(Taken):
        await scene.board.withdraw(APP, first.id)


async def test_a_question_that_nobody_answers_expires_to_the_second() -> None:
    scene = Scene()
    asked = await scene.ask("Deploy?", expires_s=100)

    await anyio.sleep(99.999)
    before = await scene.board.one(asked.id, APP)
    await anyio.sleep(0.001)
    after = await scene.board.one(asked.id, APP)
    await scene.asking.beat()
    await scene.asking.beat()

    assert (before.state, after.state) == ("pending", "expired")
    assert scene.count("lockgate_approvals_total", kind="question", state="expired") == 1
    with pytest.raises(Taken, match="expired already"):
        await scene.board.decide(scene.ana, asked.id, replace(YES, at=clock()))


async def test_a_decision_is_made_once() -> None:
    scene = Scene()
    asked = await scene.ask("Deploy?")
    await scene.board.decide(scene.ana, asked.id, replace(YES, at=clock()))

    with pytest.raises(Taken, match="approved already"):
        await scene.board.decide(scene.ana, asked.id, Decision("rejected", clock()))


async def test_a_question_with_options_is_answered_by_one_of_them() -> None:
    scene = Scene()
    asked = await scene.ask("When?", options=("now", "later"))

    for option in (None, "never"):
        with pytest.raises(RequestRejected):
            await scene.board.decide(scene.ana, asked.id, Decision("approved", clock(), option))
    decided = await scene.board.decide(scene.ana, asked.id, Decision("approved", clock(), "later"))

    assert (decided.state, decided.option) == ("approved", "later")


async def test_nobody_decides_or_sees_what_somebody_else_was_asked() -> None:
    scene = Scene((person("ana"), person("ben")))
    asked = await scene.ask("Deploy?")
    ben = scene.persons[1]

    for attempt in (
        scene.board.decide(ben, asked.id, replace(YES, at=clock())),
        scene.board.one(asked.id, OTHER),
        scene.board.withdraw(OTHER, asked.id),
    ):
        with pytest.raises(NotThere):
            await attempt
    assert await scene.board.listed(ben, None, 10) == []
    assert await scene.board.listed(OTHER, None, 10) == []


async def test_only_somebody_with_a_token_of_their_own_is_a_person() -> None:
    scene = Scene()

    ana = scene.board.persons.who({"authorization": "Bearer ana-token"})
    for headers in ({}, {"authorization": "Bearer app"}, {"x-person": "ana", "x-api-key": "ana"}):
        with pytest.raises(Denied):
            scene.board.must_be_person(scene.board.persons.who(headers))

    assert ana is scene.ana


async def test_there_must_be_such_a_person() -> None:
    with pytest.raises(RequestRejected) as refused:
        await Scene().board.ask(APP, Question("bob", "Deploy?"))

    assert refused.value.param == "person"


async def test_a_tenant_has_so_many_questions_open_and_no_more() -> None:
    scene = Scene()
    for number in range(1000):
        await scene.board.ask(APP, Question("ana", f"{number}?"))

    with pytest.raises(KeyLimited):
        await scene.board.ask(APP, Question("ana", "one more?"))
    other = await scene.board.ask(OTHER, Question("ana", "one more?"))
    assert other.state == "pending"


async def test_who_waits_for_a_decision_has_it_at_once() -> None:
    scene = Scene()
    asked = await scene.ask("Deploy?")
    told: list[tuple[str, float]] = []

    async def wait() -> None:
        found = await scene.board.one(asked.id, APP, wait_s=50)
        told.append((found.state, anyio.current_time()))

    async with task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(10.25)
        await scene.board.decide(scene.ana, asked.id, replace(YES, at=clock()))

    assert told == [("approved", 10.25)]


async def test_who_waits_is_told_how_it_stands_when_the_time_is_over_or_it_expires() -> None:
    scene = Scene()
    long, short = await scene.ask("long?"), await scene.ask("short?", expires_s=20.5)

    waited = await scene.board.one(long.id, APP, wait_s=10)
    then = anyio.current_time()
    expired = await scene.board.one(short.id, APP, wait_s=50)

    assert (waited.state, then) == ("pending", 10)
    assert expired.state == "expired"
    assert anyio.current_time() == pytest.approx(20.5, abs=0.01)


async def test_a_person_who_waits_is_told_when_they_are_asked() -> None:
    scene = Scene()
    await scene.board.be_away(scene.ana, clock() + 40 * SECOND)
    await scene.ask("Deploy?")

    async with task_group() as group:
        group.start_soon(scene.asking.serve)
        found = await scene.board.listed(scene.ana, "pending", 10, wait_s=50)
        group.cancel_scope.cancel()

    assert [it.question for it in found] == ["Deploy?"]
    assert anyio.current_time() == pytest.approx(40, abs=1.1)


async def test_a_restart_makes_nobody_be_asked_more_often() -> None:
    scene = Scene()
    for number in range(3):
        await scene.ask(f"{number}?")
        await anyio.sleep(100)

    restarted = Scene(store=scene.board.store)

    assert await restarted.board.attending.verdict(restarted.ana) == Hold(EPOCH + 3600 * SECOND)


async def test_two_replicas_that_share_the_questions_ask_together_three_times() -> None:
    one = Scene()
    two = Scene(store=one.board.store)

    for number in range(4):
        for scene in (one, two):
            await scene.ask(f"{number} of {id(scene)}?")

    assert len(await one.asked()) == 3


async def test_what_ended_long_ago_is_forgotten() -> None:
    scene = Scene()
    asked = await scene.ask("Deploy?", expires_s=10)

    await anyio.sleep(31 * 86_400)
    await scene.asking.beat()
    await anyio.sleep(600)
    await scene.asking.beat()

    with pytest.raises(NotThere):
        await scene.board.one(asked.id, APP)
