from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.providers.anthropic.count_tokens import count_tokens_call, read_count
from techniques.core.capabilities import Capabilities
from techniques.core.errors import RequestRejected, UpstreamFailed
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Relay,
    Request,
    ResponseFormat,
    Sampling,
    ThinkingWish,
    said,
)
from tests.gateway.upstream.anthropic_samples import ANTHROPIC, TARGET

HI = said("user", "hi")
PLAIN = Request("m", (HI,), dialect="openai_chat")
OWN = replace(PLAIN, dialect="anthropic")
COLD = replace(TARGET, capabilities=Capabilities(temperature=False))


def encoded(request: Request, target: Target = TARGET) -> tuple[JsonObject, set[tuple[str, str]]]:
    call: HttpCall = ANTHROPIC.encode(request, target)
    return orjson.loads(call.body), {(warned.code, warned.detail) for warned in call.warnings}


def test_blank_stop_texts_are_not_sent() -> None:
    """ANT-19. The gateway stops at them itself: see test_stopping."""
    body, warned = encoded(replace(PLAIN, sampling=Sampling(stop=("\n", "END", ""))))

    assert body["stop_sequences"] == ["END"]
    assert warned == set()


def test_a_temperature_above_one_is_cut_to_one() -> None:
    body, warned = encoded(replace(PLAIN, sampling=Sampling(temperature=1.7, top_p=1.0, top_k=9)))

    assert (body["temperature"], body["top_k"]) == (1.0, 9)
    assert "top_p" not in body
    assert warned == {("temperature_clamped", "temperature")}


@pytest.mark.parametrize(
    ("model", "temperature", "sent"),
    [
        ("claude-sonnet-4-5", 0.3, {"temperature": 0.3}),
        ("claude-opus-4-1-20250805", 1.7, {"temperature": 1}),
        ("claude-haiku-4-5-20251001", 1, {"top_p": 0.5}),
        ("anthropic/claude-opus-4.6", 0, {"temperature": 0}),
        ("claude-sonnet-4-5", None, {"top_p": 0.5}),
        ("claude-sonnet-4-20250514", 0.3, {"temperature": 0.3, "top_p": 0.5}),
        ("another-model", 0.3, {"temperature": 0.3, "top_p": 0.5}),
    ],
)
def test_a_model_that_takes_one_of_two_ways_to_draw_gets_one(
    model: str, temperature: float | None, sent: JsonObject
) -> None:
    request = replace(PLAIN, sampling=Sampling(temperature=temperature, top_p=0.5))

    body, warned = encoded(request, replace(TARGET, model=model))
    own, unwarned = encoded(replace(request, dialect="anthropic"), replace(TARGET, model=model))

    assert {name: body[name] for name in ("temperature", "top_p") if name in body} == sent
    lost = temperature is not None and "top_p" not in sent
    assert (("field_dropped", "top_p") in warned) is lost
    assert own["top_p"] == 0.5
    assert ("field_dropped", "top_p") not in unwarned


def test_tuning_that_has_no_counterpart_is_dropped_by_name() -> None:
    """PAR-03."""
    sampling = Sampling(seed=7, presence_penalty=0.5, frequency_penalty=0.0)
    extra = {"logit_bias": {"1": -1}, "store": True, "stream_options": {}, "modalities": ["text"]}
    body, warned = encoded(replace(PLAIN, sampling=sampling, extra=extra))

    assert body.keys() == {"model", "max_tokens", "messages"}
    assert warned == {
        ("field_dropped", name) for name in ("seed", "presence_penalty", "logit_bias", "store")
    }


@pytest.mark.parametrize(
    ("request_", "param"),
    [
        (replace(PLAIN, sampling=Sampling(seed=7)), "seed"),
        (replace(PLAIN, extra={"logit_bias": {"1": 1}}), "logit_bias"),
        (replace(PLAIN, response_format=ResponseFormat("json_object")), "response_format"),
        (
            replace(PLAIN, thinking=ThinkingWish(effort="high"), sampling=Sampling(0.5)),
            "max_tokens",
        ),
    ],
)
def test_a_strict_request_is_refused_where_it_would_lose_something(
    request_: Request, param: str
) -> None:
    with pytest.raises(RequestRejected) as rejected:
        ANTHROPIC.encode(replace(request_, strict=True), TARGET)

    assert rejected.value.param == param


def test_a_model_that_takes_no_temperature_gets_none() -> None:
    """PAR-01."""
    body, warned = encoded(replace(PLAIN, sampling=Sampling(temperature=0.2)), COLD)

    assert "temperature" not in body
    assert warned == {("field_dropped", "temperature")}


def test_fields_of_the_own_dialect_are_sent_on_and_merged() -> None:
    extra: dict[str, Json] = {
        "service_tier": "auto",
        "container": {"id": "c"},
        "output_config": {"later": 1},
        "metadata": {"team": "x"},
    }
    request = replace(OWN, extra=extra, user="u1", thinking=ThinkingWish(effort="max"))
    body, warned = encoded(request)

    assert (body["service_tier"], body["container"]) == ("auto", {"id": "c"})
    assert body["output_config"] == {"later": 1, "effort": "max"}
    assert body["metadata"] == {"team": "x", "user_id": "u1"}
    assert "thinking" not in body
    assert warned == set()


def relayed(body: JsonObject, *, raw: bytes | None = None, **fields: Json) -> Request:
    relay = Relay("anthropic", raw, body, lambda: Request("m"))
    return replace(Request("an-model", stream=bool(body.get("stream")), relay=relay), **fields)


def test_a_relayed_body_goes_out_as_it_came_where_the_model_has_its_own_name() -> None:
    raw = b'{ "model" :"claude-example-1", "messages": [] , "later":1}'
    call = ANTHROPIC.encode(relayed(orjson.loads(raw), raw=raw), TARGET)

    assert call.body is raw
    assert call.warnings == ()


def test_a_relayed_body_differs_only_in_the_name_of_the_model() -> None:
    body = {"model": "an-model", "messages": [{"role": "user", "content": ""}], "later": [1]}
    call = ANTHROPIC.encode(relayed(body, raw=orjson.dumps(body)), TARGET)

    assert orjson.loads(call.body) == {**body, "model": "claude-example-1"}
    assert body["model"] == "an-model"


def test_a_relayed_body_without_its_bytes_is_written_anew() -> None:
    body: JsonObject = {"model": "claude-example-1", "messages": []}

    assert orjson.loads(ANTHROPIC.encode(relayed(body), TARGET).body) == body


def test_a_relayed_body_loses_only_what_the_model_forbids() -> None:
    body: JsonObject = {"model": "m", "temperature": 0.3, "max_tokens": 5}
    call = ANTHROPIC.encode(relayed(body), COLD)

    assert orjson.loads(call.body) == {"model": "claude-example-1", "max_tokens": 5}
    assert [warned.detail for warned in call.warnings] == ["temperature"]
    with pytest.raises(RequestRejected):
        ANTHROPIC.encode(relayed(body, strict=True), COLD)
    target = replace(TARGET, capabilities=Capabilities(tools=False))
    with pytest.raises(RequestRejected):
        ANTHROPIC.encode(relayed({"model": "m", "tools": [{"name": "f"}]}), target)


def test_version_and_betas_are_the_clients_own_in_its_own_dialect() -> None:
    headers = {"anthropic-version": "2024-01-01", "anthropic-beta": "b-1", "cookie": "x"}
    own = ANTHROPIC.encode(relayed({"model": "m"}, headers=headers), TARGET).headers
    foreign = ANTHROPIC.encode(replace(PLAIN, headers=headers), TARGET).headers

    assert own == {
        "content-type": "application/json",
        "anthropic-version": "2024-01-01",
        "anthropic-beta": "b-1",
    }
    assert foreign == {"content-type": "application/json", "anthropic-version": "2023-06-01"}


def test_a_relay_of_another_dialect_is_decoded_first() -> None:
    relay = Relay("openai_chat", b"{}", {}, lambda: PLAIN)
    body, _ = encoded(Request("an-model", relay=relay, stream=True))

    assert body["messages"][0]["content"][0]["text"] == "hi"
    assert body["stream"] is True


def test_the_key_goes_into_its_own_header() -> None:
    assert ANTHROPIC.authorization("k") == {"x-api-key": "k"}


def test_tokens_are_counted_without_the_fields_that_the_endpoint_refuses() -> None:
    body = {"model": "an-model", "messages": [], "max_tokens": 5, "stream": True}
    call = count_tokens_call(Relay("anthropic", b"{}", body, lambda: PLAIN), TARGET)

    assert call.path == "/v1/messages/count_tokens"
    assert orjson.loads(call.body) == {"model": "claude-example-1", "messages": []}
    assert read_count(b'{"input_tokens": 16}') == 16


@pytest.mark.parametrize("body", [b"", b"[]", b'{"input_tokens":"many"}'])
def test_a_count_that_is_none_is_a_failure(body: bytes) -> None:
    with pytest.raises(UpstreamFailed):
        read_count(body)
