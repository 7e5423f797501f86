"""Reasoning that comes beside, between or instead of text."""

from __future__ import annotations

import pytest

from tests.conformance.stage import ASKED, CHAT_TOOLS, Stage, Streamed
from tests.fakes import script
from tests.fakes.script import begin, called, chunk, done, finish, sse, text

CUTS = [
    ["<think>the moon</think>high tide"],
    ["<think>the moon</th", "ink>high tide"],
    ["<th", "ink>the moon</think>high tide"],
    [*"<think>the moon</think>high tide"],
    ["<", "think", ">the ", "moon<", "/think", ">high ", "tide"],
]


def spoken(stage: Stage, model: str, parts: list[str]) -> Streamed:
    """Stream *parts* as text of *model*."""
    stage.upstream.plays(sse(begin(), *map(text, parts), finish(), done()))
    return stage.chat_stream(model=model)


@pytest.mark.case("RSN-01")
@pytest.mark.parametrize("parts", CUTS)
def test_think_tags_are_split_off_however_they_are_cut(stage: Stage, parts: list[str]) -> None:
    answer = spoken(stage, "oa-think", parts)

    assert answer.joined("reasoning_content") == "the moon"
    assert answer.joined() == "high tide"


@pytest.mark.case("RSN-01")
@pytest.mark.parametrize(
    "parts", [["so <th", "ink>the moon</think>high tide"], ["so <think>the moon</think>high tide"]]
)
def test_text_before_a_think_tag_gives_one_result_for_every_cut(
    stage: Stage, parts: list[str]
) -> None:
    answer = spoken(stage, "oa-think", parts)

    found = (answer.joined("reasoning_content"), answer.joined())
    assert found in {
        ("the moon", "so high tide"),
        ("", "so <think>the moon</think>high tide"),
    }
    whole = spoken(stage, "oa-think", ["".join(parts)])
    assert found == (whole.joined("reasoning_content"), whole.joined())


@pytest.mark.case("RSN-01")
@pytest.mark.parametrize("said", ["1 < 2 and 3 > 2", "a <thin line", "ends with <", "<thinker>"])
def test_what_only_looks_like_a_think_tag_is_text(stage: Stage, said: str) -> None:
    assert spoken(stage, "oa-think", [*said]).joined() == said


@pytest.mark.case("RSN-01")
@pytest.mark.parametrize("parts", CUTS)
def test_without_the_wish_think_tags_stay_text(stage: Stage, parts: list[str]) -> None:
    answer = spoken(stage, "oa-model", parts)

    assert answer.joined() == "<think>the moon</think>high tide"
    assert answer.joined("reasoning_content") == ""


@pytest.mark.case("RSN-03")
def test_reasoning_of_a_whole_answer_reaches_the_client(stage: Stage) -> None:
    said = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "the moon",
        "tool_calls": [called("look_up", "{}", id="c1")],
    }
    stage.upstream.plays(script.completion(message=said, reason="tool_calls"))

    answer = stage.chat(tools=CHAT_TOOLS)

    assert answer.json["choices"][0]["message"]["reasoning_content"] == "the moon"


@pytest.mark.case("RSN-03")
def test_reasoning_of_a_stream_reaches_the_client(stage: Stage) -> None:
    stage.upstream.plays(
        sse(
            begin(),
            chunk({"reasoning_content": "the "}),
            chunk({"reasoning_content": "moon", "content": None}),
            text("noon"),
            finish(),
            done(),
        )
    )

    answer = stage.chat_stream(tools=CHAT_TOOLS)

    assert answer.joined("reasoning_content") == "the moon"
    assert answer.joined() == "noon"


@pytest.mark.case("RSN-03")
def test_reasoning_in_the_history_goes_back_upstream(stage: Stage) -> None:
    turn = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "the moon",
        "tool_calls": [called("look_up", "{}", id="c1")],
    }
    result = {"role": "tool", "tool_call_id": "c1", "content": "noon"}
    stage.upstream.plays(script.completion())

    stage.chat(messages=[*ASKED, turn, result], tools=CHAT_TOOLS)

    assert stage.upstream.asked[0].body["messages"][1]["reasoning_content"] == "the moon"


@pytest.mark.case("RSN-04")
@pytest.mark.parametrize("surface", ["chat", "messages"])
def test_null_in_a_delta_is_no_text(stage: Stage, surface: str) -> None:
    stage.upstream.plays(
        sse(
            chunk({"role": "assistant", "content": None}),
            chunk({"content": None, "reasoning_content": None}),
            chunk({}),
            chunk({"content": "noon", "reasoning_content": None}),
            chunk({"content": None}, "stop"),
            done(),
        )
    )

    if surface == "chat":
        answer = stage.chat_stream()
        assert answer.joined() == "noon"
        assert answer.finishes == ["stop"]
    else:
        answer = stage.messages_stream()
        assert answer.block_texts == "noon"
        kinds = [told["content_block"]["type"] for told in answer.said if "content_block" in told]
        assert kinds == ["text"]
