"""A client's own body sent on, wishes to think, and the count of a request's tokens."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.upstream.families import thinks_of
from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_responses.input_tokens import input_tokens_call, read_count
from techniques.core.errors import RequestRejected, UpstreamFailed
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay, Request, Sampling, ThinkingWish
from techniques.core.signatures import marked
from tests.gateway.upstream.openai_responses_samples import (
    RESPONSES,
    TARGET,
    able,
    asked,
    encoded,
    relayed,
    sent,
    thinking_target,
)

BODY: JsonObject = {
    "model": "real-rs",
    "input": [{"role": "user", "content": "hi"}],
    "store": True,
    "previous_response_id": "resp_1",
    "temperature": 0.3,
    "new_field": {"a": [1]},
}
INCLUDED = ["reasoning.encrypted_content"]
ON = ThinkingWish("on")


def test_a_relayed_body_goes_out_as_it_came_where_the_model_has_its_own_name() -> None:
    request = relayed(BODY)
    call = RESPONSES.encode(request, TARGET)

    assert request.relay is not None
    assert call.body == request.relay.raw
    assert call.warnings == ()


@pytest.mark.parametrize("bare", [False, True])
def test_a_relayed_body_differs_only_in_the_name_of_the_model(bare: bool) -> None:  # noqa: FBT001
    named = {**BODY, "model": "fast"}

    assert encoded(relayed(named, bare=bare)) == (BODY, set())


def test_a_stream_that_the_gateway_wants_is_asked_for() -> None:
    assert sent(relayed(BODY, stream=True)) == {**BODY, "stream": True}


def test_what_the_gateway_does_itself_is_not_asked_of_the_provider() -> None:
    assert sent(relayed({**BODY, "background": True})) == BODY


def test_a_relayed_body_loses_only_what_the_model_forbids() -> None:
    target = able(temperature=False)
    less = {name: value for name, value in BODY.items() if name != "temperature"}

    assert encoded(relayed(BODY), target) == (less, {("field_dropped", "temperature")})
    with pytest.raises(RequestRejected):
        RESPONSES.encode(replace(relayed(BODY), strict=True), target)


def test_a_feature_that_the_model_has_not_is_refused_in_a_relayed_body_too() -> None:
    picture = {"type": "input_image", "image_url": "https://x"}
    seen = {**BODY, "input": [{"role": "user", "content": [picture]}]}

    for body, target in (
        ({**BODY, "tools": [{"type": "function"}]}, able(tools=False)),
        ({**BODY, "include": ["message.output_text.logprobs"]}, able(logprobs=False)),
        ({**BODY, "text": {"format": {"type": "json_schema"}}}, able(json_schema=False)),
        (seen, able(vision=False)),
    ):
        with pytest.raises(RequestRejected):
            RESPONSES.encode(relayed(body), target)


@pytest.mark.parametrize("mark", ["anthropic:c2ln", "anthropic.redacted:b3A="])
@pytest.mark.parametrize("bare", [False, True])
def test_reasoning_of_another_maker_is_left_out_of_a_relayed_body(mark: str, bare: bool) -> None:  # noqa: FBT001
    own = {"type": "reasoning", "summary": [], "encrypted_content": "gA=="}
    words = {"role": "user", "content": "anthropic: is a word"}
    body = {**BODY, "input": [own, {**own, "encrypted_content": mark}, words]}
    left, warned = encoded(relayed(body, bare=bare))

    assert left == {**BODY, "input": [own, words]}
    assert warned == {("thinking_dropped", "input")}


def test_reasoning_that_the_gateway_named_and_nobody_signed_is_not_looked_up() -> None:
    made = {"type": "reasoning", "id": "rs_01a22cbacc4c_0", "summary": [{"text": "Hm"}]}
    theirs = {**made, "id": "rs_68c0ffee"}
    call = {"type": "function_call", "id": "rs_01a22cbacc4c_1", "call_id": "c", "name": "f"}
    body = {**BODY, "input": [made, theirs, call]}

    assert encoded(relayed(body)) == (
        {**BODY, "input": [theirs, call]},
        {("thinking_dropped", "input")},
    )


@pytest.mark.parametrize(
    ("told", "item", "named"),
    [
        (marked("gA==", "rs_1"), "rs_ours_0", {"id": "rs_1"}),
        (marked("gA=="), "rs_ours_0", {}),
        ("gA==", "rs_1", {"id": "rs_1"}),
    ],
)
def test_reasoning_in_a_relayed_body_goes_back_under_the_id_that_it_is_bound_to(
    told: str, item: str, named: JsonObject
) -> None:
    thought = {"type": "reasoning", "summary": [], "encrypted_content": told, "id": item}
    back = {"type": "reasoning", "summary": [], "encrypted_content": "gA==", **named}

    assert encoded(relayed({**BODY, "input": [thought]})) == ({**BODY, "input": [back]}, set())


def test_a_relay_of_another_dialect_is_decoded_first() -> None:
    relay = Relay("openai_chat", b"{}", {}, lambda: asked())
    request = Request("m", relay=relay)

    assert sent(request)["input"][0]["content"] == "hi"


def test_what_an_operator_says_of_thinking_is_said_for_a_relayed_body_that_does_not() -> None:
    target = replace(thinking_target("o3"), model="real-rs", thinking=ON, steered=True)
    own = {**BODY, "reasoning": {"summary": "detailed"}}
    plain = {name: value for name, value in BODY.items() if name != "temperature"}

    assert sent(relayed(plain), target)["reasoning"] == {"effort": "medium"}
    assert sent(relayed(own), replace(target, steered=True))["reasoning"] == {"summary": "detailed"}


@pytest.mark.parametrize(
    ("model", "wish", "told"),
    [
        ("o3", ON, {"effort": "medium", "summary": "auto"}),
        ("o3", ThinkingWish(effort="high"), {"effort": "high"}),
        ("o3", ThinkingWish("on", 3000), {"effort": "medium", "summary": "auto"}),
        ("gpt-5.2", ThinkingWish("off"), {"effort": "none"}),
        ("gpt-5", ThinkingWish("off"), {"effort": "minimal"}),
        ("o3", ThinkingWish("off"), {"effort": "low"}),
        ("qwen3-8b", ThinkingWish("off"), {"effort": "none"}),
        ("claude-sonnet-4-5", ThinkingWish("on", 1024), {"effort": "low", "summary": "auto"}),
        ("in-house", ThinkingWish(effort="high"), {"effort": "high"}),
    ],
)
def test_a_wish_to_think_is_told_as_an_effort(
    model: str, wish: ThinkingWish, told: JsonObject
) -> None:
    assert sent(asked(thinking=wish), thinking_target(model))["reasoning"] == told


@pytest.mark.parametrize(
    ("model", "wish", "stored", "told"),
    [
        ("o3", None, False, True),
        ("o3", ThinkingWish(effort="low"), False, True),
        ("o3", ThinkingWish("off"), False, True),
        ("o3", ON, True, False),
        ("gpt-5.2", ThinkingWish("off"), False, False),
        ("gpt-4o", None, False, False),
        ("gpt-4o", ON, False, False),
        ("in-house", None, False, False),
        ("in-house", ON, False, True),
    ],
)
def test_reasoning_is_asked_for_in_the_form_that_can_be_sent_back_where_there_is_some(
    model: str,
    wish: ThinkingWish | None,
    stored: bool,  # noqa: FBT001
    told: bool,  # noqa: FBT001
) -> None:
    request = asked(thinking=wish, extra={"store": stored}, dialect="openai_responses")

    assert sent(request, thinking_target(model)).get("include") == (INCLUDED if told else None)


@pytest.mark.parametrize(
    ("dialect", "wish", "told"),
    [
        ("anthropic", ON, True),
        ("anthropic", None, False),
        ("anthropic", ThinkingWish("off"), False),
        ("openai_chat", ON, False),
        ("ollama", None, False),
    ],
)
def test_a_client_that_could_not_send_reasoning_back_or_did_not_ask_for_it_gets_no_empty_block(
    dialect: str,
    wish: ThinkingWish | None,
    told: bool,  # noqa: FBT001
) -> None:
    request = asked(thinking=wish, dialect=dialect)

    assert sent(request, thinking_target("o3")).get("include") == (INCLUDED if told else None)


def test_a_model_that_cannot_help_thinking_gets_room_for_it() -> None:
    request = asked(thinking=ThinkingWish("off"), sampling=Sampling(max_output_tokens=100))
    body, warned = encoded(request, thinking_target("o3"))

    assert body["max_output_tokens"] == 100 + 4096
    assert ("max_tokens_raised", "max_output_tokens") in warned


def test_what_thinking_forbids_beside_it_is_lost_by_name() -> None:
    sampling = Sampling(temperature=0.3, top_p=1.0, logprobs=True, top_logprobs=2)
    body, warned = encoded(asked(thinking=ON, sampling=sampling), thinking_target("gpt-5.2"))

    assert not {"temperature", "top_p", "top_logprobs"} & body.keys()
    assert body["include"] == []
    assert warned == {("field_dropped", "temperature"), ("field_dropped", "top_logprobs")}


def test_a_client_of_this_api_keeps_its_own_words_for_thinking() -> None:
    own = {"reasoning": {"summary": "detailed"}}
    request = asked(thinking=ThinkingWish(effort="high"), extra=own, dialect="openai_responses")

    assert sent(request, thinking_target("o3"))["reasoning"] == {
        "summary": "detailed",
        "effort": "high",
    }


@pytest.mark.parametrize(
    ("model", "style", "off"),
    [
        ("o3", "effort", ""),
        ("gpt-5", "effort", "minimal"),
        ("gpt-4o", "none", ""),
        ("claude-3-7-sonnet", "effort", "none"),
        ("claude-opus-5-5", "effort", ""),
        ("gemini-2.5-pro", "effort", ""),
        ("gemini-3-flash", "effort", "minimal"),
        ("qwen3-8b", "effort", "none"),
        ("deepseek-r1", "none", ""),
        ("kimi-k3", "effort", ""),
    ],
)
def test_every_family_is_told_in_efforts_or_not_at_all(model: str, style: Json, off: str) -> None:
    thinks = thinks_of(model, "openai_responses", "https://openrouter.ai/api/v1")

    assert (thinks.style, thinks.off, thinks.tags) == (style, off, ())
    assert bool(thinks.levels) == (style == "effort")


def test_the_count_of_tokens_is_asked_with_what_can_be_counted() -> None:
    body = {**BODY, "model": "fast", "stream": True, "tools": [], "reasoning": {"effort": "low"}}
    call = input_tokens_call(relayed(body), TARGET)

    assert call.path == "/responses/input_tokens"
    assert orjson.loads(call.body) == {
        "model": "real-rs",
        "input": BODY["input"],
        "previous_response_id": "resp_1",
        "tools": [],
        "reasoning": {"effort": "low"},
    }


def test_a_request_of_any_client_can_be_counted() -> None:
    call = input_tokens_call(asked(), TARGET)

    assert orjson.loads(call.body).keys() == {"model", "input"}


def test_the_count_is_read() -> None:
    assert read_count(b'{"object":"response.input_tokens","input_tokens":11}') == 11
    for wrong in (b"", b"[]", b"{}", b'{"input_tokens":-1}', b'{"input_tokens":"7"}'):
        with pytest.raises(UpstreamFailed):
            read_count(wrong)


def test_a_host_without_keys_gets_none() -> None:
    assert RESPONSES.authorization("k") == {"authorization": "Bearer k"}
    assert RESPONSES.authorization("") == {}


def test_a_target_is_told_by_its_own_name() -> None:
    assert sent(asked(), Target("a", "b", "theirs"))["model"] == "theirs"
