from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from techniques.catalog.weighted_bon import weighted_bon
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from techniques.core.request import Request, Sampling, Tool
from techniques.parts.markers import CUE_LABEL
from techniques.parts.options import JudgedVote
from techniques.testing import ScriptedChannel
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    asks,
    calls,
    channels,
    draws,
    marks,
    play,
    shown,
    tokens,
    with_judge,
)


async def run(channel: ScriptedChannel, request: Request | None = None, **options: Json) -> Played:
    return await play(
        weighted_bon, with_judge(channel), request or asks(), Setting(JudgedVote(**options))
    )


def judging(verdicts: Mapping[str, str]) -> Callable[[Request], Answer]:
    """Judge an answer by the first text of *verdicts* that is in it."""

    def answer(request: Request) -> Answer:
        assert request.role == "judge"
        about = shown(request).split(" answer>>")[1]
        return next(verdict for text, verdict in verdicts.items() if text in about)

    return answer


WRONG, POOR, FINE = marks("n04"), marks("n05", "n08", "n10"), marks()


async def test_one_good_answer_outweighs_two_that_are_wrong() -> None:
    played = await run(draws(["41", "42", "41"], judging({"42": FINE, "41": WRONG})), num_samples=3)
    assert played.text == "42"
    assert played.note("votes")["by"] == "judge"
    assert played.note("votes")["evidence"] == [0.4, 1.0, 0.4]


async def test_two_good_answers_outweigh_one_as_good() -> None:
    played = await run(draws(["41", "42", "42"], judging({"4": FINE})), num_samples=3)
    assert played.text == "42"


async def test_large_poor_groups_win_by_their_raw_scores_only() -> None:
    verdicts = judging({"42": FINE, "41": POOR})
    texts = ["41", "42", "41"]
    played = await run(draws(texts, verdicts), weights="raw", num_samples=3)
    assert played.text == "41"
    assert (await run(draws(texts, verdicts), num_samples=3)).text == "42"


async def test_of_the_winning_answer_the_text_with_the_best_score_is_shown() -> None:
    texts = ["So 42.", "It must be 42.", "It is 42."]
    verdicts = judging({"So": POOR, "must": FINE, "is 42": POOR})
    assert (await run(draws(texts, verdicts), num_samples=3)).text == "It must be 42."


async def test_where_no_answer_has_a_key_the_best_score_is_shown() -> None:
    texts = ["hard to say", "no idea", "not sure"]
    verdicts = judging({"hard": POOR, "idea": FINE, "sure": POOR})
    assert (await run(draws(texts, verdicts), num_samples=3)).text == "no idea"


async def test_draws_stop_when_no_score_could_turn_the_vote() -> None:
    played = await run(draws(["42"] * 5, judging({"42": FINE})))
    assert played.roles().count("candidate") == 3
    assert played.roles().count("judge") == 3


async def test_low_scores_that_are_alike_do_not_stop_the_draws() -> None:
    verdicts = judging({"42": FINE, "41": WRONG})
    played = await run(draws(["41", "41", "41", "41", "42"], verdicts), stop="exact")
    assert played.roles().count("candidate") == 5
    assert played.text == "42"


async def test_a_majority_of_little_weight_does_not_stop_the_draws() -> None:
    texts = ["41", "41", "42", "41", "41", "42"]
    verdicts = judging({"42": FINE, "41": WRONG})
    played = await run(draws(texts, verdicts), num_samples=6, confidence=0.5)
    assert played.roles().count("candidate") == 6
    assert played.text == "42"


@pytest.mark.parametrize("verdict", ["I like it.", UpstreamFailed("down")])
async def test_without_a_score_votes_are_counted(verdict: Answer) -> None:
    played = await run(draws(["41", "42", "42"], lambda _request: verdict), num_samples=3)
    assert played.text == "42"
    assert played.note("votes")["weights"] == [1, 1, 1]
    assert played.warnings.keys() & {"judge_unparsable", "judge_failed"}


async def test_a_refusal_is_not_judged() -> None:
    texts = ["42", "I can't help with that.", "42", "42"]
    played = await run(draws(texts, judging({"42": POOR})), num_samples=4)
    assert played.roles().count("judge") == 3
    assert played.text == "42"


async def test_a_model_that_judges_itself_is_told() -> None:
    channel = draws(["42"] * 5, judging({"42": FINE}))
    played = await play(weighted_bon, channels(channel), asks(), Setting(JudgedVote()))
    assert played.warnings["self_judged"] == "model-0"


async def test_the_cue_is_asked_for_and_can_be_turned_off() -> None:
    verdicts = judging({"42": FINE})
    played = await run(draws([f"Well.\n\n{CUE_LABEL} 42"] * 5, verdicts))
    assert (CUE_LABEL in shown(played.asked[0]), played.text) == (True, "Well.\n\n42")
    played = await run(draws(["42"] * 5, verdicts), answer_cue="off")
    assert CUE_LABEL not in shown(played.asked[0])


async def test_tool_calls_are_weighed_and_never_mixed() -> None:
    answers: list[Answer] = [calls("t", '{"a": 1}'), calls("t", '{"a": 1}'), calls("t", '{"a": 2}')]
    verdicts = judging({'"a": 1': WRONG, '"a": 2': FINE})
    played = await run(draws(answers, verdicts), asks(tools=(Tool("t"),)), num_samples=3)
    assert played.reply == answers[2]


async def test_acting_or_answering_is_decided_by_weight() -> None:
    answers: list[Answer] = ["It is noon.", "It is noon.", calls("t", "{}")]
    verdicts = judging({"noon": WRONG, "calls t": FINE})
    played = await run(draws(answers, verdicts), asks(tools=(Tool("t"),)), num_samples=3)
    assert played.reply == answers[2]


async def test_token_probabilities_that_the_client_wants_are_those_of_the_answer() -> None:
    request = asks(sampling=Sampling(logprobs=True))
    chosen = tokens("42", 0.9)
    played = await run(draws([chosen] * 5, judging({"42": FINE})), request)
    assert played.reply == chosen
