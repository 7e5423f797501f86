from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from techniques.catalog.cisc import Options, cisc
from techniques.core.capabilities import Capabilities
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from techniques.core.reply import Reply, replied
from techniques.core.request import Request, ResponseFormat, Sampling, Tool
from techniques.parts.confidence import CHECK
from techniques.testing import ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Cap,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    play,
    shown,
    tokens,
)

TWO_TO_ONE = ["41", "42", "41"]
MUTE = Capabilities(logprobs=False)


async def run(
    channel: ScriptedChannel,
    request: Request | None = None,
    abilities: Capabilities | None = None,
    **options: Json,
) -> Played:
    models = channels(channel, abilities=abilities)
    return await play(cisc, models, request or asks(), Setting(Options(**options)))


def checked(chances: dict[str, float]) -> Callable[[Request], Answer]:
    """Answer a check by the answer that it is about: 1 or 0, with the chance of 1 given."""

    def answer(request: Request) -> Answer:
        assert request.role == "confidence"
        about = request.messages[-2].text
        chance = next(chance for text, chance in chances.items() if text in about)
        both: Json = list(tokens("1", chance, "0", 1 - chance).logprobs["content"])
        first: Json = {**both[0], "top_logprobs": both}
        return replace(replied("1"), logprobs={"content": [first]})

    return answer


async def test_few_sure_votes_outweigh_many_unsure_ones() -> None:
    sure = checked({"42": 0.95, "41": 0.2})
    played = await run(draws(TWO_TO_ONE, sure), num_samples=3)
    assert played.text == "42"
    assert played.note("votes")["by"] == "p_true"
    assert played.note("votes")["evidence"] == pytest.approx([0.2, 0.95, 0.2])


async def test_as_sure_of_all_the_majority_wins() -> None:
    played = await run(draws(TWO_TO_ONE, checked({"4": 0.7})), num_samples=3)
    assert played.text == "41"


async def test_each_answer_is_checked_by_the_conversation_continued() -> None:
    played = await run(draws(TWO_TO_ONE, checked({"4": 0.7})), num_samples=3)
    checks = [request for request in played.asked if request.role == "confidence"]
    assert sorted(request.step for request in checks) == ["t0", "t1", "t2"]
    assert all(shown(request).startswith("What is 6 * 7?") for request in checks)
    assert all(shown(request).endswith(CHECK) for request in checks)


async def test_only_answers_with_a_vote_are_checked() -> None:
    answers: list[Answer] = ["42", "hard to say", "42", "42", "I can't help with that."]
    played = await run(draws(answers, checked({"42": 0.9})))
    assert played.roles().count("confidence") == 3
    assert "42" in played.text


async def test_a_vote_that_cannot_be_turned_stops() -> None:
    played = await run(draws(["42"] * 5, checked({"42": 0.99})))
    assert len(played.asked) == 6
    played = await run(draws(["42"] * 5, checked({"42": 0.5})))
    assert len(played.asked) == 10
    played = await run(draws(["42"] * 9, checked({"42": 0.5})), num_samples=9, stop="beta")
    assert len(played.asked) == 8


async def test_a_check_that_fails_leaves_that_vote_the_median() -> None:
    fine = checked({"42": 0.95, "41": 0.2})

    def answer(request: Request) -> Answer:
        return UpstreamFailed("down") if request.step == "t1" else fine(request)

    played = await run(draws(TWO_TO_ONE, answer), num_samples=3)
    assert played.text == "41"
    assert played.note("votes")["evidence"][1] is None
    assert "confidence_unusable" not in played.warnings


async def test_without_any_confidence_votes_are_counted_and_that_is_told() -> None:
    played = await run(draws(TWO_TO_ONE, lambda _request: "Yes."), num_samples=3)
    assert played.text == "41"
    assert played.note("votes")["weights"] == [1, 1, 1]
    assert "confidence_unusable" in played.warnings


async def test_a_cap_is_kept_with_its_checks() -> None:
    channel = draws(["42"] * 5, checked({"42": 0.5}))
    setting = Setting(Options(), cap=Cap(channel, 7))
    played = await play(cisc, channels(channel), asks(), setting)
    assert played.roles().count("candidate") == 3
    assert played.roles().count("confidence") == 3


async def test_a_cap_reached_between_draws_and_checks_leaves_them_out() -> None:
    class Closing(Cap):
        def affordable(self, calls: int) -> int:
            return 0 if self.channel.asked else calls

    channel = draws(TWO_TO_ONE)
    setting = Setting(Options(num_samples=3), cap=Closing(channel, 0))
    played = await play(cisc, channels(channel), asks(), setting)
    assert played.roles() == ["candidate"] * 2
    assert {"cap_reached", "confidence_unusable"} <= played.warnings.keys()


@pytest.mark.parametrize("most", [1, 3])
async def test_too_few_calls_for_two_checked_answers_are_a_plain_call(most: int) -> None:
    channel = draws([], lambda _request: "42")
    played = await play(cisc, channels(channel), asks(), Setting(Options(), cap=Cap(channel, most)))
    assert played.roles() == ["answer"]


def stated(*percents: int) -> list[Answer]:
    values = ["41", "42", "41"]
    return [
        f"It is {value}.\n\nFinal answer: {value}\n\nConfidence: {percent}"
        for value, percent in zip(values, percents, strict=True)
    ]


async def test_a_model_that_reports_no_probabilities_states_its_confidence() -> None:
    played = await run(draws(stated(70, 95, 70)), abilities=MUTE, num_samples=3)
    assert played.text == "It is 42."
    assert played.roles() == ["candidate"] * 3
    assert all("Confidence: N" in shown(request) for request in played.asked)
    assert played.note("votes")["evidence"] == [0.7, 0.95, 0.7]
    assert not played.warnings.keys() & {"confidence_source_changed", "confidence_unavailable"}


async def test_a_source_that_cannot_be_had_gives_way_and_that_is_told() -> None:
    played = await run(
        draws(stated(70, 95, 70)), abilities=MUTE, num_samples=3, csi_source="p_true"
    )
    assert played.text == "It is 42."
    assert played.warnings["confidence_source_changed"] == "p_true -> verbal_100"


async def test_the_stated_confidence_is_never_seen() -> None:
    answers: list[Answer] = ["42\nConfidence: 90", "42\nConfidence: 80\nFinal answer: 42", "42"]
    played = await run(draws(answers), csi_source="verbal_100", num_samples=3)
    assert played.text == "42"


async def test_how_much_confidence_counts_can_be_set() -> None:
    answers = stated(70, 95, 70)
    played = await run(
        draws(answers), csi_source="verbal_100", num_samples=3, softmax_temperature=10
    )
    assert played.text == "It is 41."


async def test_token_probabilities_weigh_and_are_not_shown() -> None:
    answers: list[Answer] = [tokens("41", 0.6), tokens("42", 0.99), tokens("41", 0.6)]
    played = await run(draws(answers), csi_source="response_probability", num_samples=3)
    assert played.text == "42"
    assert played.reply.logprobs is None
    assert all(request.sampling.logprobs for request in played.asked)


async def test_token_probabilities_that_the_client_wants_are_those_of_the_answer() -> None:
    answers: list[Answer] = [tokens("41", 0.6), tokens("42", 0.99), tokens("41", 0.6)]
    request = asks(sampling=Sampling(logprobs=True, top_logprobs=2))
    played = await run(draws(answers), request, csi_source="response_probability", num_samples=3)
    assert isinstance(answers[1], Reply)
    assert played.reply.logprobs == answers[1].logprobs
    assert all(request.sampling.top_logprobs == 2 for request in played.asked)


JSON = asks(response_format=ResponseFormat("json_object"))
TOOLS = asks(tools=(Tool("time"),))


@pytest.mark.parametrize("request_", [JSON, TOOLS], ids=["json", "tools"])
async def test_a_fixed_form_gets_no_line_and_the_tokens_tell(request_: Request) -> None:
    played = await run(draws(['{"n": 42}'] * 5), request_, csi_source="verbal_100")
    assert played.warnings["confidence_source_changed"] == "verbal_100 -> response_probability"
    assert not any("Confidence" in shown(request) for request in played.asked)


@pytest.mark.parametrize("request_", [JSON, TOOLS], ids=["json", "tools"])
async def test_a_fixed_form_of_a_model_that_tells_nothing_is_a_plain_vote(
    request_: Request,
) -> None:
    answers: list[Answer] = ['{"n": 41}', '{"n": 42}', '{"n": 42}']
    played = await run(draws(answers), request_, MUTE, num_samples=3)
    assert played.text == '{"n": 42}'
    assert "confidence_unavailable" in played.warnings
    assert "by" not in played.note("votes")


async def test_tool_calls_vote_by_what_they_do_and_how_sure_the_model_is() -> None:
    answers: list[Answer] = [calls("time", '{"at": 1}'), calls("time", '{"at": 2}'), "It is noon."]
    sure = checked({'"at": 1': 0.3, '"at": 2': 0.9, "noon": 0.3})
    played = await run(draws(answers, sure), TOOLS, num_samples=3)
    assert played.reply == answers[1]


async def test_a_refusal_still_speaks_for_all() -> None:
    no = "I can't help with that."
    played = await run(draws([no, "42", "42"], checked({"42": 0.99})), num_samples=3)
    assert played.text == no
