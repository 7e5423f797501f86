"""Content filters and other habits of hosts that are nearly OpenAI."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.conformance.stage import Stage
from tests.fakes import script
from tests.fakes.script import begin, done, finish, frame, sse, text

SAFE = {"hate": {"filtered": False, "severity": "safe"}}


@pytest.mark.case("FLT-01")
@pytest.mark.parametrize("surface", ["chat", "messages"])
def test_a_first_chunk_without_choices_or_names_is_harmless(stage: Stage, surface: str) -> None:
    results = [{"prompt_index": 0, "content_filter_results": SAFE}]
    bare = {"id": "", "object": "", "created": 0, "model": "", "choices": []}
    stage.upstream.plays(
        sse(
            frame({**bare, "prompt_filter_results": results}),
            begin(),
            text("River"),
            finish(),
            done(),
        )
    )

    if surface == "messages":
        answer = stage.messages_stream()
        assert answer.block_texts == "River"
        assert answer.said[0]["message"]["id"]
        return
    answer = stage.chat_stream()
    assert answer.joined() == "River"
    assert answer.finishes == ["stop"]
    names = {told["id"] for told in answer.said if not told.get("prompt_filter_results")}
    assert len(names) == 1
    assert "" not in names


@pytest.mark.case("FLT-02")
def test_every_choice_has_a_delta(stage: Stage) -> None:
    late = {
        "index": 0,
        "finish_reason": None,
        "content_filter_results": SAFE,
        "content_filter_offsets": {"check_offset": 3},
    }
    stage.upstream.plays(sse(begin(), text("River"), frame(script.shell([late])), finish(), done()))

    answer = stage.chat_stream()

    assert answer.joined() == "River"
    assert answer.finishes == ["stop"]
    assert all(isinstance(choice.get("delta"), dict) for choice in answer.choices)


@pytest.mark.case("FLT-03")
@pytest.mark.parametrize(
    ("native", "told"), [("content_filter", "content_filter"), ("MAX_TOKENS", "length")]
)
def test_an_answer_without_content_keeps_its_reason(stage: Stage, native: str, told: str) -> None:
    stage.upstream.plays(script.completion(message={"role": "assistant"}, reason=native))

    answer = stage.chat()

    assert answer.status == 200
    choice = answer.json["choices"][0]
    assert choice["message"]["content"] in {None, ""}
    assert choice["finish_reason"] == told


@pytest.mark.case("FLT-03")
def test_a_filtered_answer_is_a_refusal_to_a_messages_client(stage: Stage) -> None:
    said = {"role": "assistant", "content": None}
    stage.upstream.plays(script.completion(message=said, reason="content_filter"))

    answer = stage.messages()

    assert answer.status == 200
    assert answer.json["content"] == []
    assert answer.json["stop_reason"] == "refusal"


@pytest.mark.case("FLT-04")
@pytest.mark.parametrize(
    ("native", "told"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), ("SAFETY", "content_filter")],
)
def test_finish_reasons_in_capitals_are_told_in_openais_words(
    stage: Stage, native: str, told: Json
) -> None:
    stage.upstream.plays(
        script.completion("River", native),
        sse(begin(), text("River"), finish(native), done()),
    )

    whole, streamed = stage.chat(), stage.chat_stream()

    assert whole.json["choices"][0]["finish_reason"] == told
    assert streamed.finishes == [told]
