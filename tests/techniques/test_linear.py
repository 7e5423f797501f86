from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from techniques.core.request import Image, Message, ResponseFormat, Text, Tool, said
from techniques.parts.category import Category
from techniques.parts.features import CATEGORIES, CONTENT, FEATURES, features
from techniques.parts.linear import Artifact, checksum, utilities
from tests.techniques.scene import asks

PLAIN = Category("qa", 0.5)
SPEC = {"feature_order": ["bias", "difficulty"], "categories": [], "has_content_features": False}
SMALL: dict[str, Any] = {
    "feature_spec": SPEC,
    "technique_classes": ["baseline", "fountain"],
    "weights": [[0.0, 0.02], [0.0, 0.1]],
}


def wrong(**changes: Any) -> dict[str, Any]:
    return {**SMALL, **changes}


def test_all_features_have_their_place() -> None:
    found = features(asks(), PLAIN, 0.3)

    assert tuple(found) == FEATURES
    assert found["bias"] == 1
    assert found["difficulty"] == 0.3
    assert [found[f"category_{name}"] for name in CATEGORIES] == [
        float(name == "qa") for name in CATEGORIES
    ]


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("has_code", asks("Fix this: ```def f(: pass```")),
        ("has_math", asks("Solve 3 + 4 = x")),
        ("has_digits", asks("It was in 1914.")),
        ("has_question", asks("Why?")),
        ("has_tools", asks("Look.", tools=(Tool("look"),))),
        ("has_json", asks("Say.", response_format=ResponseFormat("json_object"))),
        ("has_options", asks("Which? A) red B) blue")),
        (
            "has_image",
            replace(asks(), messages=(Message("user", (Text("See."), Image(url="u"))),)),
        ),
        ("multi_turn", asks("First.").with_turns(said("assistant", "Yes."), said("user", "So."))),
    ],
)
def test_a_feature_is_there_where_its_reason_is(name: str, request_: Any) -> None:
    assert features(request_, PLAIN, None)[name] == 1
    assert features(asks("Tell me of the sea."), PLAIN, None)[name] == 0


def test_features_of_an_empty_or_a_very_long_question_stay_small() -> None:
    for text in ("", "word " * 50_000, "x" * 100_000):
        assert all(0 <= value <= 1.6 for value in features(asks(text), PLAIN, 1.0).values())


def test_what_nothing_told_of_difficulty_is_its_middle() -> None:
    assert features(asks(), PLAIN, None)["difficulty"] == 0.5


def test_worth_is_what_is_gained_less_what_it_costs() -> None:
    artifact = Artifact.model_validate({**SMALL, "costs": [1, 4]})
    found = features(asks(), PLAIN, 0.5)

    assert utilities(artifact, found, 0) == pytest.approx({"baseline": 0, "fountain": 7})
    assert utilities(artifact, found, 2) == pytest.approx({"baseline": -2, "fountain": -1})


def test_without_costs_what_is_gained_decides() -> None:
    found = features(asks(), PLAIN, 0.5)

    assert utilities(Artifact.model_validate(SMALL), found, 5)["fountain"] == pytest.approx(7)


def test_where_the_best_choice_was_learnt_cost_is_counted_already() -> None:
    artifact = Artifact.model_validate({**SMALL, "target": "logit", "costs": [1, 4]})

    assert utilities(artifact, features(asks(), PLAIN, 0.5), 9)["fountain"] == pytest.approx(0.07)


def test_all_features_can_have_weights() -> None:
    order = list(FEATURES)
    artifact = Artifact.model_validate(
        {
            "feature_spec": {"feature_order": order},
            "technique_classes": ["baseline"],
            "weights": [[1.0] for _ in order],
        }
    )

    assert set(order) > CONTENT
    assert utilities(artifact, dict.fromkeys(order, 0.01), 0)["baseline"] == pytest.approx(
        len(order)
    )


@pytest.mark.parametrize(
    ("artifact", "fault"),
    [
        (wrong(weights=[[0.0, 0.1]]), "2 rows"),
        (wrong(weights=[[0.0], [0.1]]), "of 2 "),
        (wrong(weights=[[0.0, float("nan")], [0.0, 0.1]]), "finite"),
        (wrong(technique_classes=[]), "technique_classes"),
        (wrong(technique_classes=["baseline", "baseline"]), "stands twice"),
        (wrong(costs=[1]), "one for each technique"),
        (wrong(costs=[1, -1]), "costs"),
        (wrong(target="guess"), "target"),
        (wrong(learned=True), "learned"),
        (wrong(feature_spec={**SPEC, "feature_order": ["bias", "mood"]}), "no feature 'mood'"),
        (wrong(feature_spec={**SPEC, "feature_order": ["bias", "bias"]}), "stands twice"),
        (wrong(feature_spec={**SPEC, "has_bias": False}), "has_bias says otherwise"),
        (wrong(feature_spec={**SPEC, "has_content_features": True}), "has_content_features"),
        (wrong(feature_spec={**SPEC, "categories": ["qa"]}), "categories are others"),
        (wrong(checksum="0" * 64), "checksum is not"),
    ],
)
def test_weights_that_do_not_fit_are_refused(artifact: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Artifact.model_validate(artifact)


def test_a_checksum_is_of_what_decides_and_of_nothing_else() -> None:
    right = checksum(Artifact.model_validate(SMALL))

    assert (
        Artifact.model_validate({**SMALL, "checksum": right, "created": "today"}).checksum == right
    )
    with pytest.raises(ValidationError, match="checksum"):
        Artifact.model_validate({**SMALL, "checksum": right, "costs": [1, 4]})
