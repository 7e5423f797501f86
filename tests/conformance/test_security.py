"""Addresses, keys and names that a client has no say in, or must never see."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.conformance.stage import CHAT, MESSAGES, Stage, chat, messages
from tests.fakes import script
from tests.fakes.gateway import KEYS, UPSTREAM_KEYS
from tests.fakes.script import error
from tests.patience import SOON_S


@pytest.mark.case("SEC-01")
@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({"api_base": "http://elsewhere.test/v1"}, {}),
        ({"base_url": "http://169.254.169.254/"}, {}),
        ({"reliability": {"base_url": "http://elsewhere.test/"}}, {}),
        ({}, {"x-base-url": "http://elsewhere.test", "x-forwarded-host": "elsewhere.test"}),
        ({}, {"host": "elsewhere.test"}),
        ({"model": "openai/http://elsewhere.test/x"}, {}),
    ],
)
def test_a_client_has_no_say_in_where_a_call_goes(
    stage: Stage, fields: dict[str, Json], headers: dict[str, str]
) -> None:
    stage.upstream.chooses(lambda _asked: script.completion())

    answer = stage.chat(headers=headers, **fields)

    assert answer.status in {200, 400, 404}
    assert answer.took < SOON_S
    if answer.status == 200:  # answered by the configured upstream, and told nothing of the rest
        (asked,) = stage.upstream.asked
        assert asked.path == "/v1/chat/completions"
        assert not [value for _, value in asked.headers if "elsewhere" in value]


@pytest.mark.case("SEC-04")
@pytest.mark.parametrize(
    "name",
    [
        "../../admin",
        "oa-model/../../v1/files",
        "a%2F..%2Fb",
        "oa-model?x=1#y",
        "oa-model\r\nx-evil: 1",
        "@elsewhere.test/",
        "..\\..\\x",
        "self_consistency/../oa-model",
        "",
        "oa-model\x00",
    ],
)
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_model_name_is_a_name_and_no_path(stage: Stage, name: str, path: str) -> None:
    body = chat(model=name) if path == CHAT else messages(model=name)

    answer = stage.post(path, body)

    assert answer.status in {400, 404}
    assert answer.json["error"]["message"]
    assert "x-evil" not in answer.headers
    assert stage.upstream.asked == []


@pytest.mark.case("SEC-05")
def test_a_key_that_an_upstream_repeats_is_not_passed_on(stage: Stage) -> None:
    key = UPSTREAM_KEYS["oa"]
    stage.upstream.plays(
        error(401, f"Incorrect API key provided: {key}.", "invalid_request_error"),
        error(400, f"The request of {key} has a field too many.", "invalid_request_error", key),
        script.raw(f"teapot for {key}".encode(), status=418, headers={"x-request-id": key}),
    )

    for status in (502, 400, 400):
        answer = stage.chat()
        assert answer.status == status
        assert key not in f"{answer.headers}{answer.body.decode()}"
    assert key not in stage.gateway.log


@pytest.mark.case("SEC-05")
def test_a_key_in_a_stream_or_a_dead_upstreams_error_is_not_passed_on(stage: Stage) -> None:
    said = {"message": f"bad key {UPSTREAM_KEYS['oa']}", "type": "server_error"}
    stage.upstream.plays(*[script.sse(script.frame({"error": said}))] * 3)

    broken, dead = stage.post(CHAT, chat(stream=True)), stage.chat(model="oa-dead")

    assert broken.status in {502, 503}
    assert dead.status == 502
    for answer in (broken, dead):
        assert UPSTREAM_KEYS["oa"] not in answer.body.decode()
    assert UPSTREAM_KEYS["oa"] not in stage.gateway.log


@pytest.mark.case("SEC-06")
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_a_wrong_key_is_repeated_nowhere(stage: Stage, path: str, header: str) -> None:
    wrong = "sk-MISTAKEN5550123456789"
    value = f"Bearer {wrong}" if header == "authorization" else wrong

    answer = stage.post(path, messages(), key=None, headers={header: value})

    assert answer.status == 401
    assert "MISTAKEN" not in answer.body.decode()
    assert "MISTAKEN5550" not in stage.gateway.log
    assert stage.upstream.asked == []


@pytest.mark.case("SEC-08")
@pytest.mark.parametrize(
    "key",
    [
        KEYS["k1"][:1],
        KEYS["k1"][:-1],
        KEYS["k1"] + "x",
        KEYS["k1"].upper(),
        "",
        " ",
        "clé-é",
        "x" * 5_000,
    ],
)
def test_only_the_whole_key_opens(stage: Stage, key: str) -> None:
    headers = {"authorization": f"Bearer {key}"}

    answer = stage.post(CHAT, chat(), key=None, headers=headers)

    assert answer.status == 401
    assert stage.upstream.asked == []


@pytest.mark.case("SEC-08")
def test_no_key_at_all_opens_nothing(stage: Stage) -> None:
    assert stage.post(CHAT, chat(), key=None).status == 401
    assert stage.post(MESSAGES, messages(), key=None).status == 401
    assert stage.gateway.get("/v1/models").status == 401
    assert stage.gateway.get("/admin/ledger?request=x").status == 401
    assert stage.gateway.get("/admin/ledger?request=x", KEYS["k1"]).status in {401, 403}


@pytest.mark.case("ANT-25")
@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": KEYS["k1"]},
        {"authorization": f"bearer {KEYS['k1']}"},
        {"authorization": f"BEARER {KEYS['k1']}"},
    ],
    ids=["x-api-key", "bearer", "BEARER"],
)
@pytest.mark.parametrize("path", [MESSAGES, "/v1/chat/completions"])
def test_a_key_may_come_in_either_header(stage: Stage, headers: dict[str, str], path: str) -> None:
    stage.upstream.plays(script.completion())

    assert stage.post(path, messages(), key=None, headers=headers).status == 200


@pytest.mark.case("ANT-25")
def test_a_wrong_key_is_refused_in_the_dialect_of_messages(stage: Stage) -> None:
    answer = stage.post(MESSAGES, messages(), key=None, headers={"x-api-key": "not-a-key"})

    assert answer.status == 401
    assert answer.json["type"] == "error"
    assert answer.json["error"]["type"] == "authentication_error"
    assert stage.upstream.asked == []
