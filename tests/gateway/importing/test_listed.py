from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from gateway.cli import main
from gateway.importing.litellm import translated
from gateway.importing.report import Report
from techniques.core.json import Json

KEYS = {"OPENAI_API_KEY": "secret", "ANTHROPIC_API_KEY": "secret"}


def row(tree: Json, name: str) -> Json:
    return next(one for one in tree["models"] if one["name"] == name)


def listed(*rows: Json, **settings: Json) -> tuple[Json, Report]:
    """Return what a list of models comes to, each by its name and its model at LiteLLM."""
    models = [
        {"model_name": name, "litellm_params": {"model": model}, "model_info": next(iter(more), {})}
        for name, model, *more in rows
    ]
    return translated({"model_list": models, **settings}, "")


def test_all_models_of_a_provider_keep_the_names_that_clients_have_for_them(
    tmp_path: Path,
) -> None:
    tree, report = listed(
        ("*", "openai/*"), ("anthropic/*", "anthropic/*"), ("cheap-*", "openai/gpt-4o-mini")
    )
    made = tmp_path / "made.yaml"
    made.write_text(yaml.safe_dump(tree))

    assert [(one["name"], one.get("model")) for one in tree["models"]] == [
        ("*", None), ("anthropic/*", "*"), ("cheap-*", "gpt-4o-mini"),
    ]  # fmt: skip
    assert not report.lost
    assert CliRunner().invoke(main, ["check", str(made)], env=KEYS).exit_code == 0


@pytest.mark.parametrize(
    ("name", "model"), [("*", "*"), ("m", "openai/*"), ("a*b", "openai/x"), ("a*", "openai/*b")]
)
def test_a_star_that_means_nothing_here_is_named(name: str, model: str) -> None:
    _, report = listed((name, model))

    assert [path for path, _ in report.lost] == ["model_list.0"]


def test_a_beginning_is_that_of_one_provider() -> None:
    tree, report = listed(("g-*", "openai/g-*"), ("g-*", "groq/g-*"))

    assert [one["name"] for one in tree["models"]] == ["g-*"]
    assert [path for path, _ in report.lost] == ["model_list.1"]
    assert list(tree["providers"]) == ["openai"]


def test_a_fallback_may_be_one_of_many() -> None:
    fallbacks = [{"m": ["anthropic/claude-sonnet-4-5"]}, {"m": ["anthropic/*"]}]
    tree, report = listed(
        ("m", "gpt-4o"), ("anthropic/*", "anthropic/*"), router_settings={"fallbacks": fallbacks}
    )

    assert row(tree, "m")["fallbacks"] == ["anthropic/claude-sonnet-4-5"]
    assert [path for path, _ in report.lost] == ["router_settings.fallbacks.1"]


def test_a_model_of_embeddings_has_no_fallback_that_was_not_stated_for_it() -> None:
    rows = [("m", "gpt-4o"), ("e", "text-embedding-3-small", {"mode": "embedding"})]
    tree, report = listed(*rows, litellm_settings={"default_fallbacks": ["m"]})

    assert "fallbacks" not in row(tree, "e")
    assert [path for path, what in report.notes if "vectors" in what] == ["model_list.1"]


def test_an_alias_has_the_fallbacks_of_its_model_unless_it_has_its_own() -> None:
    rows = [("a", "gpt-4o"), ("b", "gpt-4o-mini"), ("c", "claude-sonnet-4-5")]
    settings = {"model_group_alias": {"x": "a", "y": "a"}}
    fallbacks = [{"a": ["b"]}, {"y": ["c"]}]
    tree, _ = listed(*rows, router_settings={**settings, "fallbacks": fallbacks})

    assert (row(tree, "x")["fallbacks"], row(tree, "y")["fallbacks"]) == (["b"], ["c"])


def test_what_makes_no_text_is_told_to_be_that() -> None:
    _, report = listed(("w", "whisper-1", {"mode": "audio_transcription"}))

    assert report.lost == [("model_list.0", "models of that mode are not served here")]
