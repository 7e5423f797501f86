from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bench.runs.fleet import Client
from bench.runs.provider import Call
from bench.runs.verdict import Books, Verdict, judge
from gateway.stores.journal.records import Standing, StepRecord

CALL = Call(1000, "0", "asked", 20, began=1, done=2)
ROW = SimpleNamespace(
    run="run-0",
    step="c0",
    input_tokens=1000,
    output_tokens=20,
    cost=1000 * 3 * 10**6 + 20 * 15 * 10**6,
    outcome="ok",
    estimated=False,
)
EXPECTED = {0: "42"}


def client(text: str | None = "42") -> Client:
    return Client(0, "baseline", named=True, streams=False, seed=1, text=text, run="run-0")


def books(*rows: Any, **standing: Any) -> Books:
    stands = Standing(**{"state": "completed", **standing})
    step = StepRecord("p", "k", state="completed", tokens=(1000, 20))
    spent = sum(row.cost for row in rows)
    return Books({"run-0": stands}, {"run-0": [step]}, rows, spent, 0)


def verdict(*calls: Call, found: Books | None = None, text: str | None = "42") -> Verdict:
    return judge([client(text)], EXPECTED, calls, found or books(ROW))


def row(**changes: Any) -> Any:
    return SimpleNamespace(**{**vars(ROW), **changes})


def test_a_run_whose_call_was_paid_once_is_right() -> None:
    found = verdict(CALL)

    assert not found.wrong
    assert (found.steps, found.twice, found.lost, found.off_books) == (1, 0, 0, 0)


def test_a_call_that_asks_what_was_settled_before_it_is_paid_twice() -> None:
    later = replace(CALL, number=1001, began=3, done=4)

    found = verdict(CALL, later, found=books(ROW, ambiguous=1))

    assert found.twice == 1
    assert "1 settled steps were paid twice" in found.wrong


def test_a_call_that_was_lost_before_its_step_was_settled_is_not_paid_twice() -> None:
    before = replace(CALL, number=999, began=0, done=3)
    guess = row(input_tokens=0, output_tokens=0, cost=7, outcome="ambiguous", estimated=True)

    found = verdict(before, CALL, found=books(ROW, guess, ambiguous=1))

    assert not found.wrong
    assert (found.twice, found.lost, found.off_books, found.guessed) == (0, 1, 1, 1)


def test_an_answer_that_was_lost_without_anybody_counting_it_is_wrong() -> None:
    before = replace(CALL, number=999, began=0, done=3)

    assert "1 answers were lost, 0 steps ambiguous" in verdict(before, CALL).wrong


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"input_tokens": 7}, "is of no call"),
        ({"output_tokens": 21}, "has 21 of 20 tokens"),
        ({"cost": 1}, "costs 1"),
    ],
)
def test_a_row_that_says_of_its_call_what_it_was_not_is_wrong(
    changes: dict[str, int], what: str
) -> None:
    found = verdict(CALL, found=books(row(**changes)))

    assert found.misread == 1
    assert any(what in wrong for wrong in found.wrong)


def test_a_call_with_two_rows_is_wrong() -> None:
    assert "1 calls have two rows" in verdict(CALL, found=books(ROW, ROW)).wrong


def test_a_run_that_has_no_end_or_another_answer_is_wrong() -> None:
    assert verdict(CALL, text=None).unended == 1
    assert verdict(CALL, text="41").unlike == 1
    assert verdict(CALL, found=books(ROW, state="executing")).wrong


def test_rows_that_do_not_come_to_what_was_charged_are_wrong() -> None:
    short = replace(books(ROW), charged=1)

    assert any("charged are 1" in wrong for wrong in verdict(CALL, found=short).wrong)
