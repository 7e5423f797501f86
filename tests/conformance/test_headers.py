"""Which headers pass, and in which form bodies do."""

from __future__ import annotations

import pytest

from tests.conformance.stage import CHAT, Stage, chat
from tests.fakes import script
from tests.fakes.gateway import UPSTREAM_KEYS


@pytest.mark.case("HDR-01")
@pytest.mark.parametrize("model", ["oa-model", "an-model"])
def test_credentials_and_private_headers_of_a_client_stay_here(stage: Stage, model: str) -> None:
    names = ["x-api-key", "x-goog-api-key", "api-key", "cookie", "x-internal-secret"]
    private = {name: f"PRIVATE{at}" for at, name in enumerate(names)}
    private["proxy-authorization"] = "Basic PRIVATE9"
    stage.upstream.plays(script.completion() if model == "oa-model" else script.message())

    assert stage.chat(model=model, headers=private).status == 200

    asked = stage.upstream.asked[0]
    assert not [value for _, value in asked.headers if "PRIVATE" in value]
    if model == "oa-model":
        assert asked.header("authorization") == f"Bearer {UPSTREAM_KEYS['oa']}"
        assert asked.header("x-api-key") is None
    else:
        assert asked.header("x-api-key") == UPSTREAM_KEYS["an"]
        assert asked.header("authorization") is None


@pytest.mark.case("HDR-03")
@pytest.mark.parametrize("accepted", ["gzip", "identity"])
@pytest.mark.parametrize("surface", ["chat", "messages"])
def test_a_zipped_answer_agrees_with_its_headers(stage: Stage, accepted: str, surface: str) -> None:
    said = {"role": "assistant", "content": "ripple " * 400}
    choice = {"index": 0, "message": said, "finish_reason": "stop"}
    top = {"id": "chatcmpl-77", "object": "chat.completion", "created": 1, "model": "real-oa"}
    stage.upstream.plays(
        script.zipped({**top, "choices": [choice], "usage": script.counts(3, 400)})
    )

    headers = {"accept-encoding": accepted}
    answer = stage.chat(headers=headers) if surface == "chat" else stage.messages(headers=headers)

    assert answer.status == 200
    assert said["content"] in str(answer.json)
    if accepted == "identity":
        assert "content-encoding" not in answer.headers
    if "content-length" in answer.headers:
        assert int(answer.headers["content-length"]) == len(stage.received[0].received)


@pytest.mark.case("HDR-05")
def test_headers_of_one_connection_end_with_it(stage: Stage) -> None:
    hops = {
        "connection": "keep-alive, x-hop",
        "x-hop": "1",
        "te": "trailers",
        "keep-alive": "timeout=5",
        "upgrade": "h2c",
        "host": "host.test",
    }
    stage.upstream.plays(script.completion())

    assert stage.post(CHAT, chat(), headers=hops).status == 200

    asked = stage.upstream.asked[0]
    assert asked.header("host") == f"127.0.0.1:{stage.upstream.port}"
    for name in ("te", "keep-alive", "upgrade", "x-hop"):
        assert asked.header(name) is None
    framings = [
        name for name, _ in asked.headers if name in {"content-length", "transfer-encoding"}
    ]
    assert len(framings) == 1
    if framings == ["content-length"]:
        assert int(asked.header("content-length") or 0) == len(asked.raw)
