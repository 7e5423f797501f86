from __future__ import annotations

import pytest

from pricing.names import begins, billions, family, spellings

OPENAI = frozenset({"openai"})


def spelled(name: str) -> list[str]:
    return [one.name for one in spellings(name, OPENAI) if not one.tuned]


@pytest.mark.parametrize(
    ("name", "looked_up"),
    [
        ("gpt-4o", ["gpt-4o"]),
        ("gpt-4o-2024-08-06", ["gpt-4o-2024-08-06", "gpt-4o"]),
        ("claude-sonnet-4-5-20250929", ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"]),
        ("claude-opus-4@20250514", ["claude-opus-4@20250514", "claude-opus-4"]),
        ("GPT-4o ", ["gpt-4o"]),
        ("openai/gpt-4o", ["openai/gpt-4o", "gpt-4o"]),
        ("models/gemini-2.5-pro", ["models/gemini-2.5-pro", "gemini-2.5-pro"]),
        ("mistralai/mixtral", ["mistralai/mixtral"]),
        (
            "openai/gpt-4o-2024-08-06",
            ["openai/gpt-4o-2024-08-06", "gpt-4o-2024-08-06", "openai/gpt-4o", "gpt-4o"],
        ),
    ],
)
def test_a_name_is_looked_up_whole_then_without_its_maker_then_without_its_date(
    name: str, looked_up: list[str]
) -> None:
    assert spelled(name) == looked_up


@pytest.mark.parametrize(
    "name", ["gpt-4-0613", "mistral-large-2411", "gpt-4o-latest", "m-20249999", "m-2024-13-01"]
)
def test_what_is_no_date_of_a_snapshot_is_part_of_the_name(name: str) -> None:
    assert spelled(name) == [name]


def test_a_fine_tuned_model_stands_under_its_base_and_the_base_alone_is_a_guess() -> None:
    found = list(spellings("ft:gpt-4o-mini-2024-07-18:org:x:id", OPENAI))

    assert [one.name for one in found if not one.tuned] == [
        "ft:gpt-4o-mini-2024-07-18:org:x:id", "ft:gpt-4o-mini-2024-07-18", "ft:gpt-4o-mini",
    ]  # fmt: skip
    assert [one.name for one in found if one.tuned] == ["gpt-4o-mini-2024-07-18", "gpt-4o-mini"]


@pytest.mark.parametrize(
    ("name", "start", "does"),
    [
        ("gpt-4o-mini", "gpt-4o", True),
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "gpt-4", False),
        ("gpt-4.1", "gpt-4", True),
        ("gpt-41", "gpt-4", False),
        ("gpt-4", "gpt-4o", False),
        ("ft:gpt", "ft:", True),
    ],
)
def test_a_name_begins_with_another_where_a_word_ends(name: str, start: str, *, does: bool) -> None:
    assert begins(name, start) is does


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("llama-3.1-8b-instant", 8),
        ("Qwen2.5-Coder-1.5B", 1.5),
        ("qwen3-235b-a22b", 22),
        ("mixtral-8x7b", 14),
        ("dbrx-1x12b", 12),
        ("gpt-4o", None),
        ("phi-4b2", None),
        ("claude-3-5-haiku-20241022", None),
    ],
)
def test_a_name_tells_how_many_parameters_are_at_work(name: str, size: float | None) -> None:
    assert billions(name) == size


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("meta-llama/llama-3.1-70b-instruct", "llama-3.1-72b-instruct"),
        ("qwen3-235b-a22b", "qwen3-30b-a3b"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("x/m-7b:free", "m-8b"),
    ],
)
def test_models_that_differ_in_size_and_date_alone_are_one_family(one: str, other: str) -> None:
    assert family(one) == family(other)


def test_versions_are_families_of_their_own() -> None:
    assert family("llama-3.1-70b") != family("llama-3.3-70b")
