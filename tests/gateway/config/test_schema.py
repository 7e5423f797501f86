from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.config import Config
from gateway.config.embedded import embedded
from gateway.config.thinking import ThinkingConfig
from techniques.core.json import Json

PROVIDERS = {"oa": {"dialect": "openai_chat", "base_url": "https://a.example/v1"}}


def config(**sections: Json) -> Config:
    return Config.model_validate({"providers": PROVIDERS, **sections})


KEY = {"name": "k", "hash": "hmac-sha256:" + "2" * 64}


def model(name: str, **more: Json) -> dict[str, Any]:
    return {"name": name, "provider": "oa", **more}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"models": [model("a"), model("a")]}, "models: two have the same name, 'a'"),
        (
            {"models": [model("a")], "keys": [{**KEY, "models": ["a", "zip"]}]},
            "keys.k.models: there is no model 'zip'",
        ),
        (
            {"models": [model("a")], "keys": [{**KEY, "models": ["b*"]}]},
            "keys.k.models: there is no model 'b*'",
        ),
        ({"models": [model("a", provider="no")]}, "models.a.provider: there is no provider 'no'"),
        ({"models": [model("a", fallbacks=["b"])]}, "models.a.fallbacks: there is no model 'b'"),
        ({"models": [model("a")], "reliability": {"judge": "b"}}, "reliability.judge: there is"),
        ({"models": [model("a")], "reliability": {"critic": "b"}}, "reliability.critic: there is"),
        (
            {"models": [model("a")], "context": {"model": "b"}},
            "context.model: there is no model 'b'",
        ),
        (
            {"models": [model("a")], "keys": [{**KEY, "context": {"model": "b"}}]},
            "keys.k.context.model: there is no model 'b'",
        ),
        ({"models": [model("g-*")], "reliability": {"judge": "g-*"}}, "there is no model 'g-*'"),
        (
            {"models": [model("a")], "reliability": {"channels": ["a", "b"]}},
            "reliability.channels: there is no model 'b'",
        ),
        (
            {"models": [model("a*")], "reliability": {"channels": ["a*"]}},
            "reliability.channels: there is no model 'a*'",
        ),
        (
            {
                "keys": [
                    {"name": "k", "hash": "hmac-sha256:" + "0" * 64},
                    {"name": "k", "hash": "hmac-sha256:" + "1" * 64},
                ]
            },
            "keys: two have the same name or hash",
        ),
        (
            {"keys": [{"name": n, "hash": "hmac-sha256:" + "0" * 64} for n in ("a", "b")]},
            "keys: two have the same name or hash",
        ),
    ],
)
def test_names_must_exist_and_be_unique(sections: dict[str, Json], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        config(**sections)


def test_a_name_is_known_that_a_model_ending_in_a_star_serves() -> None:
    made = config(
        models=[model("gpt-*"), model("a", fallbacks=["gpt-4o"])],
        reliability={"judge": "gpt-4o-mini"},
    )

    assert made.models[1].fallbacks == ("gpt-4o",)


@pytest.mark.parametrize("more", [{"base_url": "https://a.example", "simulated": {}}, {}])
def test_a_provider_is_either_somewhere_or_simulated(more: dict[str, Json]) -> None:
    with pytest.raises(ValidationError, match="either base_url or simulated"):
        Config.model_validate({"providers": {"p": {"dialect": "anthropic", **more}}})


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses"])
def test_a_simulated_provider_speaks_one_dialect(dialect: str) -> None:
    with pytest.raises(ValidationError, match="speaks openai_chat"):
        Config.model_validate({"providers": {"sim": {"dialect": dialect, "simulated": {}}}})


def test_prices_are_exact() -> None:
    price = config(models=[model("a", price={"input": 0.15, "output": "0.60"})]).models[0].price

    assert price is not None
    assert (price.input, price.output) == (Decimal("0.15"), Decimal("0.60"))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, None),
        (False, ThinkingConfig(enabled=False)),
        ("off", ThinkingConfig(enabled=False)),
        (True, ThinkingConfig()),
        ("on", ThinkingConfig()),
        ("auto", ThinkingConfig(enabled="auto")),
        ("low", ThinkingConfig(effort="low")),
        ("none", ThinkingConfig(enabled=False, effort="none")),
        ({"budget_tokens": 3000}, ThinkingConfig(budget_tokens=3000)),
    ],
)
def test_thinking_may_be_written_short(written: Json, read: ThinkingConfig | None) -> None:
    assert config(models=[model("a", thinking=written)]).models[0].thinking == read


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("much", "must be off, on, auto or an effort: none, minimal, low"),
        (7, "must be off, on, auto or an effort"),
        ({"budget_seconds": 9}, "budget_seconds: a limit in seconds would only stop waiting"),
        ({"effort": "much"}, "Input should be 'none', 'minimal'"),
        ({"budget_tokens": 0}, "greater than 0"),
    ],
)
def test_thinking_is_limited_in_tokens_or_words_and_not_in_seconds(
    written: Json, said: str
) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        config(models=[model("a", thinking=written)])


@pytest.mark.parametrize(
    ("dialect", "style", "fits"),
    [
        ("openai_chat", "chat_template", True),
        ("openai_chat", "anthropic_budget", False),
        ("anthropic", "anthropic_adaptive", True),
        ("anthropic", "effort", False),
        ("anthropic", "none", True),
    ],
)
def test_a_style_must_be_one_of_the_providers_dialect(
    dialect: str, style: str, *, fits: bool
) -> None:
    provider = {"dialect": dialect, "base_url": "https://a.example"}
    of_model = {"providers": {"oa": provider}, "models": [model("a", thinking_style=style)]}
    of_provider = {"providers": {"oa": {**provider, "thinking_style": style}}}

    for sections, path in ((of_model, "models.a"), (of_provider, "providers.oa")):
        if fits:
            Config.model_validate(sections)
            continue
        with pytest.raises(ValidationError, match=f"{path}.thinking_style: with dialect {dialect}"):
            Config.model_validate(sections)


def test_what_has_no_effect_yet_is_listed() -> None:
    made = config(reuse={"enabled": True}, traffic={"capture": "none"})

    assert made.without_effect() == ["reuse", "traffic"]
    assert config().without_effect() == []


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        setattr(config().server, "port", 1)  # noqa: B010 - mypy knows that it is frozen


def embedded_config(environment: dict[str, str]) -> Config:
    return Config.model_validate(embedded(environment))


def test_without_keys_in_the_environment_there_is_the_simulation() -> None:
    made = embedded_config({})

    assert set(made.providers) == {"simulated"}
    assert [row.name for row in made.models] == ["sim-small", "sim-large", "sim-embed"]
    assert all(row.price for row in made.models)
    assert made.reliability.judge == "sim-large"
    assert made.reliability.default == "none"


def test_an_openai_key_adds_openais_models() -> None:
    made = embedded_config({"OPENAI_API_KEY": "sk-1"})
    provider = made.providers["openai"]

    assert (provider.dialect, provider.base_url) == ("openai_chat", "https://api.openai.com/v1")
    assert provider.api_key is not None
    assert provider.api_key.get_secret_value() == "sk-1"
    assert [row.name for row in made.models if row.provider == "openai"] == [
        "gpt-*",
        "chatgpt-*",
        "o1*",
        "o3*",
        "o4*",
        "text-embedding-*",
    ]


def test_an_anthropic_key_adds_anthropics_models() -> None:
    made = embedded_config({"ANTHROPIC_API_KEY": "sk-2"})
    provider = made.providers["anthropic"]

    assert (provider.dialect, provider.base_url) == ("anthropic", "https://api.anthropic.com")
    assert [row.name for row in made.models if row.provider == "anthropic"] == ["claude-*"]


def test_base_urls_of_the_environment_are_used() -> None:
    made = embedded_config(
        {
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": "https://a.example/v1",
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": "https://b.example",
        }
    )

    assert made.providers["openai"].base_url == "https://a.example/v1"
    assert made.providers["anthropic"].base_url == "https://b.example"


def test_an_empty_key_adds_nothing() -> None:
    made = embedded_config({"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": ""})

    assert set(made.providers) == {"simulated"}


@pytest.mark.parametrize("name", ["gpt-*", "gpt-4o", "gpt-4*", "g*", "a", "*"])
def test_a_key_may_name_models_as_wide_as_it_likes(name: str) -> None:
    models = [model("gpt-*"), model("a")]

    assert config(models=models, keys=[{**KEY, "models": [name]}]).keys[0].models == (name,)


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        ("docker", "docker"),
        ("off", "off"),
        (False, "off"),
        ({"kind": "process", "memory": "64MiB"}, "process"),
        ({"kind": False}, "off"),
        ({}, "off"),
    ],
)
def test_a_sandbox_is_stated_by_its_kind_or_in_full(stated: Json, kind: str) -> None:
    assert config(reliability={"sandbox": stated}).reliability.sandbox.kind == kind


@pytest.mark.parametrize("stated", ["none", True, {"kind": "bwrap"}, {"seconds": 0}, 3])
def test_a_sandbox_that_there_is_not_is_refused(stated: Json) -> None:
    with pytest.raises(ValidationError, match=r"reliability\.sandbox"):
        config(reliability={"sandbox": stated})


def test_no_program_runs_where_nobody_said_so() -> None:
    assert config().reliability.sandbox.kind == "off"
