from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from techniques.core.capabilities import Capabilities
from techniques.core.channel import Member
from techniques.core.json import Json
from techniques.core.reply import Reply, replied
from techniques.core.request import ResponseFormat, Sampling, Text, Thinking, Tool
from techniques.parts.confidence import (
    CHECK,
    check_request,
    levelled,
    read_check,
    spoken,
    token_sureness,
)
from techniques.testing import ScriptedChannel
from tests.techniques.scene import asks, calls, shown, tokens


def member(**abilities: Any) -> Member:
    return Member("m", "model", ScriptedChannel([]), Capabilities(**abilities))


def test_sureness_is_the_mean_over_the_answers_tokens() -> None:
    reply = tokens("It", 0.5, " is 42", 0.125)
    assert token_sureness(reply) == pytest.approx(0.25)


def test_the_line_that_was_asked_for_has_no_part_in_sureness() -> None:
    reply = tokens("It is 42", 0.5, "\n\n", 0.5, "Final answer: ", 0.01, "42", 0.01)
    assert token_sureness(reply) == pytest.approx(0.5)


def test_where_that_line_is_all_there_is_it_counts() -> None:
    assert token_sureness(tokens("Final answer: ", 0.5, "42", 0.5)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "logprobs",
    [None, [], {}, {"content": None}, {"content": [None, {"token": "a"}, {"logprob": True}]}],
)
def test_without_log_probabilities_sureness_is_not_known(logprobs: Json) -> None:
    assert token_sureness(replace(replied("42"), logprobs=logprobs)) is None


def test_thinking_has_no_part_in_sureness() -> None:
    reply = tokens("42", 0.5)
    assert token_sureness(replace(reply, parts=(Thinking("hm"), *reply.parts))) == 0.5


@pytest.mark.parametrize(
    ("text", "left", "sure"),
    [
        ("It is 42.\n\nConfidence: 85", "It is 42.", 0.85),
        ("It is 42.\n**Confidence:** 85%\n", "It is 42.", 0.85),
        ("It is 42.\nMy confidence is high.", "It is 42.\nMy confidence is high.", None),
        ("It is 42.\n- Confidence: 85/100", "It is 42.", 0.85),
        ("Confidence: 85\nFinal answer: 42", "Final answer: 42", 0.85),
        ("It is 42.\nConfidence: 400", "It is 42.", None),
        ("Confidence: 85\nOne.\nTwo.", "Confidence: 85\nOne.\nTwo.", None),
        (f"It is 42.\nConfidence: {' ' * 90}85", f"It is 42.\nConfidence: {' ' * 90}85", None),
        ("Confidence: 85", "", 0.85),
        ("It is 42.", "It is 42.", None),
    ],
)
def test_stated_confidence_is_read_and_taken_out(text: str, left: str, sure: float | None) -> None:
    reply, found = spoken(replied(text))
    assert (reply.text, found) == (left, sure)


def test_a_reply_without_text_states_nothing() -> None:
    assert spoken(calls("time", "{}")) == (calls("time", "{}"), None)


def test_only_the_last_text_can_state_confidence() -> None:
    reply = Reply((Thinking("Confidence: 10"), Text("42\nConfidence: 90")))
    assert spoken(reply) == (Reply((Thinking("Confidence: 10"), Text("42"))), 0.9)


def test_the_check_continues_the_conversation_and_wants_one_token() -> None:
    request = asks(sampling=Sampling(temperature=0.9, seed=4, stop=("x",), max_output_tokens=900))
    asked = check_request(request, replied("It is 42."), member(), "t0")
    assert asked.messages[:-2] == request.messages
    assert [turn.role for turn in asked.messages] == ["user", "assistant", "user"]
    assert shown(asked).endswith(f"It is 42.\n{CHECK}")
    assert asked.sampling == Sampling(0.0, max_output_tokens=1, logprobs=True, top_logprobs=5)
    assert (asked.role, asked.step) == ("confidence", "t0")


def test_the_check_is_held_to_no_form_and_calls_no_tool() -> None:
    request = asks(tools=(Tool("time"),), response_format=ResponseFormat("json_object"))
    asked = check_request(request, calls("time", "{}"), member(temperature=False), "t0")
    assert asked.response_format is None
    assert asked.tools == request.tools
    assert asked.tool_choice is not None
    assert asked.tool_choice.mode == "none"
    assert asked.sampling.temperature is None
    assert "(calls time with {})" in shown(asked)


def test_a_check_is_read_from_the_likely_tokens() -> None:
    top: Json = [
        {"token": token, "logprob": math.log(chance)}
        for token, chance in (("1", 0.5), (" 1", 0.1), ("0", 0.2), ("Yes", 0.2))
    ]
    logprobs: Json = {"content": [{"token": "1", "logprob": -0.7, "top_logprobs": top}]}
    assert read_check(replace(replied("1"), logprobs=logprobs)) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("reply", "sure"),
    [
        (tokens("1", 0.9), 1.0),
        (tokens("0", 0.9), 0.0),
        (tokens("Yes", 0.9), None),
        (replied("1"), None),
        (replace(replied("1"), logprobs={"content": []}), None),
        (replace(replied("1"), logprobs={"content": ["1"]}), None),
    ],
)
def test_a_check_without_likely_tokens_is_the_token_itself_or_nothing(
    reply: Reply, sure: float | None
) -> None:
    assert read_check(reply) == sure


def test_differences_between_models_are_taken_out() -> None:
    level = levelled({0: 0.9, 1: 0.4, 2: 0.7, 3: 0.6}, {0: "a", 1: "b", 2: "a", 3: "b"})
    assert level == pytest.approx({0: 0.75, 1: 0.55, 2: 0.55, 3: 0.75})


def test_what_one_model_says_stays_as_it_is() -> None:
    assert levelled({0: 0.9, 1: 0.4}, {0: "a", 1: "a"}) == {0: 0.9, 1: 0.4}
    assert levelled({}, {}) == {}


def test_levelled_sureness_stays_between_0_and_1() -> None:
    level = levelled({0: 1.0, 1: 0.4, 2: 1.0}, {0: "a", 1: "a", 2: "b"})
    assert max(level.values()) <= 1
