"""By weights that were learnt for a few features of a request (``techniques.parts.linear``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from router_service.arms import PLAIN
from router_service.contract import Features, Observation, RouteQuery
from router_service.routers import router
from router_service.routers.settings import RoutersSettings
from router_service.scores import Score, Scorer, Scores
from techniques.parts.features import CATEGORIES, CONTENT
from techniques.parts.linear import Artifact, utilities

_MIDDLE: Final = 0.5  # no pilot has told how hard it is: as acm_learned has it where none can
_BASELINE: Final = "baseline"


def linear_features(features: Features) -> dict[str, float]:
    """Return the features that weights are learnt for, as ``acm_learned`` computes them."""
    return {
        "bias": 1.0,
        "difficulty": _MIDDLE,
        **{f"category_{name}": float(name == features.category) for name in CATEGORIES},
        **{name: _finite(features.content.get(name, 0.0)) for name in CONTENT},
    }


def class_of(arm: str) -> str:
    """Return what *arm* is called among the classes of an artifact."""
    return _BASELINE if arm == PLAIN.name else arm


class AcmLinear:
    """It learns by training only (``router_service.learning.training``)."""

    def __init__(self, artifact: Artifact | None) -> None:
        self._artifact = artifact

    def __call__(self, query: RouteQuery) -> Scores:
        """Score the arms on offer that there are weights for; the plain call is 0."""
        masked = {offer.arm: offer.masked for offer in query.offers if offer.masked}
        free = [offer.arm for offer in query.offers if not offer.masked]
        if self._artifact is None:
            first = query.offers[0].arm
            arms = {first: Score(0.0, 0.0)} if first in free else {}
            return Scores(arms, "acm_linear: no weights yet", masked=masked, estimate=True)
        return self._scored(self._artifact, query, free, masked)

    def learnt(self, rows: Sequence[Observation], *, afresh: bool = False) -> AcmLinear:
        """Return the same."""
        del rows, afresh
        return self

    def tuned(self, settings: RoutersSettings) -> AcmLinear:
        """Return what decides by the weights in *settings*."""
        return AcmLinear(settings.acm_linear.weights)

    def _scored(
        self,
        artifact: Artifact,
        query: RouteQuery,
        free: Sequence[str],
        masked: Mapping[str, str],
    ) -> Scores:
        found = linear_features(query.features)
        worth = utilities(artifact, found, query.lambda_)
        gains = utilities(artifact, found, 0.0)
        counted = artifact.target == "ridge" and artifact.costs is not None
        plain = worth.get(_BASELINE, -query.lambda_ if counted else 0.0)
        costs = _costs(artifact)
        arms = {
            arm: _score(
                worth[class_of(arm)] - plain,
                gains[class_of(arm)] / 100 if artifact.target == "ridge" else 0.0,
                costs.get(class_of(arm), 1.0),
            )
            for arm in free
            if class_of(arm) in worth
        }
        if PLAIN.name in free:
            arms.setdefault(PLAIN.name, Score(0.0, 0.0))
        known = len(arms) > 1
        why = (
            "acm_linear: by its weights" if known else "acm_linear: no weights for what is offered"
        )
        return Scores(arms, why, "exact" if known else "default", masked=masked)


def _score(utility: float, gain: float, cost: float) -> Score:
    return Score(utility, utility, gain, 0.0, cost)


def _costs(artifact: Artifact) -> dict[str, float]:
    if artifact.costs is None:
        return {}
    return dict(zip(artifact.technique_classes, artifact.costs, strict=True))


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


@router
def acm_linear(settings: RoutersSettings) -> Scorer:
    """Make the router of the weights in *settings*."""
    return AcmLinear(settings.acm_linear.weights)
