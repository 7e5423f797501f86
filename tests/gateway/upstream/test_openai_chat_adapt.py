from __future__ import annotations

from typing import Any

import orjson
import pytest

from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.request import (
    Relay,
    Request,
)
from tests.gateway.upstream.openai_chat_bytes import OPENAI, TARGET
from tests.gateway.upstream.openai_chat_calls import (
    ASKED,
    adapted,
    neutral,
    relayed,
    target,
    written,
)


def test_a_body_that_needs_no_change_is_sent_as_its_own_bytes() -> None:
    body = {**ASKED, "model": "host-model-1", "some_new_field": {"z": 1}}
    request = relayed(body)
    assert request.relay is not None

    assert OPENAI.encode(request, TARGET).body is request.relay.raw


def test_a_relayed_body_differs_only_in_model_and_stream_options_par_03() -> None:
    body = {**ASKED, "n": 2, "logit_bias": {"1": -1}, "store": True, "some_new_field": {"z": 1}}
    body["stream"] = True
    before = orjson.dumps(body)

    sent, call = written(relayed(body, stream=True))

    options = {"include_usage": True}
    assert sent == {**body, "model": "host-model-1", "stream_options": options}
    assert (orjson.dumps(body), call.warnings) == (before, ())


def test_a_client_may_not_switch_the_count_off_use_01() -> None:
    options = {"include_usage": False, "include_obfuscation": False}
    body = {**ASKED, "stream": True, "stream_options": options}

    sent, _ = written(relayed(body, stream=True))

    assert sent["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    assert options["include_usage"] is False


def test_a_target_without_stream_usage_is_not_asked_for_it() -> None:
    body = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}

    assert (
        "stream_options" not in written(relayed(body, stream=True), target(stream_usage=False))[0]
    )


def test_a_relayed_body_can_be_asked_for_in_the_other_form() -> None:
    assert written(relayed({**ASKED, "stream": True}))[0]["stream"] is False


def test_a_relay_of_another_dialect_is_decoded_and_written() -> None:
    relay = Relay("anthropic", b"{}", {}, lambda: neutral(dialect="anthropic", user="u"))

    assert written(Request("fast", relay=relay))[0] == {
        **ASKED,
        "model": "host-model-1",
        "user": "u",
    }


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"max_tokens": 50}, {"max_completion_tokens": 50}),
        ({"max_tokens": 50, "max_completion_tokens": 60}, {"max_completion_tokens": 60}),
        ({"max_completion_tokens": 60}, {"max_completion_tokens": 60}),
        ({"max_tokens": None, "max_completion_tokens": 60}, {"max_completion_tokens": 60}),
    ],
)
def test_the_output_limit_has_one_name_par_01(
    limits: dict[str, int], expected: dict[str, int]
) -> None:
    assert adapted(limits, max_completion_tokens=True)[0] == {
        **ASKED,
        "model": "host-model-1",
        **expected,
    }


def test_a_target_of_the_old_name_gets_it_par_01() -> None:
    sent = [
        adapted(limits, max_completion_tokens=False)[0]
        for limits in ({"max_completion_tokens": 9}, {"max_tokens": 9})
    ]

    assert [(body.get("max_tokens"), len(body)) for body in sent] == [(9, 3), (9, 3)]


@pytest.mark.parametrize(
    ("limits", "sent"),
    [
        ({"max_completion_tokens": 9}, {"max_completion_tokens": 9}),
        ({"max_tokens": 9}, {"max_tokens": 9}),
        ({"max_tokens": 9, "max_completion_tokens": 8}, {"max_completion_tokens": 8}),
        (
            {"max_tokens": None, "max_completion_tokens": 8},
            {"max_tokens": None, "max_completion_tokens": 8},
        ),
    ],
)
def test_where_no_name_is_known_the_limit_keeps_the_clients_par_01(
    limits: dict[str, int], sent: dict[str, int]
) -> None:
    assert adapted(limits)[0] == {**ASKED, "model": "host-model-1", **sent}


def test_temperature_is_left_out_with_a_warning_par_01() -> None:
    sent, warnings = adapted({"temperature": 0.2, "top_p": 1}, temperature=False)

    assert sent == {**ASKED, "model": "host-model-1"}
    assert warnings == (Warned("field_dropped", "temperature"),)


def test_a_seed_is_left_out_with_a_warning_and_refused_when_strict() -> None:
    assert adapted({"seed": 7}, seed=False)[1] == (Warned("field_dropped", "seed"),)
    with pytest.raises(RequestRejected) as caught:
        OPENAI.encode(relayed({**ASKED, "seed": 7}, strict=True), target(seed=False))
    assert caught.value.param == "seed"


@pytest.mark.parametrize(
    ("body", "capability", "param"),
    [
        ({"n": 2}, "n", "n"),
        ({"logprobs": True}, "logprobs", "logprobs"),
        ({"tools": [{"type": "function"}]}, "tools", "tools"),
        ({"functions": [{"name": "f"}]}, "tools", "functions"),
        ({"response_format": {"type": "json_schema"}}, "json_schema", "response_format"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "vision",
            "messages",
        ),
    ],
)
def test_a_feature_that_the_target_has_not_is_refused_par_03_par_04(
    body: dict[str, Any], capability: str, param: str
) -> None:
    adapted(body)
    with pytest.raises(RequestRejected) as caught:
        adapted(body, **{capability: False})
    assert caught.value.param == param


def test_developer_turns_become_system_turns_par_02() -> None:
    turns = [{"role": "developer", "content": "D"}, {"role": "user", "content": "hi"}]

    assert adapted({"messages": turns}, developer_role=False)[0]["messages"][0]["role"] == "system"
    assert adapted({"messages": turns})[0]["messages"] == turns


def test_several_instructions_are_joined_into_a_leading_one_ant_22() -> None:
    late = [{"type": "text", "text": "S3"}]
    turns = [
        {"role": "system", "content": "S1"},
        {"role": "developer", "content": "S2"},
        {"role": "user", "content": "a"},
        {"role": "system", "content": late},
    ]

    assert adapted({"messages": turns}, developer_role=False, many_systems=False)[0][
        "messages"
    ] == [
        {"role": "system", "content": "S1\n\nS2\n\nS3"},
        {"role": "user", "content": "a"},
    ]
