from __future__ import annotations

import pytest

from gateway.config import Config, Secrets, load
from gateway.preflight import faults

NO_SECRETS = Secrets(None, None)


def embedded(monkeypatch: pytest.MonkeyPatch, **environment: str) -> Config:
    for vendor in ("OPENAI", "ANTHROPIC"):
        monkeypatch.delenv(f"{vendor}_API_KEY", raising=False)
        monkeypatch.delenv(f"{vendor}_BASE_URL", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return load(None)


def served(config: Config, provider: str) -> set[str]:
    return {model.name for model in config.models if model.provider == provider}


@pytest.mark.parametrize(("vendor", "below"), [("OPENAI", "/v1"), ("ANTHROPIC", "")])
def test_a_base_url_of_the_environment_may_be_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, vendor: str, below: str
) -> None:
    address = f"http://127.0.0.1:8000{below}"
    config = embedded(monkeypatch, **{f"{vendor}_API_KEY": "x", f"{vendor}_BASE_URL": address})
    assert faults(config, NO_SECRETS) == []
    assert config.providers[vendor.lower()].base_url == address


@pytest.mark.parametrize("vendor", ["OPENAI", "ANTHROPIC"])
def test_without_a_base_url_names_that_lead_to_private_addresses_stay_refused(
    monkeypatch: pytest.MonkeyPatch, vendor: str
) -> None:
    config = embedded(monkeypatch, **{f"{vendor}_API_KEY": "x", f"{vendor}_BASE_URL": ""})
    account = config.providers[vendor.lower()]
    assert account.base_url.startswith("https://api.")
    assert not account.allow_private


def test_a_host_of_ones_own_serves_whatever_model_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}
    assert served(embedded(monkeypatch, **own), "openai") == {"*"}
    assert "*" not in served(embedded(monkeypatch, OPENAI_API_KEY="x"), "openai")


def test_the_embedded_defaults_need_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    config = embedded(monkeypatch)
    assert faults(config, NO_SECRETS) == []
    assert served(config, "simulated") == {"sim-small", "sim-large", "sim-embed"}
