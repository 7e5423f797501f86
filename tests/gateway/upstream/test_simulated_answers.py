from __future__ import annotations

import math
from collections import Counter

import pytest

from gateway.upstream.simulated import arithmetic, solving
from gateway.upstream.simulated.grading import is_right
from gateway.upstream.simulated.settings import Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from tests.gateway.upstream.simulated_calls import ask, said


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("17*23", "391"),
        ("what is 12 + 30 - 5?", "37"),
        ("What is 2 + 3 * 4?", "14"),
        ("What is (2 + 3) * 4?", "20"),
        ("What is twenty-five times four?", "100"),
        ("What is the sum of 19 and 23?", "42"),
        ("What is 15% of 80?", "12"),
        ("What is 1,200 / 4?", "300"),
        ("What is 1/8?", "0.125"),
        ("Compute 2^10.", "1024"),
        ("Tom has 12 apples, buys 5 more and gives away 3. How many apples does he have?", "14"),
        ("There are 6 boxes with 12 pencils each. How many pencils are there?", "72"),
        ("Each box holds 5 pens. How many pens do 7 boxes hold?", "35"),
        ("24 cookies are shared equally among 6 children. How many does each get?", "4"),
        ("A train travels at 60 km per hour for 3 hours. How far does it go?", "180"),
        ("What is 9*8?\nA) 70\nB) 72\nC) 64\nD) 81", "B"),
        ("What is the capital of Japan? A) Seoul B) Tokyo C) Beijing", "B"),
        ("What is the capital of France?", "Paris"),
        ("What is the chemical symbol for gold?", "Au"),
        ("Which element has the symbol Fe?", "iron"),
        ("Which planet is the largest?", "Jupiter"),
        ("Is Milan the capital of Italy?", "No"),
    ],
)
def test_a_question_of_a_known_sort_is_solved(question: str, answer: str) -> None:
    problem = solving.solve(question)

    assert problem is not None
    assert problem.answer == answer
    assert answer not in problem.wrong


@pytest.mark.parametrize(
    "text", ["Write a poem.", "It was on 2024-05-01.", "Call 555-1234", "1 / 0"]
)
def test_what_asks_for_no_result_is_no_problem(text: str) -> None:
    assert solving.solve(text) is None


def test_a_cue_for_the_last_line_is_no_part_of_the_question() -> None:
    plain = solving.solve("What is 5 + 6?")
    cued = solving.solve("What is 5 + 6?\n\nEnd with one line of the form `Final answer: ...`.")

    assert plain == cued


def test_a_hostile_expression_is_given_up() -> None:
    assert arithmetic.evaluate("9^9^9^9") is None
    assert arithmetic.evaluate("(" * 500 + "1+1") is None
    assert arithmetic.evaluate("999999^20*" * 20 + "2") is None
    assert arithmetic.find("7" * 4000) is None


def test_options_that_cannot_be_solved_have_a_right_one_all_the_same() -> None:
    question = "Which is best?\nA) tea\nB) coffee\nC) milk"

    first, second = solving.solve(question), solving.solve(question)

    assert first is not None
    assert first == second


async def test_temperature_zero_gives_the_same_answer_whatever_the_seed() -> None:
    transport = SimulatedTransport()

    texts = {(await ask(transport, temperature=0, seed=seed)).text for seed in range(8)}

    assert len(texts) == 1


async def test_the_same_seed_gives_the_same_answer_and_other_seeds_give_others() -> None:
    one, other = SimulatedTransport(), SimulatedTransport()

    texts = [(await ask(one, seed=seed)).text for seed in range(20)]

    assert texts == [(await ask(other, seed=seed)).text for seed in range(20)]
    assert len(set(texts)) > 3


async def test_without_a_seed_every_call_is_another_draw_and_a_run_can_be_replayed() -> None:
    one, other = SimulatedTransport(), SimulatedTransport()

    texts = [(await ask(one)).text for _ in range(20)]

    assert texts == [(await ask(other)).text for _ in range(20)]
    assert len(set(texts)) > 3


async def test_another_account_seed_gives_other_draws() -> None:
    one, other = SimulatedTransport(Simulation(seed=1)), SimulatedTransport(Simulation(seed=2))

    assert [(await ask(one, seed=s)).text for s in range(9)] != [
        (await ask(other, seed=s)).text for s in range(9)
    ]


@pytest.mark.parametrize(("model", "rate"), [("sim-small", 0.35), ("sim-large", 0.12)])
async def test_over_many_questions_a_model_errs_at_its_stated_rate(model: str, rate: float) -> None:
    transport = SimulatedTransport(Simulation(seed=3))
    questions = [f"What is {a} + {b}?" for a in range(11, 31) for b in range(31, 51)]

    answers = [(q, (await ask(transport, q, model=model, seed=1)).text) for q in questions]

    wrong = sum(not is_right(question, answer) for question, answer in answers)
    sigma = math.sqrt(rate * (1 - rate) / len(questions))
    assert abs(wrong / len(questions) - rate) < 4 * sigma


async def test_a_majority_of_five_is_right_more_often_than_one() -> None:
    transport = SimulatedTransport(Simulation(seed=5))
    questions = [f"What is {a} * 7?" for a in range(11, 91)]
    single = voted = 0

    for question in questions:
        body = (await ask(transport, question, n=5, seed=1)).body
        texts = [choice["message"]["content"] for choice in body["choices"]]
        results = [text.rsplit("answer is ", 1)[1].rstrip(".") for text in texts]
        single += is_right(question, texts[0])
        voted += is_right(question, f"The answer is {Counter(results).most_common(1)[0][0]}.")

    assert voted >= single + 10


async def test_some_questions_are_harder_than_others() -> None:
    transport = SimulatedTransport()
    rates = []

    for question in (f"What is {number} + 15?" for number in range(7, 17)):
        body = (await ask(transport, question, n=100, seed=1)).body
        texts = [choice["message"]["content"] for choice in body["choices"]]
        rates.append(sum(not is_right(question, text) for text in texts) / 100)

    assert max(rates) - min(rates) > 0.1
    assert all(0.05 < rate < 0.7 for rate in rates)


@pytest.mark.parametrize(
    ("instruction", "start"),
    [
        ("End with a line: Final answer: <number>", "Final answer: "),
        ("End with one line of the form `Answer: ...`.", "Answer: "),
        ("Put the result after #### on the last line.", "#### "),
        (r"Put the result in \boxed{}.", r"\boxed{"),
    ],
)
async def test_the_final_line_has_the_form_that_was_asked_for(instruction: str, start: str) -> None:
    got = await ask(SimulatedTransport(), f"What is 5 + 6?\n{instruction}")

    assert got.text.splitlines()[-1].startswith(start)


async def test_the_form_of_the_final_line_may_stand_in_the_system_turn() -> None:
    system = {"role": "system", "content": "Finish with a line `Final answer: X`."}

    got = await ask(SimulatedTransport(), messages=[system, *said("What is 5 + 6?")])

    assert got.text.splitlines()[-1].startswith("Final answer: ")


async def test_other_prompts_get_an_answer_that_says_it_is_simulated() -> None:
    got = await ask(SimulatedTransport(), "Write a poem about the northern sea")

    assert "simulated" in got.text
    assert "northern sea" in got.text


async def test_a_correction_by_a_reviewer_is_taken_up_as_a_rule() -> None:
    transport = SimulatedTransport()
    turns = [
        *said("What is 17 * 23?"),
        {"role": "assistant", "content": "The answer is 319."},
        *said('A reviewer read your answer.\n1. Where it says "is 319.": The answer is 391.'),
    ]

    texts = [(await ask(transport, messages=turns, seed=seed)).text for seed in range(40)]

    assert sum("391" in text for text in texts) >= 30
