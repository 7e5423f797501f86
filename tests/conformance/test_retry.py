"""What is tried again, what is not, and what a client is told when nothing helped."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.conformance.stage import Stage
from tests.fakes import script
from tests.fakes.script import Wait, begin, error, raw, sse, text
from tests.patience import SOON_S

OVERFLOW = error(
    400, "the context of 10 tokens is full", "invalid_request_error", "context_length_exceeded"
)


@pytest.mark.case("RET-01")
def test_a_used_up_account_is_not_asked_again(stage: Stage) -> None:
    spent = error(429, "the quota is used up", "insufficient_quota", "insufficient_quota")
    stage.upstream.plays(*[spent] * 4)

    answer = stage.chat()

    assert len(stage.upstream.asked) == 1
    assert answer.status == 429
    assert answer.json["error"]["code"] == "insufficient_quota"


@pytest.mark.case("RET-03")
def test_a_full_context_is_the_callers_matter_and_nobody_elses(stage: Stage) -> None:
    stage.upstream.plays(OVERFLOW, script.completion())

    first, second = stage.chat(), stage.chat()

    assert first.status == 400
    assert first.json["error"]["code"] == "context_length_exceeded"
    assert "the context of 10 tokens is full" in first.json["error"]["message"]
    assert second.status == 200
    assert second.took < SOON_S
    assert len(stage.upstream.asked) == 2


@pytest.mark.case("RET-04")
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 520, 522, 524, 529])
@pytest.mark.parametrize("model", ["oa-model", "an-model"])
def test_a_passing_failure_is_tried_again(stage: Stage, status: int, model: str) -> None:
    fine = script.completion() if model == "oa-model" else script.message()
    stage.upstream.plays(error(status), fine)

    assert stage.chat(model=model).status == 200
    assert len(stage.upstream.asked) == 2


@pytest.mark.case("RET-04")
@pytest.mark.parametrize(
    ("status", "told"), [(400, 400), (401, 502), (403, 403), (404, 404), (413, 413), (422, 422)]
)
def test_a_lasting_failure_is_told_at_once(stage: Stage, status: int, told: int) -> None:
    stage.upstream.plays(error(status, "no such luck", "invalid_request_error"))

    answer = stage.chat()

    assert len(stage.upstream.asked) == 1
    assert answer.status == told
    assert answer.json["error"]["message"]
    if status in {401, 403}:  # the gateway's own key is meant, not the client's
        assert answer.json["error"]["code"].startswith("upstream_")


@pytest.mark.case("RET-05")
def test_an_html_page_is_an_ordinary_failure(stage: Stage) -> None:
    page = b"<html><head><title>502</title></head><body><h1>502 Bad Gateway</h1></body></html>"
    stage.upstream.plays(
        raw(page, status=502, headers={"content-type": "text/html"}),
        raw(b"this origin may not", status=403, headers={}),
    )

    answer = stage.chat()

    assert len(stage.upstream.asked) == 2
    assert answer.status == 403
    assert "<" not in answer.json["error"]["message"]
    assert len(answer.json["error"]["message"]) < 500
    outcomes = [row["outcome"] for row in stage.rows(answer.request_id, least=2)]
    assert outcomes == ["server", "rejected"]


@pytest.mark.case("RET-06")
def test_an_empty_or_unreadable_answer_is_tried_again(stage: Stage) -> None:
    stage.upstream.plays(raw(b""), raw(b"<html>"), script.completion())

    answer = stage.chat()

    assert answer.status == 200
    assert len(stage.upstream.asked) == 3


@pytest.mark.case("RET-06")
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b"null"])
def test_nothing_but_unreadable_answers_is_a_bad_gateway(stage: Stage, body: bytes) -> None:
    stage.upstream.plays(*[raw(body)] * 3)

    answer = stage.chat()

    assert answer.status == 502
    assert answer.json["error"]["message"]
    assert len(stage.upstream.asked) == 3


@pytest.mark.case("RET-07")
@pytest.mark.parametrize("surface", ["chat", "messages"])
def test_what_was_sent_is_never_sent_again(stage: Stage, surface: str) -> None:
    stage.upstream.plays(sse(begin(), text("Riv"), Wait(0.02), end="reset"), script.told("River"))

    if surface == "chat":
        answer = stage.chat_stream()
        assert answer.joined() == "Riv"
        assert answer.errors
    else:
        answer = stage.messages_stream()
        assert answer.block_texts == "Riv"
        assert answer.names[-1] == "error"

    assert len(stage.upstream.asked) == 1


@pytest.mark.case("RET-07")
def test_a_connection_that_breaks_before_the_answer_begins_is_tried_again(stage: Stage) -> None:
    stage.upstream.plays(sse(b": queued\n\n", Wait(0.02), end="reset"), script.told("River"))

    answer = stage.chat_stream()

    assert answer.joined() == "River"
    assert answer.finishes == ["stop"]
    assert len(stage.upstream.asked) == 2


@pytest.mark.case("RET-09")
@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": "the model is busy", "type": "server_error", "code": 503}},
        {"error": {"message": "the model is busy", "code": "overloaded"}, "choices": []},
    ],
)
def test_an_error_with_status_200_is_an_error(stage: Stage, said: Json) -> None:
    stage.upstream.plays(script.body(said), script.completion())

    answer = stage.chat()

    assert answer.status == 200
    assert answer.json["choices"][0]["message"]["content"] == "fine"
    outcomes = [row["outcome"] for row in stage.rows(answer.request_id, least=2)]
    assert outcomes[0] != "ok"
    assert outcomes[1] == "ok"
