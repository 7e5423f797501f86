from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from router_service.evaluation.grading import Question
from router_service.evaluation.records import UNREACHED, RecordFile
from router_service.evaluation.running import Plan, left, run
from techniques.core.json import JsonObject
from techniques.core.request import Request
from techniques.testing import ScriptedChannel
from tests.router_service.evaluation.world import (
    FakeCaller,
    Say,
    grader,
    log_of,
    marks,
    plan,
    questions,
    right,
    sums,
    wrong,
)

THREE: dict[str, Say] = {"a": right, "b": wrong, "c": right}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RecordFile]:
    opened = RecordFile(tmp_path / "r.jsonl")
    yield opened
    opened.close()


def _again(file: RecordFile) -> RecordFile:
    """Return the file as another process finds it."""
    path = Path(str(file._file.name))
    file.close()
    return RecordFile(path)


async def test_all_answer_a_prompt_before_the_next_in_an_order_that_is_drawn(
    file: RecordFile,
) -> None:
    one = plan(THREE, questions(*sums(12)), parallel=1, repeats=2)
    await run(one, file)
    log = log_of(one)
    assert len(log) == len(set(log)) == 12 * 3 * 2
    trios = [log[at : at + 3] for at in range(0, len(log), 3)]
    assert all(len({entry.rpartition("/")[0] for entry in trio}) == 1 for trio in trios)
    orders = {tuple(entry.rpartition("/")[2] for entry in trio) for trio in trios}
    assert len(orders) == 6


async def test_the_order_is_that_of_the_seed(file: RecordFile) -> None:
    asked = questions(*sums(8))
    keys = [[job.key for job in plan(THREE, asked, seed=seed).jobs()] for seed in (1, 1, 2)]
    assert keys[0] == keys[1] != keys[2]


async def test_no_more_than_so_many_are_asked_at_a_time(file: RecordFile) -> None:
    one = plan({"a": right}, questions(*sums(20)), parallel=3)
    await run(one, file)
    caller = one.contestants[0].caller
    assert isinstance(caller, FakeCaller)
    assert caller.most_busy == 3


async def test_what_was_stopped_goes_on_and_nothing_is_asked_twice(file: RecordFile) -> None:
    asked = questions(*sums(10))
    one = plan(THREE, asked, parallel=2)
    with anyio.move_on_after(6.5):
        await run(one, file)
    before = len(file.records.answers)
    assert 0 < before < 30
    file = _again(file)
    other = plan(THREE, asked, parallel=2)
    assert len(left(other, file.records)) == 30 - before
    await run(other, file)
    assert len(log_of(other)) == 30 - before
    assert len(file.records.answers) == len(file.records.grades) == 30
    assert left(other, file.records) == []
    file.close()


async def test_who_was_not_there_is_asked_again_and_who_failed_is_not(file: RecordFile) -> None:
    def gone(question: Question, repeat: int) -> JsonObject:
        del repeat
        even = int(question.prompt.reference or 0) % 2 == 0
        return {"error": "No.", "error_kind": UNREACHED if even else "transport"}

    asked = questions(*sums(6))
    first = plan({"a": gone}, asked)
    await run(first, file)
    assert len(file.records.answers) == len(file.records.grades) == 6
    file = _again(file)
    again = plan({"a": right}, asked)
    assert len(left(again, file.records)) == 3
    await run(again, file)
    assert [entry.partition("/")[0] for entry in log_of(again)] == ["q1", "q3", "q5"]
    assert left(again, file.records) == []
    assert sum(grade.quality or 0 for grade in file.records.grades.values()) == 3
    file.close()


async def test_an_answer_without_a_mark_is_only_marked(file: RecordFile) -> None:
    asked = questions(*sums(4))
    await run(plan({"a": right}, asked), file)
    file.records.grades.clear()
    again = plan({"a": right}, asked)
    await run(again, file)
    assert log_of(again) == []
    assert len(file.records.grades) == 4


async def test_another_grader_marks_the_same_answers_anew(file: RecordFile) -> None:
    await run(plan({"a": right}, questions(*sums(4))), file)
    changed = [{**row, "reference": -1} for row in sums(4)]
    again = plan({"a": right}, questions(*changed))
    await run(again, file)
    assert log_of(again) == []
    found = [file.records.grades[job.key, again.grader.hash(job.question)] for job in again.jobs()]
    assert [one.quality for one in found] == [0.0] * 4


async def test_a_configuration_that_has_changed_is_asked_anew(file: RecordFile) -> None:
    asked = questions(*sums(4))
    await run(plan({"a": right}, asked), file)
    again = plan({"a": right}, asked)
    stated = again.contestants[0].configuration.model_copy(update={"model": "other"})
    again = replace(again, contestants=[replace(again.contestants[0], configuration=stated)])
    assert len(left(again, file.records)) == 4


async def test_somebody_is_told_how_far_it_is(file: RecordFile) -> None:
    asked = questions(*sums(3))
    seen: list[tuple[int, int]] = []
    one = plan({"a": right, "b": right}, asked, parallel=1)
    await run(one.watched(lambda done, total: seen.append((done, total))), file)
    assert seen == [(done, 6) for done in range(7)]


async def test_a_mistake_of_ours_ends_it_and_keeps_what_was_done(file: RecordFile) -> None:
    def broken(question: object, repeat: int) -> str:
        if len(file.records.answers) == 3:
            raise ZeroDivisionError
        return "4"

    with pytest.raises(ZeroDivisionError):
        await run(plan({"a": broken}, questions(*sums(9)), parallel=1), file)
    assert len(file.records.answers) == 3


def _judged(verdict: str = "1") -> tuple[Plan, ScriptedChannel]:
    def script(request: Request) -> str:
        if "Two answers" in f"{request.messages}":
            return json.dumps({"winner": verdict})
        return marks(compared=True)

    judge = ScriptedChannel(script)
    asked = questions(*sums(30), strategy="blended")
    return plan({"a": right, "b": wrong}, asked, grader=grader("blended", judge)), judge


async def test_a_judge_is_asked_some_things_twice_and_both_ways(file: RecordFile) -> None:
    one, judge = _judged()
    await run(one, file)
    assert len(file.records.rescores) == 10
    assert len(file.records.swaps) == 20
    assert {(row.as_given, row.swapped) for row in file.records.swaps.values()} == {
        ("first", "first")
    }
    asked = len(judge.asked)
    await run(one, file)
    assert len(judge.asked) == asked


async def test_where_nothing_is_judged_nothing_is_audited(file: RecordFile) -> None:
    judge = ScriptedChannel(lambda _: marks())
    one = plan({"a": right, "b": wrong}, questions(*sums(5)), grader=grader("exact", judge))
    await run(one, file)
    assert judge.asked == []
