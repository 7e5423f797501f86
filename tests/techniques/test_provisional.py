"""The best answer so far is told as soon as there is one and each time another takes its place."""

from __future__ import annotations

from techniques.catalog.best_of_n import Options as SelectingOptions
from techniques.catalog.best_of_n import best_of_n
from techniques.catalog.self_consistency import Options as VotingOptions
from techniques.catalog.self_consistency import self_consistency
from techniques.core.events import Note, Provisional
from techniques.core.request import Request, Tool
from tests.techniques.refining import DATE, DRAFT, MENDED, by_step, run
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    faults,
    marks,
    play,
    prefers,
    shown,
    with_judge,
)

NO = "I'm sorry, but I can't help with that."


def drafts(played: Played) -> list[str]:
    return [event.text for event in played.events if isinstance(event, Provisional)]


async def voted(answers: list[Answer], request: Request | None = None) -> Played:
    setting = Setting(VotingOptions(stop="exact", num_samples=len(answers)))
    return await play(self_consistency, channels(draws(answers)), request or asks(), setting)


async def selected(answers: list[Answer], bad: str = "-") -> Played:
    def judge(request: Request) -> Answer:
        return marks("n01", "n02", "n05") if f"answer>>\n{bad}" in shown(request) else marks("n08")

    channel = draws(answers, judge)
    options = SelectingOptions(
        num_samples=len(answers), stop_at=1.0, expected_improvement=False, pairwise=False
    )
    return await play(best_of_n, with_judge(channel), asks("hi"), Setting(options))


async def test_a_vote_that_goes_on_tells_who_leads() -> None:
    played = await voted(["41", "42", "42", "41", "41"])

    assert drafts(played) == ["42", "41"]
    assert played.text == "41"


async def test_a_vote_that_is_over_at_once_has_nothing_to_tell_before_its_answer() -> None:
    assert drafts(await voted(["42", "42", "42"])) == []


async def test_the_line_that_was_asked_for_is_not_shown_either() -> None:
    answers: list[Answer] = [f"So it is {n}.\n\nFinal answer: {n}" for n in (41, 42, 42, 42)]

    assert drafts(await voted(answers)) == ["So it is 42."]


async def test_a_vote_of_refusals_shows_that_it_will_decline() -> None:
    played = await voted([NO, "7", "8", "7", "7"])

    assert drafts(played)[0] == NO


async def test_a_tool_call_is_nothing_to_show() -> None:
    acting = calls("look", "{}")
    request = asks(tools=(Tool("look"),))
    played = await voted([acting, "42", acting, "42", acting], request)

    assert len(played.asked) > 3
    assert drafts(played) == []
    assert played.reply.tool_calls


async def test_a_selection_shows_its_first_draw_and_then_whatever_scores_better() -> None:
    played = await selected(["poor", "good", "poor", "good"], bad="poor")

    assert drafts(played) == ["poor", "good"]
    assert played.text == "good"


async def test_a_draw_is_shown_before_it_is_judged() -> None:
    events = (await selected(["good", "good"])).events

    judging = next(
        place
        for place, event in enumerate(events)
        if isinstance(event, Note) and event.data.get("stage") == "judging"
    )
    assert isinstance(events[judging - 1], Provisional)


async def test_a_refinement_shows_its_draft_and_each_revision_that_is_accepted() -> None:
    played = await run(by_step({"d0": DRAFT, "k0": faults(DATE)}))

    assert drafts(played) == [DRAFT, MENDED]


async def test_a_revision_that_is_not_accepted_is_not_shown() -> None:
    answers: dict[str, Answer] = {"d0": DRAFT, "k0": faults(DATE), "judge": prefers("2")}

    assert drafts(await run(by_step(answers))) == [DRAFT]
