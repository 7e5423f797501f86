"""Where several answers are wanted, those that came close stand beside the one that won."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import BaseModel

from pricing.usage import Usage
from techniques.catalog.best_of_n import Options as SelectingOptions
from techniques.catalog.best_of_n import best_of_n
from techniques.catalog.fountain import Judged, fountain
from techniques.catalog.harq_cc import Options as ChaseOptions
from techniques.catalog.harq_cc import harq_cc
from techniques.catalog.self_consistency import Options as VotingOptions
from techniques.catalog.self_consistency import self_consistency
from techniques.core.channel import Channels, Technique, TechniqueChannel
from techniques.core.reply import Reply, fold, replied
from techniques.core.request import Request, Tool
from techniques.core.task import Task
from tests.techniques.scene import (
    Answer,
    asks,
    calls,
    channels,
    draws,
    marks,
    prefers,
    shown,
    with_judge,
)

NO = "I'm sorry, but I can't help with that."


async def answered(
    technique: Technique, models: Channels, options: BaseModel, request: Request, wanted: int
) -> Reply:
    task = Task(request, options, choices=wanted)
    async with TechniqueChannel(technique, task, models).open(request) as events:
        return await fold(events)


async def voted(answers: list[Answer], wanted: int, request: Request | None = None) -> list[str]:
    options = VotingOptions(stop="exact", num_samples=len(answers))
    models = channels(draws(answers))
    reply = await answered(self_consistency, models, options, request or asks(), wanted)
    return [one.text or one.tool_calls[0].arguments for one in (reply, *reply.others)]


async def selected(answers: list[Answer], scores: dict[str, Answer], wanted: int) -> list[str]:
    def judge(request: Request) -> Answer:
        return next(m for text, m in scores.items() if f"answer>>\n{text}" in shown(request))

    options = SelectingOptions(
        num_samples=len(answers), stop_at=1.0, expected_improvement=False, pairwise=False
    )
    models = with_judge(draws(answers, judge))
    reply = await answered(best_of_n, models, options, asks("Tell me of the sea."), wanted)
    return [one.text for one in (reply, *reply.others)]


async def test_a_vote_names_its_runners_up_by_their_votes() -> None:
    answers: list[Answer] = ["1", "2", "2", "3", "3", "3"]

    assert await voted(answers, wanted=3) == ["3", "2", "1"]
    assert await voted(answers, wanted=2) == ["3", "2"]


async def test_who_wants_one_answer_gets_one() -> None:
    assert await voted(["1", "2", "2"], wanted=1) == ["2"]


async def test_answers_that_agree_are_one_choice() -> None:
    assert await voted(["It is 4.", "4", "4"], wanted=3) == ["4"]


async def test_the_line_that_was_asked_for_is_taken_out_of_each_choice() -> None:
    answers: list[Answer] = [f"So {n}.\n\nFinal answer: {n}" for n in (1, 2, 2)]

    assert await voted(answers, wanted=2) == ["So 2.", "So 1."]


async def test_runners_up_may_be_actions() -> None:
    acting: list[Answer] = [calls("look", f'{{"at":{n}}}') for n in (1, 2, 2)]
    request = asks(tools=(Tool("look"),))

    assert await voted(acting, 2, request) == ['{"at":2}', '{"at":1}']


async def test_a_vote_of_refusals_has_no_other_answer() -> None:
    assert await voted([NO, "7", NO], wanted=3) == [NO]


async def test_a_selection_names_the_next_best_that_differ() -> None:
    good, fair, poor = marks("n08"), marks("n07", "n08"), marks("n01", "n02", "n05")
    scores: dict[str, Answer] = {"The tide.": good, "The salt.": fair, "The sand.": poor}
    answers: list[Answer] = ["The sand.", "The tide.", "The salt.", "The tide."]

    assert await selected(answers, scores, wanted=3) == ["The tide.", "The salt.", "The sand."]
    assert await selected(answers, scores, wanted=2) == ["The tide.", "The salt."]


@pytest.mark.parametrize(
    ("technique", "options"),
    [
        (fountain, Judged(max_samples=5, expected_improvement=False)),
        (harq_cc, ChaseOptions()),
    ],
)
async def test_what_was_drawn_stands_beside_an_answer_that_was_made_of_it(
    technique: Technique, options: BaseModel
) -> None:
    def other(request: Request) -> Answer:
        if request.role == "synthesis":
            return "All of it, the tide and the salt and the sand, makes what we call the sea."
        return prefers("tie") if "answer 2>>" in shown(request) else marks("n01", "n05")

    long = "{} is what makes the sea the sea, and there is no sea anywhere without it."
    answers: list[Answer] = [long.format(word) for word in ("Tide", "Salt", "Sand", NO, "Salt")]
    answers[3] = NO
    models = with_judge(draws(answers, other))
    reply = await answered(technique, models, options, asks("Tell me of the sea."), 3)

    assert reply.text == answers[0]
    assert [one.text for one in reply.others] == answers[1:3]


async def test_to_act_and_to_answer_are_no_two_answers_to_one_question() -> None:
    answers: list[Answer] = [calls("look", "{}"), "1", "1"]

    assert await voted(answers, 5, asks(tools=(Tool("look"),))) == ["1"]


async def test_each_choice_keeps_its_own_reason_and_usage() -> None:
    usual = replace(replied("2"), usage=Usage(9, 2))
    models = channels(draws([replace(replied("1"), usage=Usage(9, 1)), usual, usual]))

    reply = await answered(
        self_consistency, models, VotingOptions(stop="exact", num_samples=3), asks(), 2
    )

    assert (reply.usage, reply.others[0].usage) == (Usage(9, 2), Usage(9, 1))
    assert reply.used == Usage(18, 3)
