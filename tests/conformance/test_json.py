"""JSON that is broken, hostile or just very large."""

from __future__ import annotations

import pytest

from tests.conformance.stage import ASKED, CHAT, MESSAGES, RESPONSES, Stage, chat
from tests.fakes import script
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import KEYS

SURFACES = [CHAT, MESSAGES, RESPONSES]


def said(content: bytes, path: str = CHAT) -> bytes:
    """Return a request, for the surface at *path*, whose message is the JSON text *content*."""
    turns = "input" if path == RESPONSES else "messages"
    head = f'{{"model":"oa-model","max_tokens":64,"{turns}":[{{"role":"user","content":'
    return head.encode() + content + b"}]}"


@pytest.mark.case("JSON-01")
@pytest.mark.parametrize("path", SURFACES)
@pytest.mark.parametrize("half", [rb'"tide \ud83c"', rb'"\udf0a tide"', rb'"\udf0a\ud83c"'])
def test_half_a_surrogate_pair_is_refused(stage: Stage, path: str, half: bytes) -> None:
    answer = stage.post(path, said(half, path))

    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"
    assert stage.upstream.asked == []


@pytest.mark.case("JSON-01")
@pytest.mark.parametrize("path", SURFACES)
def test_a_whole_surrogate_pair_is_one_character(stage: Stage, path: str) -> None:
    stage.upstream.plays(script.completion())

    assert stage.post(path, said(rb'"tide \ud83c\udf0a"', path)).status == 200
    assert "tide 🌊" in str(stage.upstream.asked[0].body["messages"])


@pytest.mark.case("JSON-03")
def test_numbers_that_json_has_not_are_replaced(stage: Stage) -> None:
    likely = (
        b'{"content":[{"token":"a","logprob":0.0,"bytes":[97],"top_logprobs":['
        b'{"token":"b","logprob":-Infinity,"bytes":[98]},{"token":"c","logprob":NaN,"bytes":[99]}]}]}'
    )
    plain = script.dumps(
        {
            "id": "chatcmpl-77",
            "object": "chat.completion",
            "created": 1,
            "model": "real-oa",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "a"},
                    "logprobs": "HERE",
                    "finish_reason": "stop",
                }
            ],
            "usage": script.counts(3, 1),
        }
    )
    stage.upstream.plays(script.raw(plain.replace(b'"HERE"', likely)))

    answer = stage.chat(logprobs=True, top_logprobs=2)

    assert answer.status == 200
    top = answer.json["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    assert [entry["token"] for entry in top] == ["b", "c"]
    assert all(entry["logprob"] is None or entry["logprob"] < -99 for entry in top)


@pytest.mark.case("JSON-03")
def test_a_stream_with_numbers_that_json_has_not_stays_json(stage: Stage) -> None:
    piece = script.chunk({"content": "a"}, logprobs="HERE")
    likely = b'{"content":[{"token":"a","logprob":-Infinity,"bytes":[97],"top_logprobs":[]}]}'
    stage.upstream.plays(
        script.sse(script.begin(), piece.replace(b'"HERE"', likely), script.finish(), script.done())
    )

    answer = stage.chat_stream(logprobs=True)

    assert answer.joined() == "a"
    assert answer.finishes == ["stop"]


@pytest.mark.case("JSON-04")
def test_bottomless_nesting_is_refused_fast(stage: Stage) -> None:
    before = stage.gateway.worked_s()

    answers = [stage.post(CHAT, b"[" * 20_000 + b"]" * 20_000) for _ in range(3)]

    assert {answer.status for answer in answers} == {400}
    assert stage.gateway.worked_s() - before < 1.0  # some ms each


@pytest.mark.case("JSON-04")
@pytest.mark.parametrize("member", [b'"metadata":', b'"tools":'])
@pytest.mark.parametrize("path", SURFACES)
def test_nesting_inside_a_request_never_breaks_a_worker(
    stage: Stage, path: str, member: bytes
) -> None:
    deep = b'{"a":' * 1_000 + b"1" + b"}" * 1_000
    inside = b'[{"type":"function","function":{"name":"f","parameters":' + deep + b"}}]"
    value = deep if member == b'"metadata":' else inside
    body = said(b'"hello"', path)[:-1] + b"," + member + value + b"}"
    stage.upstream.plays(script.completion())

    assert stage.post(path, body).status == 400
    assert stage.upstream.asked == []
    assert stage.post(path, said(b'"hello"', path)).status == 200


@pytest.mark.case("JSON-05")
@pytest.mark.parametrize("path", SURFACES)
@pytest.mark.parametrize(
    "body",
    [
        b'{"model":',
        b"[]",
        b'"tide"',
        b"null",
        b"7",
        b"",
        b'{"model":"\xff"}',
        b"{}",
        b'{"model":7,"messages":[]}',
        b'{"model":"oa-model","model":"an-model","messages":[],"max_tokens":1}',
        b'{"model":"oa-model","max_tokens":NaN,"messages":[]}',
    ],
)
def test_a_body_that_is_no_request_is_the_clients_mistake(
    stage: Stage, path: str, body: bytes
) -> None:
    answer = stage.post(path, body)

    assert answer.status == 400
    assert answer.json["error"]["type"] == "invalid_request_error"
    assert answer.json["error"]["message"]
    assert stage.upstream.asked == []


@pytest.mark.case("JSON-05")
def test_an_unknown_charset_is_no_crash(stage: Stage) -> None:
    stage.upstream.plays(script.completion())
    headers = {"content-type": "application/json; charset=nope"}

    assert stage.post(CHAT, said(b'"hello"'), headers=headers).status in {200, 400, 415}
    stage.upstream.plays()


@pytest.mark.case("JSON-07")
@pytest.mark.parametrize("announced", ["length", "chunked"])
def test_a_body_beyond_the_limit_is_refused_unread(stage: Stage, announced: str) -> None:
    before = stage.gateway.memory()
    headers = {"authorization": f"Bearer {KEYS['k1']}"}
    if announced == "length":
        sent = request(CHAT, b"", {**headers, "content-length": "60000000"}) + b" " * 9_000_000
    else:
        head = request(CHAT, None, {**headers, "transfer-encoding": "chunked"})
        sent = head + b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        sent += (b"100000\r\n" + b" " * 0x100000 + b"\r\n") * 30

    with Exchange(stage.gateway.port, sent) as answer:
        stage.received.append(answer)
        assert answer.status == 413

    assert stage.gateway.memory() - before < 30_000_000


@pytest.mark.case("JSON-07")
def test_a_large_image_passes_and_holds_up_nobody(stage: Stage) -> None:
    picture = "A" * 6_000_000
    url = f"data:image/png;base64,{picture}"
    part = {"type": "image_url", "image_url": {"url": url}}
    stage.upstream.chooses(lambda _asked: script.completion())

    work = []
    for _ in range(3):  # what holds up others is work on it
        before = stage.gateway.worked_s()
        large = stage.chat(messages=[*ASKED, {"role": "user", "content": [part]}])
        work.append(stage.gateway.worked_s() - before)
        assert large.status == 200

    sent = max(stage.upstream.asked, key=lambda asked: len(asked.raw))
    assert sent.body["messages"][-1]["content"][0]["image_url"]["url"] == url
    assert min(work) < 0.6


@pytest.mark.case("JSON-07")
def test_ordinary_requests_still_pass(stage: Stage) -> None:
    stage.upstream.plays(script.completion())

    assert stage.post(CHAT, chat()).status == 200
