"""Event streams as upstreams really write them."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.conformance.stage import (
    CHAT,
    CHAT_TOOLS,
    MESSAGES,
    ONCE,
    Stage,
    Streamed,
    chat,
    messages,
)
from tests.fakes import script
from tests.fakes.script import Answer, End, Framing, Until, Wait, done, finish, sse, text, usage

WHOLE = (script.begin(), text("Riv"), text("er"), finish("stop"), done())


def check_river(answer: Streamed) -> None:
    """Check that the text is whole, and the end told once and in order."""
    assert answer.joined() == "River"
    assert answer.finishes == ["stop"]
    assert answer.dones == 1
    assert answer.events[-1].data == "[DONE]"


@pytest.mark.case("SSE-01")
@pytest.mark.parametrize("end", [b"\r\n", b"\r", b"\n"], ids=["crlf", "cr", "lf"])
def test_lines_may_end_in_any_way_the_standard_allows(stage: Stage, end: bytes) -> None:
    stage.upstream.plays(sse(*(write.replace(b"\n", end) for write in WHOLE)))

    answer = stage.chat_stream()

    check_river(answer)
    assert stage.row(answer)["outcome"] == "ok"


@pytest.mark.case("SSE-04")
def test_unicode_line_separators_inside_json_are_text(stage: Stage) -> None:
    said = "one\u2028two\u2029three\u0085four\x0cfive"
    stage.upstream.plays(sse(script.begin(), text(said), finish(), done()))

    answer = stage.chat_stream()

    assert answer.joined() == said
    assert stage.row(answer)["outcome"] == "ok"


@pytest.mark.case("SSE-05")
def test_a_character_cut_across_reads_arrives_whole(stage: Stage) -> None:
    said = "강물이🌊 흐른다"
    bytes_ = text(said)
    cuts = [bytes_.index("물".encode()) + 1, bytes_.index("🌊".encode()) + 2]
    first, second, third = bytes_[: cuts[0]], bytes_[cuts[0] : cuts[1]], bytes_[cuts[1] :]
    pauses = (first, Wait(0.03), second, Wait(0.03), third)
    stage.upstream.plays(sse(script.begin(), *pauses, finish(), done()))

    answer = stage.chat_stream()

    assert answer.joined() == said
    assert "UnicodeDecodeError" not in stage.gateway.log


@pytest.mark.case("SSE-05")
def test_a_stream_of_single_bytes_arrives_whole(stage: Stage) -> None:
    stage.upstream.plays(sse(*script.bytewise(*WHOLE)))

    check_river(stage.chat_stream())


@pytest.mark.case("SSE-06")
def test_comments_of_the_upstream_are_no_data(stage: Stage) -> None:
    busy = b": the queue is long\n\n"
    stage.upstream.plays(sse(busy, Wait(0.03), busy, *WHOLE))

    answer = stage.chat_stream()

    check_river(answer)
    assert not any((event.data or "").startswith(":") for event in answer.events)
    assert "queue" not in str(answer.said)


@pytest.mark.case("SSE-07")
def test_heartbeats_without_data_reach_no_client(stage: Stage) -> None:
    before = stage.gateway.log
    stage.upstream.plays(sse(b"data:\n\n", b"event: ping\ndata: \n\n", *WHOLE))

    answer = stage.chat_stream()

    check_river(answer)
    assert "" not in [event.data for event in answer.events]
    assert "error" not in stage.gateway.log.removeprefix(before).lower()


@pytest.mark.case("SSE-09")
def test_json_over_two_data_lines_is_one_chunk(stage: Stage) -> None:
    whole = text("River").replace(b',"choices"', b',\ndata: "choices"')
    tight = [write.replace(b"data: ", b"data:") for write in (script.begin(), finish(), done())]
    stage.upstream.plays(sse(tight[0], whole, *tight[1:]))

    check_river(stage.chat_stream())


@pytest.mark.case("SSE-10")
def test_a_whole_stream_in_one_read_keeps_its_events_apart(stage: Stage) -> None:
    stage.upstream.plays(sse(b"".join(WHOLE)))

    answer = stage.chat_stream()

    check_river(answer)
    assert [delta.get("content") for delta in answer.deltas if delta.get("content")] == [
        "Riv",
        "er",
    ]


@pytest.mark.case("SSE-12")
@pytest.mark.parametrize("framing", ["chunked", "close"])
@pytest.mark.parametrize("end", [end for end in get_args(End) if end != "hold"])
def test_an_answer_that_ends_short_ends_in_an_error(
    stage: Stage, framing: Framing, end: End
) -> None:
    short = (script.begin(), text("Riv"), Wait(0.03))
    stage.upstream.plays(sse(*short, framing=framing, end=end))

    answer = stage.chat_stream()

    assert answer.joined() == "Riv"
    assert answer.finishes == []
    assert len(answer.errors) == 1
    assert answer.errors[0]["message"]
    assert answer.said[-1].get("error")
    row = stage.row(answer)
    assert row["outcome"] != "ok"
    assert row["output_tokens"] >= 1


@pytest.mark.case("SSE-12")
def test_a_message_that_ends_short_ends_in_an_error_event(stage: Stage) -> None:
    opened = script.message_start() + script.text_opened("Riv")
    stage.upstream.plays(sse(opened, Wait(0.03)))

    answer = stage.messages_stream(model="an-model")

    assert answer.block_texts == "Riv"
    assert answer.names[-1] == "error"
    assert "message_stop" not in answer.names


@pytest.mark.case("SSE-14")
@pytest.mark.parametrize("left", [b"", b"data: [DO"], ids=["missing", "half"])
@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_an_answer_is_whole_without_its_terminal_line(
    stage: Stage, left: bytes, framing: Framing
) -> None:
    stage.upstream.plays(sse(*WHOLE[:-1], usage(13, 6), left, framing=framing))

    answer = stage.chat_stream()

    check_river(answer)
    row = stage.row(answer)
    assert row["outcome"] == "ok"
    assert (row["input_tokens"], row["output_tokens"]) == (13, 6)


@pytest.mark.case("SSE-15")
def test_the_last_text_may_come_with_the_finish_reason(stage: Stage) -> None:
    stage.upstream.plays(sse(script.begin(), text("Riv"), text("er", "length"), done()))

    answer = stage.chat_stream()

    assert answer.joined() == "River"
    assert answer.finishes == ["length"]
    assert answer.dones == 1


@pytest.mark.case("SSE-15")
def test_a_message_keeps_text_that_came_with_the_finish_reason(stage: Stage) -> None:
    stage.upstream.plays(sse(script.begin(), text("Riv"), text("er", "length"), done()))

    answer = stage.messages_stream()

    assert answer.block_texts == "River"
    assert answer.said[-2]["delta"]["stop_reason"] == "max_tokens"


@pytest.mark.case("SSE-16")
def test_a_line_of_half_a_megabyte_arrives_whole(stage: Stage) -> None:
    call = script.called("look_up", '{"q":"' + "r" * 600_000 + '"}', index=0, id="call_9")
    stage.upstream.plays(sse(script.begin(), script.call_delta(call), finish("tool_calls"), done()))

    answer = stage.chat_stream(tools=CHAT_TOOLS)

    calls = [call for delta in answer.deltas for call in delta.get("tool_calls", [])]
    arguments = "".join(call["function"].get("arguments", "") for call in calls)
    assert arguments == '{"q":"' + "r" * 600_000 + '"}'
    assert answer.finishes == ["tool_calls"]


@pytest.mark.case("SSE-17")
@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_an_empty_finish_reason_is_none(stage: Stage, framing: Framing) -> None:
    writes = (text("Riv", ""), Wait(0.02), text("er", ""), finish(), done())
    stage.upstream.plays(sse(*writes, framing=framing))

    answer = stage.chat_stream()

    check_river(answer)
    assert [choice.get("finish_reason") for choice in answer.choices[:-1]] == [None] * (
        len(answer.choices) - 1
    )


def crashed() -> Answer:
    """Answer 200 with nothing but an error in the stream."""
    said = {"message": "the engine fell over", "type": "server_error", "code": "e7"}
    return sse(script.frame({"error": said}))


@pytest.mark.case("SSE-19")
@pytest.mark.gateway(ONCE)
def test_an_error_instead_of_an_answer_gets_a_status_of_its_own(stage: Stage) -> None:
    stage.upstream.plays(crashed())

    answer = stage.post(CHAT, chat(stream=True))

    assert answer.status in {502, 503}
    assert "the engine fell over" in answer.json["error"]["message"]


@pytest.mark.case("SSE-19")
def test_an_error_instead_of_an_answer_is_tried_again(stage: Stage) -> None:
    stage.upstream.plays(crashed(), sse(*WHOLE))

    check_river(stage.chat_stream())
    assert len(stage.upstream.asked) == 2


@pytest.mark.case("SSE-20")
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_no_piece_waits_for_the_next(stage: Stage, path: str) -> None:
    came: list[str] = []

    def have_come(number: int) -> Until:
        return Until(lambda: len(came) == number)

    pieces = [write for word in range(8) for write in (have_come(word), text(f"{word} "))]
    stage.upstream.plays(sse(script.begin(), *pieces, finish(), done()))
    body = chat(stream=True) if path == CHAT else messages(stream=True)

    with stage.open(path, body) as answer:
        for event in answer.events():
            came += [f"{word} " for word in range(8) if f'"{word} "' in (event.data or "")]

    assert came == [f"{word} " for word in range(8)]
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    assert "content-encoding" not in answer.headers
