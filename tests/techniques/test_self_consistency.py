from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest

from pricing.usage import Usage
from techniques.catalog.self_consistency import Options, self_consistency
from techniques.core.capabilities import Capabilities
from techniques.core.errors import DeadlinePassed, TechniqueFailed, UpstreamFailed
from techniques.core.json import Json
from techniques.core.reply import replied
from techniques.core.request import Request, ResponseFormat, Sampling, Tool
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
    parts_text,
    play,
    scripted,
    shown,
)

HI = asks("hi")
DOWN = UpstreamFailed("down", "server", retryable=True)


async def run(
    channel: ScriptedChannel,
    request: Request = HI,
    *,
    deadline: float | None = None,
    **options: Json,
) -> Played:
    setting = Setting(Options(**options), deadline=deadline)
    return await play(self_consistency, channels(channel), request, setting)


def no_voter(request: Request) -> Answer:
    raise AssertionError(f"{request.step} was not wanted")


async def test_tech_02_empty_and_cut_off_answers_do_not_vote() -> None:
    cut = replied("The answer is 7", "length")
    played = await run(
        draws(["", cut, "The answer is 42", "The answer is 42"], no_voter), num_samples=4
    )
    assert played.text == "The answer is 42"
    assert played.note("votes")["lost"] == {"empty": 1, "truncated": 1}
    assert not any("None" in shown(request) for request in played.asked)


async def test_tech_02_a_refusal_votes_only_for_refusing() -> None:
    no = "I'm sorry, but I can't help with that."
    played = await run(draws([no, "7", "7", "7", "7"]), num_samples=5)
    assert played.text == "7"
    played = await run(draws([no, "7", "8", no, "9"]), num_samples=5, stop="exact")
    assert played.text == no
    assert "refusal_kept" in played.warnings
    assert played.note("refusals")["used"] == 5


async def test_tech_03_all_failing_is_one_error_after_bounded_tries() -> None:
    channel = scripted(lambda _request: DOWN)
    with pytest.raises(UpstreamFailed, match="down"):
        await run(channel, num_samples=3)
    assert len(channel.asked) == 3


async def test_tech_03_prose_without_an_answer_is_given_and_marked() -> None:
    played = await run(draws(["well, hard to say"] * 3, no_voter), num_samples=3)
    assert played.text == "well, hard to say"
    assert "no_consensus" in played.warnings


async def test_tech_04_an_answer_that_is_only_an_article_counts() -> None:
    played = await run(draws(["A", "a", " A. ", "B"]), num_samples=4)
    assert played.text.strip(" .").upper() == "A"
    assert played.note("votes")["counts"][0] == 3


async def test_tech_10_one_limited_and_one_slow_sample_lose_nothing() -> None:
    limited = UpstreamFailed("limit", "rate_limited", retryable=True, retry_after=120)
    slow = Line(replied("42"), after=60)
    orders: list[list[Answer]] = [["42", "42", limited, slow], [slow, "42", "42", limited]]
    for answers in orders:
        began = anyio.current_time()
        played = await run(draws(answers), num_samples=4, deadline=began + 10)
        assert played.text == "42"
        assert anyio.current_time() - began <= 10
        assert played.note("votes")["of"] == 2


async def test_stragglers_are_cut_off_when_the_vote_is_decided() -> None:
    slow = Line(replied("41"), after=60)
    played = await run(draws(["42", "42", slow]), num_samples=3, stop="exact")
    assert played.text == "42"
    assert anyio.current_time() < 1


async def test_with_nothing_at_the_deadline_that_is_told() -> None:
    channel = scripted(lambda _request: Line(replied("x"), after=60))
    with pytest.raises(DeadlinePassed):
        await run(channel, deadline=anyio.current_time() + 5)


async def test_no_more_is_asked_after_a_wave_that_cannot_be_mended() -> None:
    channel = scripted(lambda _request: UpstreamFailed("No such model.", "rejected"))
    with pytest.raises(UpstreamFailed):
        await run(channel, num_samples=9)
    assert len(channel.asked) == 3


async def test_all_empty_is_told_as_such() -> None:
    with pytest.raises(TechniqueFailed, match=r"None of the 5 answers was usable \(5 empty\)"):
        await run(scripted(lambda _request: ""))


async def test_draws_stop_when_no_draw_can_change_the_winner() -> None:
    played = await run(draws(["42"] * 5), asks())
    assert len(played.asked) == 3
    assert played.note("votes")["share"] == 1.0


@pytest.mark.parametrize(("stop", "calls"), [("forecast", 3), ("beta", 4), ("exact", 11)])
async def test_draws_that_agree_stop_when_it_is_sure_enough(stop: str, calls: int) -> None:
    played = await run(draws(["42"] * 20), asks(), num_samples=20, stop=stop)
    assert len(played.asked) == calls


async def test_the_committed_usage_is_the_chosen_replys_own() -> None:
    usage = Usage(10, 5)
    played = await run(draws([replied("42", usage=usage)] * 5), asks())
    assert played.reply.usage == usage


async def test_a_tie_commits_one_and_says_so() -> None:
    played = await run(draws(["41", "42", "42", "41"]), asks(), num_samples=4)
    assert played.text == "41"
    assert "no_consensus" in played.warnings


async def test_every_draw_has_a_seed_of_its_own_and_the_first_the_clients() -> None:
    request = asks(sampling=Sampling(seed=99, temperature=0.1))
    played = await run(draws(["1", "2", "3", "4", "5"]), request)
    asked = sorted(played.asked, key=lambda one: one.step)
    assert asked[0].sampling == request.sampling
    assert len({one.sampling.seed for one in asked}) == 5
    assert {one.sampling.temperature for one in asked[1:]} == {0.7}
    assert not any(one.stream for one in asked)


async def test_the_cue_is_asked_for_and_never_seen_again() -> None:
    played = await run(draws(["Six times seven.\n\nFinal answer: 42"] * 5), asks())
    assert "Final answer" in shown(played.asked[0])
    assert played.text == "Six times seven.\n\n42"


async def test_the_cue_can_be_turned_off() -> None:
    played = await run(draws(["42"] * 5), asks(), answer_cue="off")
    assert {shown(one) for one in played.asked} == {"What is 6 * 7?"}


async def test_a_form_the_client_fixed_is_left_alone() -> None:
    request = asks("What is 6 * 7? End with `Final answer: N`, answer only that.")
    played = await run(draws(["Final answer: 42"] * 5), request)
    assert played.text == "Final answer: 42"


async def test_all_models_of_the_pool_take_turns_when_asked_to() -> None:
    channel = draws(["1", "2", "3", "4", "5"])
    models = channels(channel, pool=2)
    await play(self_consistency, models, asks(), Setting(Options(pool="all")))
    by_step = {request.step: request.model for request in channel.asked}
    assert [by_step[f"c{place}"][-1] for place in range(5)] == ["0", "1", "0", "1", "0"]


RED = "It is a long story.\n\nIn the end the house is red, as all in the street have said."
ALSO_RED = "Many say it is blue.\n\nBut I looked, and red is what it is, from the roof down."
BLUE = "I asked around for a while.\n\nMy view is that it must be called blue, whatever they say."


def sorts(request: Request) -> Answer:
    """Label by the last colour that each answer names, in the order shown."""
    answers = shown(request).split("answer ")[2:]
    red = [int(("red" in one) and "blue, whatever" not in one) for one in answers]
    return json.dumps({"labels": red[-request_count(request) :]})


def request_count(request: Request) -> int:
    return shown(request).count("<<end ") - 2


async def test_prose_is_sorted_by_what_it_concludes() -> None:
    played = await run(draws([BLUE, RED, ALSO_RED], sorts), num_samples=3)
    assert played.text in {RED, ALSO_RED}
    assert played.roles().count("voter") == 1
    assert played.note("votes")["counts"] == [2, 1]


LONG = "It is a matter on which much has been said, and all of it comes down to one: Paris, France."


async def test_a_short_answer_that_is_said_at_length_agrees_with_itself() -> None:
    played = await run(draws([LONG] * 5, no_voter), asks("What is the capital of France?"))
    assert played.note("votes")["counts"] == [3]
    assert "no_consensus" not in played.warnings


async def test_a_short_answer_that_is_said_at_unlike_length_is_sorted() -> None:
    said = [f"{LONG} {word}" for word in ("One", "Two", "Three")]
    played = await run(
        draws(said, lambda request: labels(request, 1)),
        asks("What is the capital of France?"),
        num_samples=3,
    )
    assert played.roles().count("voter") == 1
    assert played.note("votes")["counts"] == [3]


def labels(request: Request, label: int) -> Answer:
    return json.dumps({"labels": [label] * request_count(request)})


async def test_a_voter_that_cannot_sort_leaves_the_first_answer() -> None:
    played = await run(draws([BLUE, RED, ALSO_RED], lambda _request: "It is red!"), num_samples=3)
    assert played.text == BLUE
    assert played.roles().count("voter") == 2
    assert {"no_consensus", "voter_unusable"} <= played.warnings.keys()


async def test_a_voter_that_fails_leaves_the_first_answer() -> None:
    played = await run(draws([BLUE, RED, ALSO_RED], lambda _request: DOWN), num_samples=3)
    assert played.text == BLUE


async def test_a_cap_that_leaves_no_voter_is_told() -> None:
    channel = draws([BLUE, RED, ALSO_RED], no_voter)
    setting = Setting(Options(num_samples=3), cap=Cap(channel, 3))
    played = await play(self_consistency, channels(channel), HI, setting)
    assert "cap_reached" in played.warnings


@pytest.mark.parametrize(("most", "told"), [(2, True), (3, False), (4, False)])
async def test_a_cap_that_ends_the_vote_before_it_is_decided_is_told(
    most: int, *, told: bool
) -> None:
    answers = iter(["41", "42", "42", "42"])
    channel = scripted(lambda _request: next(answers) if most == 2 else "42")
    setting = Setting(Options(), cap=Cap(channel, most))
    played = await play(self_consistency, channels(channel), asks(), setting)
    assert ("cap_reached" in played.warnings) is told


async def test_one_affordable_call_is_a_plain_call() -> None:
    channel = scripted(lambda _request: "42")
    setting = Setting(Options(), cap=Cap(channel, 1))
    played = await play(self_consistency, channels(channel), asks(), setting)
    assert [(one.role, shown(one)) for one in played.asked] == [("answer", "What is 6 * 7?")]
    assert "cap_reached" in played.warnings


TIME = Tool("time", parameters={"type": "object", "properties": {"zone": {"default": "UTC"}}})


async def test_tool_calls_vote_by_what_they_do() -> None:
    answers: list[Answer] = [
        calls("time", '{"zone": "CET"}', id="a"),
        calls("time", '{ "zone" : "UTC" }', id="b"),
        calls("time", "", id="c"),
    ]
    played = await run(draws(answers), asks(tools=(TIME,)))
    assert played.reply == answers[1]
    assert len(played.asked) == 3


async def test_calls_of_unknown_tools_do_not_vote() -> None:
    answers: list[Answer] = [calls("clock", "{}"), calls("clock", "{}"), calls("time", "{}")]
    played = await run(draws(answers), asks(tools=(TIME,)))
    assert played.reply.tool_calls[0].name == "time"


SCHEMA: Json = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "reason": {"type": "string"}},
    "required": ["n"],
}


def of_schema(*, strict: bool) -> Request:
    return asks(response_format=ResponseFormat("json_schema", SCHEMA, "x", strict=strict))


async def test_json_votes_on_decisions_and_invalid_json_does_not_vote() -> None:
    answers = ['{"n": 1}', "{", '{"n": 2, "reason": "as"}', '{"reason": "so", "n": 2}', "{}"]
    played = await run(draws(answers), of_schema(strict=True))
    assert json.loads(played.text)["n"] == 2
    assert played.note("votes")["lost"] == {"invalid": 2}


async def test_a_strict_schema_is_kept_or_it_is_an_error() -> None:
    with pytest.raises(TechniqueFailed):
        await run(draws(["{}"] * 5), of_schema(strict=True))
    assert (await run(draws(["{}"] * 5), of_schema(strict=False))).text == "{}"


async def test_a_whole_answer_that_was_cut_off_is_better_than_none() -> None:
    played = await run(draws([replied("The sum is", "length")] * 5), asks())
    assert (played.text, played.reply.finish_reason) == ("The sum is", "length")


async def test_token_log_probabilities_stay_with_the_chosen_reply() -> None:
    scored = replace(replied("42"), logprobs={"content": [{"token": "42", "logprob": -0.1}]})
    request = asks(sampling=Sampling(logprobs=True))
    played = await run(draws([scored] * 5), request)
    assert played.reply.logprobs == scored.logprobs
    assert parts_text(played.reply) == ["42"]


async def test_a_model_that_cannot_be_held_to_a_schema_is_asked_in_words() -> None:
    channel = draws([BLUE, RED, ALSO_RED], sorts)
    models = channels(channel, abilities=Capabilities(json_schema=False))
    await play(self_consistency, models, HI, Setting(Options(num_samples=3)))
    assert channel.asked[-1].role == "voter"
    assert channel.asked[-1].response_format is None
