"""Tokens: counted once, told to who asked, and marked where they are a guess."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.conformance.stage import CHAT, Stage, chat
from tests.fakes import script
from tests.fakes.script import Wait, begin, counts, done, error, finish, frame, sse, text, usage
from tests.patience import eventually

ASK_USAGE = {"include_usage": True}


def tokens(row: Json) -> tuple[int, int]:
    """Return the input and output tokens of *row*."""
    return row["input_tokens"], row["output_tokens"]


@pytest.mark.case("USE-01")
@pytest.mark.parametrize("wish", [{}, {"stream_options": {"include_usage": False}}])
def test_usage_that_nobody_asked_for_is_counted_and_not_told(stage: Stage, wish: Json) -> None:
    stage.upstream.plays(sse(begin(), text("River"), finish(), usage(19, 6), done()))

    answer = stage.chat_stream(**wish)

    assert answer.usages == []
    assert all(told["choices"] for told in answer.said)
    row = stage.row(answer)
    assert tokens(row) == (19, 6)
    assert not row["estimated"]


@pytest.mark.case("USE-02")
def test_usage_told_twice_upstream_is_told_once(stage: Stage) -> None:
    last = script.shell([{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=counts(19, 6))
    stage.upstream.plays(sse(begin(), text("River"), frame(last), usage(19, 6), done()))

    answer = stage.chat_stream(stream_options=ASK_USAGE)

    assert len(answer.usages) == 1
    assert answer.usages[0]["choices"] == []
    assert answer.usages[0] == answer.said[-1]
    assert answer.usages[0]["usage"]["prompt_tokens"] == 19
    assert tokens(stage.row(answer)) == (19, 6)


@pytest.mark.case("USE-02")
def test_usage_told_only_with_the_finish_is_told_in_its_own_chunk(stage: Stage) -> None:
    last = script.shell([{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=counts(19, 6))
    stage.upstream.plays(sse(begin(), text("River"), frame(last), done()))

    answer = stage.chat_stream(stream_options=ASK_USAGE)

    assert [told["choices"] for told in answer.usages] == [[]]
    assert answer.said[-1]["usage"]["completion_tokens"] == 6


@pytest.mark.case("USE-03")
def test_running_totals_are_not_added_up(stage: Stage) -> None:
    def piece(content: str, wrote: int, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
        return frame(script.shell([choice], usage=counts(19, wrote)))

    details = {"prompt_tokens_details": {"cached_tokens": 16}}
    last = usage(19, 3, **details)
    stage.upstream.plays(
        sse(begin(), piece("Ri", 1), piece("ver", 2), piece("", 3, "stop"), last, done())
    )

    answer = stage.chat_stream(stream_options=ASK_USAGE)

    row = stage.row(answer)
    assert row["output_tokens"] == 3
    assert row["cache_read_tokens"] == 16
    assert row["input_tokens"] in {19, 3}  # with or without the part read from the cache
    assert [told["choices"] for told in answer.usages] == [[]]
    told = answer.usages[0]["usage"]
    assert (told["prompt_tokens"], told["completion_tokens"]) == (19, 3)
    assert told["prompt_tokens_details"]["cached_tokens"] == 16


@pytest.mark.case("USE-05")
@pytest.mark.parametrize("form", ["stream", "whole"])
def test_missing_usage_is_guessed_within_bounds_and_marked(stage: Stage, form: str) -> None:
    before = stage.total("lockgate_usage_estimated_total")
    said = "three short words"
    if form == "stream":
        stage.upstream.plays(sse(begin(), text(said), finish(), done()))
        request_id = stage.chat_stream(max_tokens=8).request_id
    else:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": said},
            "finish_reason": "stop",
        }
        top = {"id": "chatcmpl-77", "object": "chat.completion", "created": 1, "model": "real-oa"}
        stage.upstream.plays(script.body({**top, "choices": [choice]}))
        request_id = stage.chat(max_tokens=8).request_id

    (row,) = stage.rows(request_id)
    assert row["estimated"]
    assert row["input_tokens"] > 0
    assert 1 <= row["output_tokens"] <= 8
    owed = row["input_tokens"] * 3e-6 + row["output_tokens"] * 15e-6
    assert float(row["cost_usd"]) == pytest.approx(owed)
    assert eventually(lambda: stage.total("lockgate_usage_estimated_total") == before + 1)


@pytest.mark.case("USE-06")
def test_a_stream_with_nothing_in_it_costs_nothing(stage: Stage) -> None:
    stage.upstream.plays(*[sse()] * 3)

    answer = stage.post(CHAT, chat(stream=True))

    assert answer.status == 502
    for row in stage.rows(answer.request_id, least=3):
        assert float(row["cost_usd"]) == 0
        assert row["outcome"] != "ok"


@pytest.mark.case("USE-06")
def test_a_refused_call_costs_nothing(stage: Stage) -> None:
    stage.upstream.plays(error(401, "this key is not known", "authentication_error"))

    row = stage.row(stage.chat())

    assert float(row["cost_usd"]) == 0
    assert row["outcome"] == "authentication"


@pytest.mark.case("USE-07")
@pytest.mark.parametrize("path", ["chat", "messages"])
def test_a_client_that_leaves_pays_for_what_was_read(stage: Stage, path: str) -> None:
    pieces = [write for _ in range(40) for write in (text("word "), Wait(0.05))]
    stage.upstream.plays(sse(begin(), *pieces, finish(), usage(9, 40), done()))
    where = CHAT if path == "chat" else "/v1/messages"

    with stage.open(where, chat(stream=True, max_tokens=100)) as answer:
        seen = 0
        for event in answer.events():
            seen += "word" in (event.data or "")
            if seen == 3:
                break

    (row,) = stage.rows(answer.request_id)
    assert row["outcome"] == "client_disconnect"
    assert row["estimated"]
    assert row["input_tokens"] > 0
    assert 3 <= row["output_tokens"] <= 12
    assert float(row["cost_usd"]) > 0


@pytest.mark.case("USE-08")
def test_tokens_of_a_failed_attempt_are_counted_too(stage: Stage) -> None:
    stage.upstream.plays(script.choices(used=counts(19, 7)), script.completion(used=counts(19, 5)))

    answer = stage.chat()

    assert answer.status == 200
    rows = stage.rows(answer.request_id, least=2)
    assert [tokens(row) for row in rows] == [(19, 7), (19, 5)]
    assert answer.json["usage"]["completion_tokens"] == 5
    assert answer.headers["x-lockgate-calls"] == "2"
    owed = 38 * 3e-6 + 12 * 15e-6
    assert float(answer.headers["x-lockgate-cost-usd"]) == pytest.approx(owed)
