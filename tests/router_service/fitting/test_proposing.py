from __future__ import annotations

import pytest

from router_service.fitting.proposing import BrokenOff, propose
from router_service.learning.promotion import half
from router_service.learning.training import train
from router_service.parameters import Tuned, Weights, applied
from router_service.settings import RouterSettings
from tests.router_service.fitting.scene import ARMS, traffic, turned

LINEAR = RouterSettings.model_validate({"type": "acm_linear"})
SEMKNN = RouterSettings.model_validate({"type": "semknn"})
NOISY = traffic(1000, 1, gains=(0.1, -0.1), noise=0.3)


def test_first_weights_are_proposed_with_their_figures() -> None:
    found = propose(traffic(600), LINEAR, "2026-11-30")

    assert isinstance(found.found, Weights)
    assert found.promoted
    assert found.why.startswith("no worse: +")
    assert found.found.artifact.created == "2026-11-30"
    assert found.figures["current"]["mean"] == 0
    assert found.figures["candidate"]["mean"] == pytest.approx(14, abs=3)
    assert found.figures["gain"]["low"] > 5
    assert found.figures["snips"]["candidate"]["mean"] == pytest.approx(14, abs=4)
    assert found.figures["best_fixed"]["arm"] == "self_consistency/3"
    assert found.figures["calibration"] == pytest.approx(1, abs=0.2)
    assert found.figures["training"]["fixed"] == "self_consistency/3"


def test_weights_that_are_worse_than_those_served_are_not_promoted() -> None:
    good = train(traffic(600)).artifact
    honest = applied(LINEAR, Weights(artifact=good))
    misled = applied(LINEAR, Weights(artifact=turned(good)))

    few = traffic(160, 8, gains=(0.1, -0.1), noise=0.4)

    better, worse = propose(traffic(600, seed=8), misled), propose(few, honest)

    assert better.promoted
    assert worse.found is not None
    assert not worse.promoted
    assert worse.figures["gain"]["low"] < 0


def test_the_same_weights_are_not_served_twice() -> None:
    rows = traffic(600)
    settings = applied(LINEAR, Weights(artifact=train(rows).artifact))

    found = propose(rows, settings)

    assert not found.promoted
    assert "served already" in found.why


def test_of_too_few_rows_no_weights_are_made() -> None:
    found = propose(traffic(20), LINEAR)

    assert found.found is None
    assert not found.promoted
    assert "30 are needed" in found.why


def test_a_bad_setting_of_the_neighbours_is_mended() -> None:
    timid = SEMKNN.semknn.model_copy(update={"caution": 3.0})
    settings = SEMKNN.model_copy(update={"semknn": timid})

    found = propose(NOISY, settings)

    assert found.found == Tuned(neighbours=40, kappa=8.0, caution=1.5)
    assert found.promoted
    assert found.figures["gain"]["low"] >= 0
    assert found.figures["best_fixed"]["arm"] in {"none", *ARMS}
    assert found.figures["tried"] == sum(not half(row) for row in NOISY)
    assert 400 < found.figures["tried"] < 600


def test_where_nothing_is_better_the_neighbours_stay_as_they_are() -> None:
    found = propose(traffic(300), SEMKNN)

    assert (found.found, found.promoted) == (None, False)
    assert "none of the settings" in found.why


def test_a_router_without_parameters_has_nothing_to_fit() -> None:
    found = propose(traffic(100), RouterSettings())

    assert (found.found, found.promoted) == (None, False)
    assert "nothing to fit" in found.why


@pytest.mark.parametrize("settings", [LINEAR, SEMKNN])
def test_it_is_broken_off_when_nobody_waits_any_more(settings: RouterSettings) -> None:
    looks: list[bool] = []

    def stopped() -> bool:
        looks.append(True)
        return len(looks) > 2

    with pytest.raises(BrokenOff):
        propose(traffic(600), settings, "", stopped)

    assert len(looks) == 3
