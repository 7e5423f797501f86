from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from router_service.contract import Features, Observation
from router_service.engine import Engine
from router_service.learning import artifacts
from router_service.learning.lessons import lessons
from router_service.learning.training import NotWorthIt, Target, told, train
from router_service.learning.weights import likely, logit, ridge
from router_service.routers.acm_linear import linear_features
from router_service.settings import RouterSettings
from techniques.core.request import Request, said
from techniques.parts.category import categorise
from techniques.parts.features import CONTENT
from techniques.parts.features import features as counted
from techniques.parts.linear import Artifact
from tests.router_service.rows import near, query, row

ARMS = ("best_of_n/3", "self_consistency/3")


def _features(place: int, random: Random) -> Features:
    maths = place % 2 == 0
    content = {"has_math": float(maths), "words": random.random() / 2}
    return Features(category="reasoning" if maths else "qa", content=content)


def traces(count: int, seed: int = 3, noise: float = 0.1) -> list[Observation]:
    """Return full traces: the one arm pays for sums, the other for nothing."""
    random = Random(seed)
    return [
        row(
            f"r{place}{arm}",
            arm,
            max(
                min(
                    (0.3 if arm == ARMS[1] and place % 2 == 0 else -0.02) + random.gauss(0, noise),
                    0.5,
                ),
                -0.5,
            ),
            request_id=f"r{place}",
            features=_features(place, Random(place)),
            vector=near(random, *(float(place % 7 == at) for at in range(7)), spread=0.2),
            cost=3.0 if arm == ARMS[1] else 4.0,
        )
        for place in range(count)
        for arm in ARMS
    ]


def _bandit(count: int) -> list[Observation]:
    """Return one arm a request, the one four times as often as the other."""
    random = Random(9)
    every = traces(count)
    rows = []
    for place in range(count):
        often = random.random() < 0.8
        chosen = every[2 * place + (0 if often else 1)]
        rows.append(chosen.model_copy(update={"propensity": 0.8 if often else 0.2}))
    return rows


def _engine(artifact: Artifact | None) -> Engine:
    settings = RouterSettings.model_validate({"type": "acm_linear"})
    linear = settings.acm_linear.model_copy(update={"weights": artifact})
    return Engine(settings.model_copy(update={"acm_linear": linear}))


@pytest.mark.parametrize("target", ["ridge", "logit"])
def test_it_learns_for_which_requests_an_arm_pays(target: Target) -> None:
    trained = train(traces(400), target=target)
    engine = _engine(trained.artifact)
    sums, other = (_features(place, Random(1)) for place in (0, 1))

    assert engine.decide(query("none", *ARMS, features=sums)).arm == ARMS[1]
    assert engine.decide(query("none", *ARMS, features=other)).arm == "none"
    assert trained.margin > trained.error > 0
    assert trained.utility == pytest.approx(14, abs=1.5)
    assert trained.fixed == ARMS[1]
    assert trained.regret == pytest.approx(1.5, abs=1.5)
    assert trained.slope == pytest.approx(1.0, abs=0.1)
    assert trained.artifact.cv_mean_q == trained.utility


def test_what_was_drawn_by_chance_teaches_the_same() -> None:
    trained = train(_bandit(800))

    sums = _features(0, Random(1))
    decided = _engine(trained.artifact).decide(query("none", *ARMS, features=sums))

    assert decided.arm == ARMS[1]
    assert trained.utility == pytest.approx(14, abs=2.5)


def test_a_dearer_plain_call_turns_it_away_from_what_costs_more() -> None:
    engine = _engine(train(traces(400)).artifact)
    sums = _features(0, Random(1))

    chosen = [
        engine.decide(query("none", *ARMS, features=sums, **{"lambda": lambda_}))
        for lambda_ in (0.0, 5.0, 14.0, 17.0)
    ]

    assert [each.arm for each in chosen] == [ARMS[1], ARMS[1], ARMS[1], "none"]
    scores = [each.scores[ARMS[1]] for each in chosen]
    assert scores[0] - scores[1] == pytest.approx(10, abs=0.01)


def test_weights_that_do_not_beat_the_best_arm_are_not_kept() -> None:
    random = Random(1)
    rows = [each.model_copy(update={"quality": 0.5 + random.gauss(0, 0.1)}) for each in traces(200)]

    with pytest.raises(NotWorthIt, match="standard error"):
        train(rows)


@pytest.mark.parametrize("rows", [[], traces(10), [row("a", "none", 0.0)]])
def test_too_little_teaches_nothing(rows: list[Observation]) -> None:
    with pytest.raises(NotWorthIt, match="30 are needed"):
        train(rows)


def test_a_logit_wants_requests_of_which_every_arm_is_known() -> None:
    with pytest.raises(NotWorthIt, match="30 are needed"):
        train(_bandit(400), target="logit")


def test_until_there_are_weights_the_first_arm_is_taken() -> None:
    decided = _engine(None).decide(query("best_of_n/3", "none"))

    assert decided.arm == "best_of_n/3"
    assert decided.estimate


def test_an_arm_without_weights_is_not_chosen_and_a_masked_one_neither() -> None:
    engine = _engine(train(traces(400)).artifact)
    sums = _features(0, Random(1))
    asked = query("none", *ARMS, "fountain", features=sums)
    masked = asked.offers[2].model_copy(update={"masked": "tools"})

    decided = engine.decide(
        asked.model_copy(update={"offers": (*asked.offers[:2], masked, asked.offers[3])})
    )

    assert decided.arm == "none"
    assert set(decided.scores) == {"none", ARMS[0]}
    assert decided.masked == {ARMS[1]: "tools"}


def test_what_is_kept_in_a_file_decides_as_before(tmp_path: Path) -> None:
    trained = train(traces(400), created="2026-11-30")
    path = tmp_path / "weights.json"

    artifacts.write(trained.artifact, path)
    settings = RouterSettings.model_validate(
        {"type": "acm_linear", "acm_linear": {"file": str(path)}}
    )

    read = artifacts.with_weights(settings)
    assert read.acm_linear.weights == trained.artifact
    assert read.acm_linear.weights is not None
    assert read.acm_linear.weights.checksum
    assert artifacts.with_weights(RouterSettings()) == RouterSettings()


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    artifacts.write(train(traces(400)).artifact, path)
    path.write_text(path.read_text("utf-8").replace("4.0", "1.0"), "utf-8")

    with pytest.raises(ValueError, match="checksum"):
        artifacts.read(path)


def test_people_are_told_what_weighs_most() -> None:
    lines = told(train(traces(400)).artifact)

    assert lines[0].startswith("ridge, alpha")
    assert any(line.startswith(f"{ARMS[1]}: ") and "has_math" in line for line in lines)


def test_features_are_those_of_the_technique_that_takes_the_same_weights() -> None:
    ask = "What is 12 * 7? Show the steps.\n```\nprint(84)\n```"
    request = Request("m", (said("user", ask),))
    category = categorise(request)
    whole = counted(request, category, None)
    content = {name: value for name, value in whole.items() if name in CONTENT}

    assert linear_features(Features(category=category.name, content=content)) == whole


def test_requests_about_one_thing_are_in_one_part() -> None:
    known = lessons(traces(300))

    folds = known.folds()

    assert sorted(place for fold in folds for place in fold) == list(range(300))
    towns = [set(known.town[fold]) for fold in folds]
    assert sum(map(len, towns)) == len(set(known.town))


def test_the_bias_of_a_ridge_is_not_penalised_and_its_other_weights_are() -> None:
    random = np.random.default_rng(1)
    known = np.column_stack([np.ones(200), random.standard_normal(200)])
    values = 5 + 2 * known[:, 1]

    free = ridge(known, values, np.ones(200), 1e-6)
    held = ridge(known, values, np.ones(200), 1e6)

    assert free == pytest.approx([5, 2], abs=1e-3)
    assert held == pytest.approx([values.mean(), 0], abs=1e-2)


def test_a_logit_finds_the_chances_that_classes_were_drawn_by() -> None:
    random = np.random.default_rng(2)
    known = np.column_stack([np.ones(4000), random.standard_normal(4000)])
    true = np.array([[0.0, 0.5, -0.5], [0.0, 1.0, -1.0]])
    chances = likely(known, true)
    drawn = np.array([random.choice(3, p=each) for each in chances])

    found = logit(known, np.eye(3)[drawn], np.ones(4000), 1e-3)

    assert np.abs(likely(known, found) - chances).max() < 0.06
