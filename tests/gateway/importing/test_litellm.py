from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from gateway.cli import main
from gateway.config import Config
from gateway.importing.hosts import HOSTS
from gateway.importing.litellm import translated
from gateway.importing.report import Report
from techniques.core.json import Json

FILES = sorted((Path(__file__).parents[2] / "fixtures/litellm").glob("*.yaml"))
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["import", "litellm", *arguments])


def carried(name: str) -> tuple[Json, Report]:
    text = next(file for file in FILES if file.stem == name).read_text("utf-8")
    return translated(yaml.safe_load(text), text)


def row(tree: Json, name: str) -> Json:
    return next(one for one in tree["models"] if one["name"] == name)


def alone(params: Json, info: Json = None, **more: Json) -> tuple[Json, Report]:
    """Return what a file with one model, called ``m``, comes to."""
    model = {"model_name": "m", "litellm_params": params, "model_info": info}
    return translated({"model_list": [model], **more}, "")


def checked(file: Path) -> Result:
    """Run the check on *file*, with each of its variables set to something that fits."""
    fitting = {"MY_BASE": "http://127.0.0.1:9", "REDIS_HOST": "cache"}
    fitting["REDIS_URL"] = "redis://:x@cache:6379"
    names = _VARIABLE.findall(file.read_text("utf-8"))
    return CliRunner().invoke(
        main, ["check", str(file)], env={name: fitting.get(name, "secret") for name in names}
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_made_of_a_file_passes_the_check_and_tells_no_secret(
    file: Path, tmp_path: Path
) -> None:
    made = tmp_path / "lockgate.yaml"

    result = ran(str(file), "-o", str(made))

    assert result.exit_code == 0, result.output
    assert "canary" not in result.output
    assert "canary" not in made.read_text("utf-8")
    said = checked(made)
    assert said.exit_code == 0, said.output


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_report_stands_on_standard_error_and_at_the_head_of_the_file(file: Path) -> None:
    result = ran(str(file))

    told = result.stderr.splitlines()
    assert told
    assert [f"# * {line}" for line in told] == result.stdout.splitlines()[1 : len(told) + 1]
    assert yaml.safe_load(result.stdout)["models"]
    assert "&id" not in result.stdout


def test_a_model_takes_its_limits_and_abilities_along() -> None:
    tree, _ = carried("team")

    assert row(tree, "gpt-4o") == {
        "name": "gpt-4o",
        "provider": "openai",
        "limits": {"rpm": 500, "tpm": 200000},
        "capabilities": {"context": 128000},
        "max_output": 16384,
        "fallbacks": ["claude"],
    }
    assert row(tree, "claude")["thinking"] == "low"
    assert row(tree, "embed")["capabilities"] == {"embeddings": True}
    assert tree["providers"]["openai"] == {
        "dialect": "openai_chat",
        "base_url": "https://api.openai.com/v1",
        "api_key": "${OPENAI_API_KEY}",
    }


def test_an_alias_is_the_model_by_another_name() -> None:
    tree, _ = carried("team")

    assert row(tree, "gpt-4")["model"] == "gpt-4o"
    assert row(tree, "gpt-4")["limits"] == {"rpm": 500, "tpm": 200000}


def test_what_holds_for_all_becomes_a_section() -> None:
    tree, _ = carried("team")

    assert tree["upstream"] == {"retries": 3, "first_byte_s": 30.0, "breaker": 4}
    assert tree["store"] == {"redis": "redis://:${REDIS_PASSWORD}@${REDIS_HOST}:6379"}


def test_all_that_is_not_carried_over_is_named_with_its_path() -> None:
    _, report = carried("team")

    assert {path for path, _ in report.lost} == {
        "model_list.0.litellm_params.timeout",
        "model_list.1.litellm_params.max_tokens",
        "model_list.3",
        "model_list.4",
        "router_settings.routing_strategy",
        "litellm_settings.cache",
        "litellm_settings.cache_params",
        "litellm_settings.callbacks",
        "litellm_settings.fallbacks.1",
        "litellm_settings.context_window_fallbacks",
        "general_settings.master_key",
        "general_settings.database_url",
        "general_settings.alerting",
    }
    assert all(why for _, why in report.lost)


def test_one_model_at_two_places_has_two_accounts_and_another_one_is_its_fallback() -> None:
    tree, report = carried("balanced")

    first, second = row(tree, "gpt"), row(tree, "gpt-2")
    assert (first["provider"], first["accounts"]) == ("azure", ["azure-2"])
    assert first["fallbacks"] == ["gpt-2", "other"]
    assert second["model"] == "gpt-4o"
    assert second["price"] == {"input": 2.5, "output": 10, "cache_read": 1.25}
    assert [one["base_url"] for name, one in tree["providers"].items() if "azure" in name] == [
        "https://eu.openai.azure.com/openai/v1",
        "https://us.openai.azure.com/openai/v1",
    ]
    assert ("model_list.0.litellm_params.weight") in {path for path, _ in report.lost}


def test_secrets_in_clear_become_variables_each_with_a_note() -> None:
    tree, report = carried("balanced")

    keys = {one["api_key"] for one in tree["providers"].values()}
    assert keys == {"${AZURE_API_KEY}", "${AZURE_API_KEY_2}", "${OPENAI_API_KEY}"}
    assert tree["store"]["redis"] == "${REDIS_URL}"
    other = tree["providers"][row(tree, "other")["provider"]]["headers"]
    assert other == {
        "OpenAI-Organization": "org-1",
        "X-Team": "search",
        "X-Auth-Token": "${HEADER_X_AUTH_TOKEN}",
        "Authorization": "Bearer ${HEADER_AUTHORIZATION}",
    }
    assert sum("in clear" in what for _, what in report.notes) == 7


def test_a_variable_that_the_file_uses_for_something_else_is_not_taken() -> None:
    text = "api_base: os.environ/OPENAI_API_KEY"
    model = {"model_name": "m", "litellm_params": {"model": "gpt-4o", "api_key": "sk-canary"}}

    tree, _ = translated({"model_list": [model]}, text)

    assert tree["providers"]["openai"]["api_key"] == "${OPENAI_API_KEY_2}"


def test_models_on_machines_of_ones_own_are_at_private_addresses() -> None:
    tree, report = carried("local")

    assert tree["providers"]["ollama"] == {
        "dialect": "openai_chat",
        "base_url": "http://localhost:11434/v1",
        "allow_private": True,
    }
    assert tree["providers"]["hosted-vllm"]["allow_private"]
    assert tree["providers"]["openai"] == {
        "dialect": "openai_chat",
        "base_url": "${MY_BASE}",
        "allow_private": True,
    }
    assert row(tree, "llama")["capabilities"] == {"tools": False, "vision": False}
    assert row(tree, "llama")["price"] == {"input": 0, "output": 0}
    assert row(tree, "qwen")["limits"] == {"concurrency": 8}
    assert row(tree, "gpt-*") == {"name": "gpt-*", "provider": "openai-2"}
    assert row(tree, "openai/*") == {"name": "openai/*", "provider": "openai-2", "model": "*"}
    assert {path for path, _ in report.lost} == {"model_list.5", "model_list.6.litellm_params"}


def test_hosts_are_found_by_their_names() -> None:
    tree, report = carried("many")

    assert {one["name"] for one in tree["models"]} == set("abcdefghijklm")
    assert tree["providers"]["groq"]["api_key"] == "${SHARED_KEY}"
    assert row(tree, "b")["model"] == "openai/gpt-4o"
    assert row(tree, "f")["model"] == "accounts/fireworks/models/llama-v3p1-8b-instruct"
    assert row(tree, "g")["thinking"] == {"budget_tokens": 1024}
    assert tree["providers"][row(tree, "k")["provider"]]["dialect"] == "openai_responses"
    assert tree["providers"]["anthropic"]["dialect"] == "anthropic"
    assert {path for path, _ in report.lost} == {"model_list.13", "model_list.14"}


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_can_be_asked(host: str, tmp_path: Path) -> None:
    made = tmp_path / "lockgate.yaml"
    tree, _ = alone({"model": f"{host}/x", "api_base": "https://models.example.com/v1"})
    made.write_text(yaml.safe_dump(tree))

    said = checked(made)

    assert said.exit_code == 0, said.output


def test_strict_ends_with_1_where_anything_is_lost(tmp_path: Path) -> None:
    whole = tmp_path / "whole.yaml"
    whole.write_text("model_list: [{model_name: m, litellm_params: {model: gpt-4o}}]")

    assert ran(str(whole), "--strict").exit_code == 0
    assert ran(str(FILES[0]), "--strict").exit_code == 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "model_list: []", "model_list: [{model_name: m}]", "a: {b", "a: !!python/x y"],
)
def test_a_file_of_which_nothing_can_be_made_ends_with_1(text: str, tmp_path: Path) -> None:
    file, made = tmp_path / "config.yaml", tmp_path / "made.yaml"
    file.write_text(text)

    assert ran(str(file), "-o", str(made)).exit_code == 1
    assert not made.exists()


def test_a_fault_of_the_file_is_told_without_what_stands_there(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("api_key: sk-canary: x\n")

    result = ran(str(file))

    assert "line 1" in result.stderr
    assert "canary" not in result.output


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    made = tmp_path / "made.yaml"
    made.write_text("mine")

    assert ran(str(FILES[0]), "-o", str(made)).exit_code == 1
    assert made.read_text() == "mine"


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    assert ran(str(tmp_path / "none.yaml")).exit_code == 1


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"rpm": "many"}, "rpm"),
        ({"tpm": True}, "tpm"),
        ({"input_cost_per_token": "x", "output_cost_per_token": 0}, "input_cost_per_token"),
        ({"reasoning_effort": "huge"}, "reasoning_effort"),
        ({"extra_headers": "x"}, "extra_headers"),
        ({"litellm_credential_name": "none"}, "litellm_credential_name"),
        ({"never_heard_of": 1}, "never_heard_of"),
    ],
)
def test_what_is_not_understood_of_a_model_is_named(params: Json, path: str) -> None:
    tree, report = alone({"model": "gpt-4o", **params})

    assert f"model_list.0.litellm_params.{path}" in {at for at, _ in report.lost}
    assert tree["models"]


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(
    ["m", "gpt-4o", "openai/x", "azure/x", "os.environ/A", "https://canary:canary@x/v1", "*", "http://["]
)  # fmt: skip
_WORDS = [
    *("model_name", "litellm_params", "model_info", "model", "api_key", "api_base", "rpm", "mode"),
    *("extra_headers", "fallbacks", "model_group_alias", "redis_host", "redis_port", "m", "order"),
    *("num_retries", "callbacks", "timeout", "input_cost_per_token", "output_cost_per_token"),
]
_ANY = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_WORDS), inner),
    max_leaves=6,
)
_ROW = st.fixed_dictionaries(
    {
        "model_name": st.sampled_from(["m", "gpt-*", "gpt-4o"]) | _ANY,
        "litellm_params": st.dictionaries(st.sampled_from(_WORDS), _ANY).map(
            lambda params: {"model": "openai/x", **params}
        ),
    }
)
_SECTIONS = ("model_list", "router_settings", "litellm_settings", "general_settings")


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(_SECTIONS), _ANY), st.lists(_ROW | _ANY, max_size=3))
def test_whatever_a_file_holds_it_is_translated_or_reported(tree: Json, rows: Json) -> None:
    made, report = translated({**tree, "model_list": rows}, "")

    Config.model_validate(made)
    models = made.pop("models")
    assert all("canary" not in str({**one, "name": "", "fallbacks": ""}) for one in models)
    assert "canary" not in str(made)
    assert "canary" not in str(report)
