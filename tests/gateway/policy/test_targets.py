from __future__ import annotations

import pytest

from gateway.config import ModelConfig, ProviderConfig
from gateway.policy.targets import target_of
from gateway.upstream.provider import Target
from gateway.upstream.simulated.settings import EMBEDDERS
from techniques.core.json import Json
from techniques.core.masks import takes_temperature
from techniques.core.request import ThinkingWish

OFF = ThinkingWish("off")
OPENAI = ProviderConfig(dialect="openai_chat", base_url="https://api.openai.com/v1")
ANTHROPIC = ProviderConfig(dialect="anthropic", base_url="https://api.anthropic.com")
OWN = ProviderConfig(dialect="openai_chat", base_url="http://10.0.0.7:8000/v1")


def target(model: str, account: ProviderConfig = OPENAI, **row: Json) -> Target:
    made = ModelConfig.model_validate({"name": "m", "provider": "p", **row})
    return target_of(made, account, model)


@pytest.mark.parametrize(
    ("model", "account", "wish"),
    [
        ("gpt-5.2", OPENAI, OFF),
        ("gpt-5", OPENAI, OFF),
        ("o3", OPENAI, None),
        ("gpt-4o", OPENAI, None),
        ("claude-opus-5", ANTHROPIC, OFF),
        ("claude-opus-5-5", ANTHROPIC, None),
        ("claude-sonnet-4-5", ANTHROPIC, None),
        ("Qwen/Qwen3-8B", OWN, OFF),
        ("deepseek-ai/DeepSeek-R1", OWN, None),
        ("my-own-model", OWN, None),
    ],
)
def test_a_model_that_thinks_unasked_is_asked_not_to_where_it_can_rest(
    model: str, account: ProviderConfig, wish: ThinkingWish | None
) -> None:
    found = target(model, account)

    assert found.thinking == wish
    assert not found.steered


@pytest.mark.parametrize(
    ("stated", "wish"),
    [
        ("auto", None),
        ("off", OFF),
        (True, ThinkingWish("on")),
        ("low", ThinkingWish("on", None, "low")),
        ({"budget_tokens": 3000, "effort": "high"}, ThinkingWish("on", 3000, "high")),
    ],
)
def test_what_the_operator_states_is_asked_for_everywhere(
    stated: Json, wish: ThinkingWish | None
) -> None:
    found = target("gpt-5.2", thinking=stated)

    assert (found.thinking, found.steered) == (wish, True)


def test_a_style_may_be_stated_of_a_model_or_of_its_provider() -> None:
    account = OWN.model_copy(update={"thinking_style": "dashscope"})

    assert target("Qwen/Qwen3-8B", account).thinks.style == "dashscope"
    assert target("Qwen/Qwen3-8B", account, thinking_style="directive").thinks.style == "directive"
    assert target("Qwen/Qwen3-8B", account).steered


@pytest.mark.parametrize(
    ("model", "row", "temperature", "newer", "logprobs"),
    [
        ("gpt-4o", {}, True, None, True),
        ("o3", {}, False, True, False),
        ("gpt-5", {}, False, True, False),
        ("gpt-5.2", {}, True, True, True),
        ("gpt-5.2", {"thinking": "high"}, True, True, False),
        ("gpt-5.2", {"thinking": "auto"}, True, True, False),
        ("o3", {"capabilities": {"temperature": True, "logprobs": True}}, True, True, True),
    ],
)
def test_what_a_reasoning_model_takes_is_inferred_unless_stated(
    model: str, row: dict[str, Json], *, temperature: bool, newer: bool | None, logprobs: bool
) -> None:
    can = target(model, **row).capabilities

    assert (can.temperature, can.max_completion_tokens, can.logprobs) == (
        temperature,
        newer,
        logprobs,
    )


@pytest.mark.parametrize(
    ("address", "newer"),
    [
        ("https://api.mistral.ai/v1", False),
        ("http://127.0.0.1:11434/v1", False),
        ("https://api.openai.com/v1", None),
        ("http://127.0.0.1:8000/v1", None),
    ],
)
def test_the_limit_has_its_older_name_at_hosts_that_know_no_other(
    address: str, *, newer: bool | None
) -> None:
    host = ProviderConfig(dialect="openai_chat", base_url=address, allow_private=True)

    assert target("some-model", host).relayed.max_completion_tokens is newer
    stated: Json = {"max_completion_tokens": True}
    assert target("some-model", host, capabilities=stated).relayed.max_completion_tokens


def test_a_relayed_body_is_changed_for_what_is_stated_alone() -> None:
    inferred = target("o3")
    steered = target("o3", thinking="low")

    assert (inferred.capabilities.temperature, inferred.relayed.temperature) == (False, True)
    assert not steered.relayed.temperature


@pytest.mark.parametrize(
    ("model", "row", "wish", "takes"),
    [
        ("gpt-5.2", {}, None, True),
        ("gpt-5.2", {"thinking": "on"}, None, False),
        ("gpt-5.2", {"thinking": "on"}, OFF, True),
        ("gpt-5.2", {}, ThinkingWish(effort="high"), False),
        ("gpt-5.2", {}, ThinkingWish(effort="none"), True),
        ("gpt-5.2", {"thinking": "auto"}, None, False),
        ("o3", {}, OFF, False),
    ],
)
def test_a_temperature_can_be_set_while_the_model_rests(
    model: str, row: dict[str, Json], wish: ThinkingWish | None, *, takes: bool
) -> None:
    assert takes_temperature(target(model, **row).capabilities, wish) is takes


@pytest.mark.parametrize(
    ("base_url", "priced_as", "bills"),
    [
        ("https://openrouter.ai/api/v1", None, True),
        ("https://openrouter.ai/api/v1", "none", False),
        ("https://relay.example/v1", "openrouter", True),
        ("https://relay.example/v1", "openai", False),
        ("https://api.openai.com/v1", None, False),
    ],
)
def test_a_host_that_bills_each_call_is_known(
    base_url: str, priced_as: str | None, *, bills: bool
) -> None:
    account = ProviderConfig(dialect="openai_chat", base_url=base_url, priced_as=priced_as)

    assert target("x/y", account).bills is bills


def test_a_simulated_model_of_embeddings_is_known_in_any_configuration() -> None:
    simulated = ProviderConfig.model_validate({"dialect": "openai_chat", "simulated": {}})

    assert all(target(name, simulated).capabilities.embeddings for name in EMBEDDERS)
    assert target("sim-small", simulated).capabilities.embeddings is None
    assert target("sim-embed", OWN).capabilities.embeddings is None
