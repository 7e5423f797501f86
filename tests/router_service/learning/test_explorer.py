from __future__ import annotations

from random import Random

import pytest

from router_service.contract import Observation, Offer, RouteQuery
from router_service.engine import Explorer as Wanted
from router_service.learning.exploration import Drawn
from router_service.learning.explorer import Explorer
from router_service.learning.settings import ExplorationSettings
from router_service.scores import Score, Scores

SCORES = Scores(
    {"none": Score(0, 0, cost=1.0), "dear": Score(-1, 4, cost=5.0), "free": Score(-1, 1, cost=1.0)},
    "",
)
QUERY = RouteQuery(model="m", offers=(Offer(arm="none"),), plain_usd=0.01)


def observation(place: int, drawn: Drawn, usd: float, **changes: object) -> Observation:
    row = {
        "id": f"r{place}",
        "request_id": f"r{place}",
        "at": float(place),
        "model": "m",
        "arm": drawn.arm,
        "explored": drawn.explored,
        "propensity": drawn.propensity,
        "cost_usd": usd,
        **changes,
    }
    return Observation.model_validate(row)


class World:
    """Requests of which each costs what is expected of its arm, times what *noise* makes of it."""

    def __init__(self, share: float = 0.03, *, noise: float = 0.0) -> None:
        self.now = 0.0
        self.random = Random(1)
        self.explorer = Explorer(
            ExplorationSettings(share=share), lambda: self.now, self.random.random
        )
        self.noise = noise
        self.spent = self.extra = 0.0
        self.drawn: list[Drawn] = []

    def request(self) -> None:
        self.now += 1
        drawn = self.explorer(SCORES, "none", QUERY)
        usd = 0.01 * SCORES.arms[drawn.arm].cost * self.random.uniform(1, 1 + 2 * self.noise)
        self.explorer.observe([observation(len(self.drawn), drawn, usd)])
        self.spent += usd
        self.extra += max(usd - 0.01, 0.0) if drawn.explored else 0.0
        self.drawn.append(drawn)

    def tried(self, arm: str) -> int:
        return sum(drawn.arm == arm for drawn in self.drawn)


def test_an_explorer_is_what_the_engine_takes() -> None:
    explore: Wanted = World().explorer

    assert explore(SCORES, "none", QUERY).arm == "none"


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_trying_costs_no_more_than_its_share_and_is_done_all_the_same(noise: float) -> None:
    world = World(noise=noise)
    for _ in range(5000):
        world.request()
        assert world.extra <= 0.03 * world.spent + 0.05  # what one try may cost more than expected

    assert world.tried("dear") > 15
    assert world.tried("free") > 100


def test_without_money_only_what_costs_no_more_is_tried() -> None:
    world = World(share=0.0)
    for _ in range(500):
        world.request()

    assert world.tried("dear") == 0
    assert world.tried("free") > 20


def test_what_was_worked_out_or_is_another_processs_is_not_spent_or_earned_twice() -> None:
    world = World()
    row = observation(0, Drawn("dear", 0.05, explored=True), 1.0)
    world.explorer.observe([row.model_copy(update={"counterfactual": True})])
    assert world.explorer.purse.allowance(0.0).total_usd == 0

    world.explorer.observe([row])
    assert world.explorer.purse.allowance(0.0).total_usd == pytest.approx(0.03)
    assert world.explorer.purse.spent(0.0) == 0


@pytest.mark.parametrize("times", [0.1, 1.0, 1.2])
def test_what_a_try_costs_is_told_by_what_plain_calls_cost_and_not_by_what_was_guessed(
    times: float,
) -> None:
    world = World(share=1.0)
    usd = 0.01 * times
    for place in range(1, 2_001):
        world.explorer(SCORES, "none", QUERY.model_copy(update={"explore": False}))
        plain = Drawn("none", 1.0, explored=False)
        world.explorer.observe([observation(place, plain, usd, cost=1.0)])

    drawn = [world.explorer(SCORES, "none", QUERY) for _ in range(300)]
    dear = next(one for one in drawn if one.arm == "dear")

    assert dear.expected_usd == pytest.approx(usd, rel=0.1)
    assert dear.extra_usd == pytest.approx(4 * usd, rel=0.1)
