"""What only another provider has is refused, or left out where the operator says so."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.config import ModelConfig, ProviderConfig
from gateway.policy.targets import target_of
from gateway.upstream.provider import Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json
from techniques.core.request import Opaque, Request, Tool, ToolChoice, said

DROPS = Target("m", "p", "m", drops_hosted=True)
LOOK = Tool("look", "Looks.", {"type": "object", "properties": {}})
OWN = Opaque("openai_responses", {"type": "web_search"})
ANTHROPICS = Opaque("anthropic", {"type": "web_search_20250305", "name": "web_search"})
CASES: list[tuple[Provider, Opaque]] = [
    (OpenAIChat(), OWN),
    (OpenAIChat(), ANTHROPICS),
    (Anthropic(), OWN),
    (OpenAIResponses(), ANTHROPICS),
]
cases = pytest.mark.parametrize(("provider", "hosted"), CASES)


def _request(hosted: Opaque, *others: Tool, **fields: Json) -> Request:
    return Request("m", (said("user", "hi"),), (hosted, *others), dialect=hosted.dialect, **fields)


@cases
def test_it_is_refused_unless_the_operator_says_otherwise(
    provider: Provider, hosted: Opaque
) -> None:
    with pytest.raises(RequestRejected) as refused:
        provider.encode(_request(hosted, LOOK), Target("m", "p", "m"))

    assert (refused.value.code, refused.value.param) == ("unsupported_tool", "tools")
    assert hosted.value["type"] in str(refused.value)


@cases
def test_it_is_left_out_by_name(provider: Provider, hosted: Opaque) -> None:
    call = provider.encode(_request(hosted, LOOK), DROPS)

    assert len(orjson.loads(call.body)["tools"]) == 1
    assert b"web_search" not in call.body
    assert Warned("tool_dropped", hosted.value["type"]) in call.warnings


@cases
def test_nothing_is_left_to_be_offered(provider: Provider, hosted: Opaque) -> None:
    call = provider.encode(_request(hosted, tool_choice=ToolChoice("required")), DROPS)

    assert {"tools", "tool_choice"}.isdisjoint(orjson.loads(call.body))


@cases
def test_a_strict_request_is_refused(provider: Provider, hosted: Opaque) -> None:
    with pytest.raises(RequestRejected):
        provider.encode(_request(hosted, LOOK, strict=True), DROPS)


@pytest.mark.parametrize(
    ("provider", "hosted", "fields"),
    [
        (OpenAIChat(), OWN, {"extra": {"tool_choice": {"type": "web_search"}}}),
        (Anthropic(), OWN, {"extra": {"tool_choice": {"type": "web_search"}}}),
        (OpenAIChat(), ANTHROPICS, {"tool_choice": ToolChoice("named", "web_search")}),
    ],
)
def test_one_that_the_client_insists_on_is_refused(
    provider: Provider, hosted: Opaque, fields: dict[str, Json]
) -> None:
    with pytest.raises(RequestRejected) as refused:
        provider.encode(_request(hosted, LOOK, **fields), DROPS)

    assert refused.value.code == "unsupported_tool"


@pytest.mark.parametrize(
    ("provider", "hosted"), [(OpenAIResponses(), OWN), (Anthropic(), ANTHROPICS)]
)
def test_its_own_provider_gets_it_in_any_case(provider: Provider, hosted: Opaque) -> None:
    call = provider.encode(_request(hosted, LOOK), DROPS)

    assert hosted.value in orjson.loads(call.body)["tools"]


SERVERS: Json = {"mcp_servers": [{"type": "url", "url": "https://a.test/mcp", "name": "a"}]}
SERVED = Request("m", (said("user", "hi"),), (LOOK,), dialect="anthropic", extra=SERVERS)
others = pytest.mark.parametrize("provider", [OpenAIChat(), OpenAIResponses()])


@others
def test_servers_of_tools_are_refused_where_nobody_calls_them(provider: Provider) -> None:
    with pytest.raises(RequestRejected) as refused:
        provider.encode(SERVED, Target("m", "p", "m"))

    assert (refused.value.code, refused.value.param) == ("unsupported_tool", "mcp_servers")


@others
def test_servers_of_tools_are_left_out_by_name(provider: Provider) -> None:
    call = provider.encode(SERVED, DROPS)

    assert call.warnings == (Warned("tool_dropped", "mcp_servers"),)
    assert len(orjson.loads(call.body)["tools"]) == 1


@pytest.mark.parametrize("extra", [{}, {"mcp_servers": []}, {"mcp_servers": None}])
@others
def test_who_names_no_server_of_tools_is_not_refused(provider: Provider, extra: Json) -> None:
    provider.encode(replace(SERVED, extra=extra), Target("m", "p", "m"))


def test_their_own_provider_gets_the_servers_in_any_case() -> None:
    assert (
        orjson.loads(Anthropic().encode(SERVED, DROPS).body)["mcp_servers"]
        == SERVERS["mcp_servers"]
    )


@pytest.mark.parametrize("provider", [OpenAIChat(), OpenAIResponses(), Anthropic()])
@pytest.mark.parametrize("type_", ["create", "continue"])
def test_a_conversation_that_only_its_server_has_is_refused_in_words_that_its_sdks_know(
    provider: Provider, type_: str
) -> None:
    thread = {"thread": {"type": type_}}

    with pytest.raises(RequestRejected) as refused:
        provider.encode(
            Request("m", (said("user", "hi"),), dialect="anthropic", extra=thread), DROPS
        )

    assert (refused.value.code, refused.value.param) == ("thread_unsupported_request", "thread")


@pytest.mark.parametrize("provider", [OpenAIChat(), OpenAIResponses()])
@pytest.mark.parametrize(
    "asked",
    [Request("m", (), dialect="anthropic", extra={"thread": None}), Request("m", (), dialect="")],
)
def test_whose_conversation_is_whole_is_not_refused(provider: Provider, asked: Request) -> None:
    asked = replace(asked, messages=(said("user", "hi"),))

    assert b"thread" not in provider.encode(asked, DROPS).body


@pytest.mark.parametrize(
    ("of_model", "of_provider", "done"),
    [
        (None, "refuse", "refuse"),
        (None, "drop", "drop"),
        ("refuse", "drop", "refuse"),
        ("drop", "refuse", "drop"),
    ],
)
def test_a_model_says_otherwise_than_its_provider(
    of_model: Json, of_provider: Json, done: str
) -> None:
    row = ModelConfig(name="m", provider="p", hosted_tools=of_model)
    account = ProviderConfig(
        dialect="openai_chat", base_url="https://a.test/v1", hosted_tools=of_provider
    )

    assert target_of(row, account, "m").drops_hosted == (done == "drop")
