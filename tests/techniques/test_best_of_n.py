from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from techniques.catalog.best_of_n import Options, best_of_n
from techniques.core.capabilities import Capabilities
from techniques.core.channel import Channels, Member
from techniques.core.errors import CapReached, TechniqueFailed, UpstreamFailed
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Image, Message, Request, Text, Tool
from techniques.engines.select import select
from techniques.engines.vote import Voting, vote
from techniques.phases.attempt import begin
from techniques.phases.contest import Terms
from techniques.testing import Line, ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    judging,
    marks,
    play,
    scripted,
    shown,
    tokens,
    with_judge,
)

HI = asks("hi")
DOWN = UpstreamFailed("down", "server", retryable=True)


async def run(channel: ScriptedChannel, request: Request = HI, **options: Json) -> Played:
    setting = Setting(Options(**{"num_samples": 2, **options}))
    return await play(best_of_n, with_judge(channel), request, setting)


@pytest.mark.parametrize("first", ["choiceless", ""])
async def test_tech_01_every_sample_is_a_call_of_its_own(first: str) -> None:
    lost = UpstreamFailed("The answer has no choices.", "invalid_answer")
    channel = draws([first or lost, "cand", "cand"], lambda _request: marks("n01", "n05"))
    played = await run(channel, num_samples=3)
    assert played.text in {"choiceless", "cand"}
    assert played.note("scores")["asked"] == 3 if not first else True
    assert {one.sampling.n for one in played.asked} == {1}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Of the 9 points, I give: 2", "Score: 8"),
        ("95", "8"),
        ("I can not rate this", "3"),
        ("-4", "0"),
        ("NaN", "0"),
    ],
)
async def test_tech_06_an_unusable_verdict_is_no_score(first: str, second: str) -> None:
    played = await run(draws(["A", "B"], judging({"A": first, "B": second})))
    assert played.text == "B"
    unusable = not first.startswith("Of")
    assert ("judge_unparsable" in played.warnings) == unusable
    assert played.roles().count("judge") == (3 if unusable else 2)


async def test_a_judge_is_asked_a_second_time_before_it_is_given_up() -> None:
    def judge(request: Request) -> Answer:
        return marks("n15") if request.step == "jr0" else "Hm."

    played = await run(draws(["A", "B"], judge))
    assert played.text == "A"
    assert played.note("scores")["unusable"] == 1


async def test_a_failing_judge_leaves_what_most_agree_on() -> None:
    played = await run(draws(["41", "42", "42"], lambda _request: DOWN), asks(), num_samples=3)
    assert played.text == "42"
    assert "judge_failed" in played.warnings


async def test_the_best_score_wins() -> None:
    scores: dict[str, Answer] = {"A": marks("n01", "n05"), "B": marks("n05"), "C": marks("n04")}
    played = await run(draws(["A", "B", "C"], judging(scores)), num_samples=3)
    assert played.text == "B"


async def test_a_score_that_is_good_enough_ends_it() -> None:
    played = await run(draws(["A", "B"], lambda _request: marks()), num_samples=16)
    assert played.roles() == ["candidate"] * 2 + ["judge"] * 2 + ["judge"] * 2


async def test_no_more_is_drawn_when_little_is_to_be_gained() -> None:
    channel = scripted(lambda one: marks("n01", "n05") if one.role == "judge" else one.step)
    stopped = await run(channel, num_samples=16)
    assert stopped.roles().count("candidate") < 16
    channel = scripted(lambda one: marks("n01", "n05") if one.role == "judge" else one.step)
    full = await run(channel, num_samples=16, expected_improvement=False)
    assert full.roles().count("candidate") == 16


@pytest.mark.parametrize(("winner", "chosen"), [("A", "A"), ("B", "B"), ("neither", "A")])
async def test_scores_about_equal_are_settled_side_by_side(winner: str, chosen: str) -> None:
    scores: dict[str, Answer] = {"A": marks("n01", "n13"), "B": marks("n01", "n09")}
    played = await run(draws(["A", "B"], judging(scores, winner)))
    assert played.text == chosen
    assert played.roles().count("judge") == 4


async def test_side_by_side_can_be_turned_off_and_is_not_used_for_twins() -> None:
    channel = draws(["A", "B"], lambda _request: marks("n01"))
    assert (await run(channel, pairwise=False)).roles().count("judge") == 2
    twins = draws(["A", "A"], lambda _request: marks("n01"))
    assert (await run(twins)).roles().count("judge") == 2


async def test_a_comparison_that_cannot_be_read_changes_nothing() -> None:
    def judge(request: Request) -> Answer:
        return "Both!" if "answer 2>>" in shown(request) else marks("n01")

    played = await run(draws(["A", "B"], judge))
    assert played.text == "A"
    assert played.warnings["judge_unparsable"] == "p0"


async def test_without_a_judge_the_model_judges_itself_and_that_is_told() -> None:
    channel = draws(["A", "B"], lambda _request: marks("n01"))
    played = await play(best_of_n, channels(channel), HI, Setting(Options(num_samples=2)))
    assert played.warnings["self_judged"] == "model-0"
    assert "self_judged" not in (await run(draws(["A", "B"], lambda _request: marks()))).warnings


async def test_the_judge_is_another_model_when_one_is_configured() -> None:
    played = await run(draws(["A", "B"], lambda _request: marks()))
    assert {one.model for one in played.asked if one.role == "judge"} == {"judge"}


async def test_a_judge_that_cannot_see_the_pictures_is_told() -> None:
    picture = Message("user", (Text("hi"), Image(url="u")))
    channel = draws(["A", "B"], lambda _request: marks())
    blind = Member("j", "judge", channel, Capabilities(vision=False))
    models = replace(channels(channel), judge=blind)
    played = await play(best_of_n, models, Request("m", (picture,)), Setting(Options()))
    assert played.warnings["judge_blind"] == "judge"
    assert "judge_blind" not in (await run(draws(["A", "B"], lambda _request: marks()))).warnings


async def test_a_third_refusing_is_a_refusal_whatever_the_judge_likes() -> None:
    no = "I can't help with that."
    played = await run(
        draws(["A", no, "B"], judging({"A": marks("n05"), "B": marks("n05")})), num_samples=3
    )
    assert played.text == no
    assert "refusal_kept" in played.warnings


async def test_a_refusal_is_not_judged() -> None:
    answers: list[Answer] = ["A", "I can't help with that.", "B", "C"]
    played = await run(
        draws(answers, lambda _request: marks("n01", "n05")),
        num_samples=4,
        expected_improvement=False,
        pairwise=False,
    )
    assert played.text == "A"
    assert played.roles().count("judge") == 3


async def test_nothing_usable_is_an_error() -> None:
    with pytest.raises(TechniqueFailed):
        await run(scripted(lambda _request: ""))


async def test_tool_calls_are_judged_with_the_tools_in_sight() -> None:
    time = Tool("time", "Tells the time.")
    answers: list[Answer] = [calls("time", "{}"), "It is noon."]
    channel = draws(answers, lambda one: marks() if "calls time" in shown(one) else marks("n04"))
    played = await run(channel, asks("hi", tools=(time,)))
    assert played.reply == answers[0]
    assert all("Tells the time." in shown(one) for one in played.asked if one.role == "judge")


async def test_the_deadline_during_judging_gives_the_first_answer() -> None:
    def slow_judge(request: Request) -> Answer:
        return Line(replied(marks()), after=60) if request.role == "judge" else request.step

    channel = scripted(slow_judge)
    setting = Setting(Options(), deadline=anyio.current_time() + 5)
    played = await play(best_of_n, with_judge(channel), HI, setting)
    assert played.text == "c0"
    assert "deadline_reached" in played.warnings
    assert anyio.current_time() <= 5


@pytest.mark.parametrize("most", [1, 3])
async def test_too_few_calls_for_a_selection_are_a_plain_call(most: int) -> None:
    channel = scripted(lambda _request: "42")
    setting = Setting(Options(), cap=Cap(channel, most))
    played = await play(best_of_n, with_judge(channel), HI, setting)
    assert played.roles() == ["answer"]
    assert "cap_reached" in played.warnings


@pytest.mark.parametrize(("most", "told"), [(4, True), (99, False)])
async def test_a_cap_that_ends_the_draws_early_is_told(most: int, *, told: bool) -> None:
    channel = draws(["a", "b", "c"], lambda _request: marks("n01", "n05"))
    setting = Setting(Options(num_samples=3), cap=Cap(channel, most))
    played = await play(best_of_n, with_judge(channel), HI, setting)
    assert ("cap_reached" in played.warnings) is told


async def test_no_call_at_all_is_told() -> None:
    channel = scripted(lambda _request: "42")
    with pytest.raises(CapReached):
        await play(best_of_n, channels(channel), HI, Setting(Options(), cap=Cap(channel, 0)))


@pytest.mark.parametrize("engine", ["select", "vote"])
async def test_a_single_sample_is_a_plain_call(engine: str) -> None:
    channel = scripted(lambda _request: "42")

    def technique(task: Json, models: Channels) -> Json:
        attempt = begin(task, models, engine)
        if engine == "vote":
            return vote(attempt, Voting(samples=1, temperature=0.7, threshold=None))
        return select(attempt, Terms(samples=1, temperature=0.7, stop_at=0.9))

    played = await play(technique, channels(channel), HI, Setting(Options()))
    assert [replace(one, step="0", model="m") for one in played.asked] == [HI]


async def test_no_score_makes_up_for_code_that_does_not_parse() -> None:
    broken, whole = "```python\ndef f(:\n```", "```python\ndef f():\n    pass\n```"
    request = asks("Write a Python function f.")
    scores: dict[str, Answer] = {broken: marks(), whole: marks("n01")}
    assert (await run(draws([broken, whole], judging(scores)), request)).text == whole
    assert (await run(draws([broken, broken], judging(scores)), request)).text == broken
    assert (await run(draws([broken, whole], judging(scores)))).text == broken


SPEECHLESS = Capabilities(logprobs=False)


async def likeliest(channel: ScriptedChannel, abilities: Capabilities | None = None) -> Played:
    setting = Setting(Options(num_samples=3, score="logprob"))
    return await play(best_of_n, channels(channel, abilities=abilities), HI, setting)


async def test_without_a_judge_the_answer_of_the_likeliest_tokens_is_the_best() -> None:
    answers = [tokens("A", 0.4, "B", 0.9), tokens("C", 0.7), tokens("D", 0.2)]
    played = await likeliest(draws(answers))
    assert played.text == "C"
    assert played.roles() == ["candidate"] * 3
    assert not played.reply.logprobs
    assert "self_judged" not in played.warnings


async def test_a_model_that_reports_no_probabilities_is_judged() -> None:
    played = await likeliest(draws(["A", "B", "C"]), SPEECHLESS)
    assert "judge" in played.roles()
    assert played.warnings["confidence_source_changed"] == "logprob -> judge"
