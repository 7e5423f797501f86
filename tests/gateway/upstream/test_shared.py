"""Settings that several APIs have are said in each one's words, to hosts known to take them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import orjson
import pytest

from gateway.config import ModelConfig, ProviderConfig
from gateway.policy.targets import target_of
from gateway.surfaces.spoken import DIALECTS
from gateway.upstream.provider import HttpCall, Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.upstream.shared import taken_by
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import Request

CHAT: Final = "openai_chat"
RESPONSES: Final = "openai_responses"
MESSAGES: Final = "anthropic"
PROVIDERS: Final[dict[str, Provider]] = {
    CHAT: OpenAIChat(),
    RESPONSES: OpenAIResponses(),
    MESSAGES: Anthropic(),
}
HELLO: Final[list[Json]] = [{"role": "user", "content": "hi"}]
ASKED: Final[dict[str, dict[str, Json]]] = {
    CHAT: {"messages": HELLO},
    RESPONSES: {"input": "hi"},
    MESSAGES: {"messages": HELLO, "max_tokens": 64},
}


def asked(dialect: str, **fields: Json) -> Request:
    body = {"model": "m", **ASKED[dialect], **fields}
    return DIALECTS[dialect].decode(body, orjson.dumps(body)).relay.decode()


def told(
    client: str, upstream: str, fields: dict[str, Json], vendor: str = "", *, strict: bool = False
) -> tuple[dict[str, Json], HttpCall]:
    """Return what of *fields* a provider is told, beside what it is told without them."""
    to = Target("m", "p", "m", takes=taken_by(vendor))
    provider = PROVIDERS[upstream]
    call = provider.encode(replace(asked(client, **fields), strict=strict), to)
    plain = orjson.loads(provider.encode(asked(client), to).body)
    body = orjson.loads(call.body)
    return {name: body[name] for name in body if body[name] != plain.get(name)}, call


CACHING: Final = {"mode": "explicit", "ttl": "30m"}
KEPT: list[tuple[str, str, str, dict[str, Json], dict[str, Json]]] = [
    (RESPONSES, CHAT, "openai", {name: value}, {name: value})
    for name, value in (
        ("service_tier", "flex"),
        ("service_tier", "default"),
        ("prompt_cache_key", "k"),
        ("prompt_cache_retention", "24h"),
        ("prompt_cache_options", CACHING),
        ("safety_identifier", "s"),
        ("moderation", {"model": "omni"}),
    )
]
KEPT += [
    (RESPONSES, CHAT, "azure", {"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}),
    (RESPONSES, CHAT, "mistral", {"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}),
    (RESPONSES, CHAT, "openai", {"text": {"verbosity": "low"}}, {"verbosity": "low"}),
    (RESPONSES, CHAT, "openrouter", {"text": {"verbosity": "high"}}, {"verbosity": "high"}),
    (CHAT, RESPONSES, "", {"verbosity": "low"}, {"text": {"verbosity": "low"}}),
    (CHAT, RESPONSES, "", {"service_tier": "default"}, {"service_tier": "default"}),
    (CHAT, RESPONSES, "", {"moderation": {"model": "o"}}, {"moderation": {"model": "o"}}),
    (CHAT, RESPONSES, "", {"safety_identifier": "s"}, {"safety_identifier": "s"}),
    (CHAT, RESPONSES, "", {"prompt_cache_options": {"ttl": "30m"}},
     {"prompt_cache_options": {"ttl": "30m"}}),
    (CHAT, MESSAGES, "", {"safety_identifier": "s"}, {"metadata": {"user_id": "s"}}),
    (CHAT, MESSAGES, "", {"service_tier": "default"}, {"service_tier": "standard_only"}),
    (RESPONSES, MESSAGES, "", {"service_tier": "default"}, {"service_tier": "standard_only"}),
    (RESPONSES, MESSAGES, "", {"safety_identifier": "s"}, {"metadata": {"user_id": "s"}}),
    (RESPONSES, CHAT, "", {"safety_identifier": "s"}, {"user": "s"}),
    (RESPONSES, CHAT, "groq", {"service_tier": "default"}, {}),
    (MESSAGES, CHAT, "openai", {"service_tier": "standard_only"}, {"service_tier": "default"}),
    (MESSAGES, CHAT, "", {"service_tier": "standard_only"}, {}),
    (MESSAGES, CHAT, "openrouter", {"top_k": 3}, {"top_k": 3}),
    (MESSAGES, RESPONSES, "", {"service_tier": "standard_only"}, {"service_tier": "default"}),
]  # fmt: skip


@pytest.mark.parametrize(("client", "upstream", "vendor", "fields", "expected"), KEPT)
def test_what_both_can_say_is_said(
    client: str,
    upstream: str,
    vendor: str,
    fields: dict[str, Json],
    expected: dict[str, Json],
) -> None:
    said, call = told(client, upstream, fields, vendor, strict=True)

    assert said == expected
    assert call.warnings == ()


@pytest.mark.parametrize("upstream", PROVIDERS)
@pytest.mark.parametrize(
    ("client", "fields"),
    [
        (CHAT, {"service_tier": "auto", "store": False, "modalities": ["text"], "logit_bias": {}}),
        (CHAT, {"stream_options": {"include_obfuscation": False}, "metadata": None}),
        (RESPONSES, {"service_tier": "auto", "metadata": {}, "text": {"verbosity": "medium"}}),
        (MESSAGES, {"service_tier": "auto", "speed": "standard", "container": None}),
    ],
)
def test_what_asks_for_nothing_is_no_loss(
    client: str, fields: dict[str, Json], upstream: str
) -> None:
    if client == upstream:
        pytest.skip("its own words")
    said, call = told(client, upstream, fields, strict=True)

    assert said == {}
    assert call.warnings == ()


LOST: list[tuple[str, str, str, dict[str, Json], str]] = [
    (RESPONSES, CHAT, vendor, {"prompt_cache_key": "k"}, "prompt_cache_key")
    for vendor in ("", "groq", "cerebras", "gemini")  # which refuse a body with it
]
LOST += [
    (RESPONSES, CHAT, "", {"service_tier": "flex"}, "service_tier"),
    (RESPONSES, CHAT, "", {"text": {"verbosity": "low"}}, "verbosity"),
    (RESPONSES, CHAT, "openai", {"metadata": {"a": "b"}}, "metadata"),
    (RESPONSES, CHAT, "openai", {"prompt_cache_options": {"ttl": "12h"}}, "prompt_cache_options"),
    (RESPONSES, CHAT, "openai", {"user": "u", "truncation": "auto"}, "truncation"),
    (RESPONSES, MESSAGES, "", {"user": "u", "safety_identifier": "s"}, "safety_identifier"),
    (RESPONSES, MESSAGES, "", {"service_tier": "flex"}, "service_tier"),
    (CHAT, MESSAGES, "", {"service_tier": "priority"}, "service_tier"),
    (CHAT, MESSAGES, "", {"verbosity": "low"}, "verbosity"),
    (MESSAGES, CHAT, "openai", {"service_tier": "of_the_future"}, "service_tier"),
    (MESSAGES, CHAT, "openai", {"speed": "fast"}, "speed"),
    (MESSAGES, RESPONSES, "", {"metadata": {"user_id": "u", "a": "b"}}, "metadata"),
]


@pytest.mark.parametrize(("client", "upstream", "vendor", "fields", "name"), LOST)
def test_what_cannot_be_said_is_named(
    client: str, upstream: str, vendor: str, fields: dict[str, Json], name: str
) -> None:
    said, call = told(client, upstream, fields, vendor)

    assert name not in said
    assert [(warning.code, warning.detail) for warning in call.warnings] == [
        ("field_dropped", name)
    ]
    with pytest.raises(RequestRejected) as refused:
        told(client, upstream, fields, vendor, strict=True)
    assert refused.value.param == name


@pytest.mark.parametrize(
    ("client", "upstream", "part"),
    [
        (CHAT, RESPONSES, {"type": "text", "text": "hi"}),
        (RESPONSES, CHAT, {"type": "input_text", "text": "hi"}),
    ],
)
def test_a_mark_for_openais_cache_goes_from_one_of_its_apis_to_the_other(
    client: str, upstream: str, part: dict[str, Json]
) -> None:
    mark = {"prompt_cache_breakpoint": {"ttl": "30m"}}
    turns = [{"role": "user", "content": [{**part, **mark}]}]
    field = "messages" if client == CHAT else "input"

    said, call = told(client, upstream, {field: turns}, "openai", strict=True)

    (turn,) = said["messages" if upstream == CHAT else "input"]
    assert turn["content"][0].items() >= mark.items()
    assert call.warnings == ()


MARK: Final = {"type": "ephemeral"}
MARKED: Final[dict[str, Json]] = {
    "system": [{"type": "text", "text": "be brief", "cache_control": MARK}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARK}]}
    ],
    "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": MARK}],
}  # fmt: skip


def test_marks_for_anthropics_cache_reach_it_through_openrouter() -> None:
    said, call = told(MESSAGES, CHAT, MARKED, "openrouter", strict=True)

    marked = [{"type": "text", "text": "be brief", "cache_control": MARK}]
    assert said["messages"][0] == {"role": "system", "content": marked}
    assert said["messages"][1]["content"][0]["cache_control"] == MARK
    assert said["tools"][0]["cache_control"] == MARK
    assert call.warnings == ()


def test_a_mark_on_the_result_of_a_tool_stands_where_openrouter_reads_it() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": "a", "cache_control": MARK}
    called = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    turns = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [called]},
        {"role": "user", "content": [result]},
    ]
    said, _ = told(MESSAGES, CHAT, {"messages": turns}, "openrouter", strict=True)

    content = [{"type": "text", "text": "a", "cache_control": MARK}]
    assert said["messages"][-1] == {"role": "tool", "tool_call_id": "c", "content": content}


@pytest.mark.parametrize(
    ("address", "stated", "takes"),
    [
        ("https://api.openai.com/v1", {}, "verbosity"),
        ("https://a.openai.azure.com/openai/v1", {}, "verbosity"),
        ("https://openrouter.ai/api/v1", {}, "cache_control"),
        ("https://proxy.test/v1", {"vendor": "openai"}, "verbosity"),
        ("https://proxy.test/v1", {}, None),
        ("https://api.groq.com/openai/v1", {}, None),
    ],
)
def test_whose_host_it_is_tells_what_it_takes(
    address: str, stated: dict[str, Json], takes: str | None
) -> None:
    account = ProviderConfig(dialect="openai_chat", base_url=address, **stated)
    target = target_of(ModelConfig(name="m", provider="p"), account, "m")

    assert (takes in target.takes) if takes else (target.takes == frozenset())
