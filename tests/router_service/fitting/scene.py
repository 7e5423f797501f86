"""A traffic of which something may be learnt: the one arm pays for sums, the other for nothing."""

from __future__ import annotations

from random import Random

from router_service.contract import Features, Observation, RouteQuery
from techniques.parts.linear import Artifact
from tests.router_service.rows import near, query, row

ARMS = ("best_of_n/3", "self_consistency/3")
SUMS = Features(category="reasoning", content={"has_math": 1.0})
TALK = Features(category="qa", content={"has_math": 0.0})


def traffic(
    count: int, seed: int = 5, gains: tuple[float, float] = (0.3, -0.05), noise: float = 0.05
) -> list[Observation]:
    """Return what was observed while arms were drawn, the plain call as often as the two.

    *gains* are those where an arm pays, and where it does not.
    """
    random = Random(seed)
    rows = []
    for place in range(count):
        sums = random.random() < 0.5
        arm = random.choices(("none", *ARMS), (0.5, 0.25, 0.25))[0]
        gain = 0.0
        if arm != "none":
            pays = sums and arm == ARMS[1]
            gain = min(max(gains[0 if pays else 1] + random.gauss(0, noise), -0.5), 0.5)
        rows.append(
            row(
                f"r{place}",
                arm,
                gain,
                features=SUMS if sums else TALK,
                vector=near(random, *((1.0, 0.0) if sums else (0.0, 1.0)), spread=0.3),
                propensity=0.5 if arm == "none" else 0.25,
                cost=1.0 if arm == "none" else 3.0,
            )
        )
    return rows


def asks(features: Features) -> RouteQuery:
    """Return a query that offers all arms."""
    return query("none", *ARMS, features=features, explore=False)


def turned(artifact: Artifact) -> Artifact:
    """Return weights that say the contrary of *artifact*."""
    weights = tuple(tuple(-value for value in each) for each in artifact.weights)
    return artifact.model_copy(update={"weights": weights, "checksum": None})
