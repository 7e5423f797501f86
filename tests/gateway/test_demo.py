from __future__ import annotations

from decimal import Decimal

import pytest

from gateway.demo import QUESTIONS, DemoAnswer, Row, Table, is_right, run
from gateway.upstream.simulated.solving import solve
from gateway.upstream.simulated.transport import SimulatedTransport
from techniques.core.errors import UpstreamFailed
from tests.gateway.upstream.simulated_calls import ask

PRICE = Decimal("0.000001")


def test_there_are_forty_different_questions() -> None:
    assert len({question.text for question in QUESTIONS}) == 40


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.answer)
def test_the_simulation_knows_the_reference_answer_and_grading_tells_it_from_others(
    question: object,
) -> None:
    assert question in QUESTIONS
    known = QUESTIONS[QUESTIONS.index(question)]
    problem = solve(known.text)

    assert problem is not None
    assert problem.answer == known.answer
    assert is_right(known, f"{problem.steps} The answer is {problem.answer}.")
    assert len(problem.wrong) >= 3
    for wrong in problem.wrong:
        assert not is_right(known, f"{problem.steps} The answer is {wrong}.")


def test_an_answer_that_says_nothing_is_wrong() -> None:
    assert not is_right(QUESTIONS[0], "I would rather not say.")


async def test_the_totals_of_a_technique_are_those_of_its_answers() -> None:
    async def always_22(technique: str, question: str) -> DemoAnswer:
        return DemoAnswer("The answer is 22.", 3 if technique == "vote" else 1, PRICE, 0.5)

    none, vote = [row async for row in run(always_22, ["none", "vote"])]

    assert (none.technique, none.asked, none.right, none.calls) == ("none", 40, 1, 40)
    assert vote.calls == 120
    assert vote.cost_usd == 40 * PRICE
    assert vote.seconds == pytest.approx(20)


async def test_a_question_without_an_answer_counts_as_wrong() -> None:
    async def failing(technique: str, question: str) -> DemoAnswer:
        if question == QUESTIONS[0].text:
            raise UpstreamFailed("The provider is down.")
        return DemoAnswer("The answer is 37.", 1, PRICE, 0.1)

    (row,) = [row async for row in run(failing, ["none"])]

    assert row.failed == 1
    assert row.right == 1
    assert row.asked == 40


async def test_the_simulation_alone_gets_about_its_stated_rate() -> None:
    transport = SimulatedTransport()

    async def plain(technique: str, question: str) -> DemoAnswer:
        got = await ask(transport, question, model=technique, seed=1)
        return DemoAnswer(got.text, 1, PRICE, 0.1)

    small, large = [row async for row in run(plain, ["sim-small", "sim-large"])]

    assert 16 <= small.right <= 34
    assert large.right > small.right


def test_the_table_is_aligned() -> None:
    rows = [
        Row("none", 40, 26, 0, 40, Decimal("0.00123"), 1.25),
        Row("self_consistency", 40, 36, 1, 156, Decimal("0.0048"), 5.0),
    ]

    table = Table(["none", "self_consistency"])
    lines = [*table.head().splitlines(), *map(table.line, rows)]

    assert len({len(line) for line in lines}) == 1
    assert lines[0].split() == [
        "technique",
        "accuracy",
        "upstream",
        "calls",
        "cost",
        "$",
        "simulated",
        "s",
    ]
    assert lines[2].split() == ["none", "65", "%", "40", "0.001230", "1.2"]
    assert "90 % (1 failed)" in lines[3]
