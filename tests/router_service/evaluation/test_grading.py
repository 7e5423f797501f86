from __future__ import annotations

import json
from dataclasses import replace

import pytest

from router_service.evaluation.grading import rules_of
from router_service.evaluation.prompts import read_prompts
from techniques.core.errors import UpstreamFailed
from techniques.core.groups import task_group
from techniques.core.json import JsonObject
from techniques.core.request import Message, Request, ResponseFormat, Text
from techniques.parts.programs import Suite
from techniques.testing import Line, ScriptedChannel
from tests.router_service.evaluation.world import grader, marks, questions, row
from tests.techniques.sandboxes import Here

LETTER = {"prompt": "Which?\nA) 1\nB) 2", "reference": "B", "score_mode": "exact_letter"}
NUMBER = {"prompt": "2 + 2?", "reference": 4, "metadata": {"source": "openai/gsm8k"}}
VERDICT = {"prompt": "Is it?", "reference": "yes", "score_mode": "yes_no"}
ABOUT = {"prompt": "How much?", "reference": "100", "score_mode": "relaxed"}
WORDS = {"prompt": "Who?", "reference": "Ada Lovelace", "score_mode": "exact_match"}
PROGRAM = "```python\ndef f(x):\n    return x + 1\n```"
CODE: JsonObject = {
    "prompt": "Write f.",
    "score_mode": "code",
    "metadata": {"tests": ["assert f(1) == 2", "assert f(2) == 3"]},
}


@pytest.mark.parametrize(
    ("asked", "said", "quality"),
    [
        (LETTER, "The answer is B.", 1),
        (LETTER, "The answer is A.", 0),
        (NUMBER, "So it is 4.0", 1),
        (NUMBER, "So it is 5", 0),
        (VERDICT, "Yes, it is.", 1),
        (ABOUT, "About 104.", 1),
        (ABOUT, "About 106.", 0),
        (WORDS, "It was Ada Lovelace.", 1),
        (WORDS, "It was Ada Lovelaceless.", 0),
        (CODE, PROGRAM, 1),
        (CODE, PROGRAM.replace("+ 1", "+ 2"), 0),
        (CODE, "I cannot.", 0),
    ],
)
async def test_what_is_known_to_be_right_is_compared(
    asked: JsonObject, said: str, quality: float
) -> None:
    (question,) = questions(asked)
    found = await grader(box=Here()).grade(question, row(question, text=said))
    assert (found.quality, found.judged) == (quality, None)


async def test_a_program_that_cannot_be_run_is_half_right_and_said_to_be() -> None:
    (question,) = questions(CODE)
    found = await grader().grade(question, row(question, text=PROGRAM))
    assert (found.quality, found.note) == (0.5, "not run")


def test_tests_are_found_as_sets_of_questions_have_them() -> None:
    rows: list[JsonObject] = [
        {"prompt": "f?", "metadata": {"source": "mbpp", "test_list": ["assert f(1)"]}},
        {
            "prompt": "g?",
            "metadata": {
                "source": "humaneval",
                "test": "def check(candidate):\n    assert candidate(1)",
                "entry_point": "g",
            },
        },
        {"prompt": "h?\nassert h(1) == 2", "score_mode": "code"},
        {"prompt": "i?", "score_mode": "code", "reference": "assert i(1)"},
    ]
    found = [question.rules.tests for question in questions(*rows)]
    assert [one.statements.strip() for one in found if isinstance(one, Suite)] == [
        "assert f(1)",
        "def check(candidate):\n    assert candidate(1)\ncheck(g)",
        "assert h(1) == 2",
        "assert i(1)",
    ]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({**VERDICT, "reference": "perhaps"}, "neither yes nor no"),
        ({**LETTER, "reference": "Z"}, "none of the options"),
        ({**CODE, "score_mode": "code_complexity"}, "workload"),
        ({"prompt": "x", "metadata": {"score_mode": "guess"}}, "score mode"),
    ],
)
def test_a_reference_that_cannot_be_compared_is_told_before_anything_is_asked(
    asked: JsonObject, told: str
) -> None:
    (prompt,) = read_prompts(json.dumps(asked)).usable
    request = Request("m", (Message("user", (Text(asked["prompt"]),)),))
    with pytest.raises(ValueError, match=told):
        rules_of(prompt, request, "exact")


@pytest.mark.parametrize(("said", "mark", "quality"), [("4", 1, 1.0), ("4", 0, 0.6), ("5", 1, 0.4)])
async def test_a_judge_counts_beside_a_comparison(said: str, mark: int, quality: float) -> None:
    judge = ScriptedChannel(lambda _: marks(mark, compared=True))
    (question,) = questions(NUMBER, strategy="blended")
    found = await grader("blended", judge).grade(question, row(question, text=said))
    assert found.quality == pytest.approx(quality, abs=1e-9)


async def test_a_judge_sees_the_reference_but_not_who_answered() -> None:
    judge = ScriptedChannel(lambda _: marks(compared=True))
    (question,) = questions({"prompt": "Who?", "reference": "Ada"}, strategy="judge")
    told = row(question, "secret-config", text="Ada.", model="secret-model", technique="cisc")
    await grader("judge", judge).grade(question, told)
    (request,) = judge.asked
    shown = f"{request.messages}"
    assert "Ada" in shown
    assert "secret" not in shown
    assert "cisc" not in shown


async def test_without_a_reference_a_judge_goes_by_what_it_knows() -> None:
    judge = ScriptedChannel(lambda _: marks())
    (question,) = questions({"prompt": "A poem?", "score_mode": "judge"})
    found = await grader("judge", judge).grade(question, row(question, text="Roses."))
    assert (found.quality, found.mode) == (1.0, "judge")


async def test_a_judge_that_says_nothing_usable_is_asked_twice_and_then_given_up() -> None:
    judge = ScriptedChannel(lambda _: "Good answer!")
    (question,) = questions({"prompt": "A poem?"}, strategy="judge")
    found = await grader("judge", judge).grade(question, row(question, text="Roses."))
    assert (found.quality, found.unparsable, len(judge.asked)) == (None, True, 2)


async def test_a_judge_that_fails_once_is_asked_again() -> None:
    judge = ScriptedChannel([Line(UpstreamFailed("It is down.")), marks()])
    (question,) = questions({"prompt": "A poem?"}, strategy="judge")
    found = await grader("judge", judge).grade(question, row(question, text="Roses."))
    assert (found.quality, found.unparsable) == (1.0, False)


@pytest.mark.parametrize("told", [{"error": "It is down."}, {"text": ""}, {"text": "  "}])
async def test_who_gives_no_answer_gets_nothing_and_no_judge_is_asked(told: JsonObject) -> None:
    judge = ScriptedChannel(lambda _: marks())
    (question,) = questions({"prompt": "A poem?"}, strategy="judge")
    found = await grader("judge", judge).grade(question, row(question, **told))
    assert (found.quality, judge.asked) == (0.0, [])


async def test_the_facts_of_a_reference_are_asked_for_once() -> None:
    def script(request: Request) -> str:
        return (
            json.dumps({"facts": ["one"]})
            if "Name the facts" in f"{request}"
            else marks(compared=True)
        )

    judge = ScriptedChannel(script)
    (question,) = questions({"prompt": "Why?", "reference": "because " * 20}, strategy="judge")
    one = grader("judge", judge)
    async with task_group() as group:
        for name in "abcde":
            group.start_soon(one.grade, question, row(question, name, text="So."))
    asked = [f"{request.messages}" for request in judge.asked]
    assert sum("Name the facts" in text for text in asked) == 1
    assert sum("Key fact 1: one" in text for text in asked) == 5


def test_a_mark_is_known_by_all_that_it_rests_on() -> None:
    base = {"prompt": "2 + 2?", "reference": "4", "score_mode": "numeric"}
    one = questions(base)[0]
    others = [
        grader().hash(questions({**base, "reference": "5"})[0]),
        grader().hash(questions({**base, "score_mode": "exact_match"})[0]),
        grader().hash(questions({**base, "metadata": {"tests": "x"}})[0]),
        grader("blended").hash(questions(base, strategy="blended")[0]),
    ]
    assert len({grader().hash(one), *others}) == 5
    assert grader().hash(questions({**base, "id": "z", "category": "c"})[0]) == grader().hash(one)


async def test_refusals_are_told() -> None:
    (question,) = questions(WORDS)
    texts = ("I'm sorry, but I can't help with that.", "Fine.")
    found = [await grader().grade(question, row(question, text=text)) for text in texts]
    assert [one.refused for one in found] == [True, False]


async def test_what_keeps_to_a_form_is_told_where_one_was_asked_for() -> None:
    (question,) = questions(WORDS)
    form = ResponseFormat("json_schema", {"type": "object", "required": ["x"]}, "form")
    formed = replace(question, request=replace(question.request, response_format=form))
    texts = ('{"x": 1}', '{"y": 1}', "Ada.", "I'm sorry, but I can't help with that.")
    found = [await grader().grade(formed, row(formed, text=text)) for text in texts]
    assert [one.schema_valid for one in found] == [True, False, False, None]
    assert (await grader().grade(question, row(question, text="Ada."))).schema_valid is None
