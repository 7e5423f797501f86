"""A linear model that says what each technique is worth for a request: its weights, as stored."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Literal, TypeAlias

import orjson
from pydantic import BaseModel, Field, FiniteFloat, model_validator

from techniques.core.json import Json
from techniques.parts.category import CategoryName
from techniques.parts.features import CATEGORIES, CONTENT, FEATURES

Names: TypeAlias = Annotated[tuple[str, ...], Field(min_length=1)]


class FeatureSpec(BaseModel, frozen=True, extra="forbid"):
    """Which features the weights are for, in the order of their rows."""

    feature_order: Names
    categories: tuple[CategoryName, ...] = CATEGORIES
    has_bias: bool = True
    has_difficulty: bool = True
    has_content_features: bool = True

    @model_validator(mode="after")
    def _holds_together(self) -> FeatureSpec:
        order = self.feature_order
        for name in order:
            if name not in FEATURES:
                raise ValueError(f"there is no feature {name!r}; there are {', '.join(FEATURES)}")
        if len(set(order)) < len(order):
            raise ValueError("a feature stands twice in feature_order")
        stated = {
            "has_bias": "bias" in order,
            "has_difficulty": "difficulty" in order,
            "has_content_features": bool(CONTENT & set(order)),
        }
        for name, holds in stated.items():
            if getattr(self, name) != holds:
                raise ValueError(f"{name} says otherwise than feature_order")
        if {name for name in order if name.startswith("category_")} != {
            f"category_{name}" for name in self.categories
        }:
            raise ValueError("categories are others than in feature_order")
        return self


class Artifact(BaseModel, frozen=True, extra="forbid"):
    """What training leaves: ``weights`` with a row a feature and a column a technique.

    The ``target`` is ``ridge``: what a technique is expected to add to a plain call's quality,
    0 to 1; or ``logit``: how often it is the best choice, its cost already counted. ``costs`` are
    those of the techniques in plain calls. Where ``checksum`` is given it must be right.
    """

    version: int | str = 1
    router_type: str = "acm_linear"
    feature_spec: FeatureSpec
    technique_classes: Names
    weights: tuple[tuple[FiniteFloat, ...], ...]
    target: Literal["ridge", "logit"] = "ridge"
    costs: tuple[Annotated[FiniteFloat, Field(ge=0)], ...] | None = None
    alpha: float | None = None
    lambda_trained: Annotated[FiniteFloat, Field(ge=0)] | None = None
    trained_on: Json = None
    cv_mean_q: float | None = None
    created: str | None = None
    checksum: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> Artifact:
        rows, columns = len(self.feature_spec.feature_order), len(self.technique_classes)
        if len(set(self.technique_classes)) < columns:
            raise ValueError("a technique stands twice in technique_classes")
        if len(self.weights) != rows or any(len(row) != columns for row in self.weights):
            raise ValueError(f"weights must be {rows} rows (features) of {columns} (techniques)")
        if self.costs is not None and len(self.costs) != columns:
            raise ValueError(f"costs must be {columns} numbers, one for each technique")
        if self.checksum is not None and self.checksum != checksum(self):
            raise ValueError("checksum is not that of these weights")
        return self


def checksum(artifact: Artifact) -> str:
    """Return the SHA-256, in hex, of what *artifact* decides by."""
    decisive = artifact.model_dump(
        mode="json", include={"feature_spec", "technique_classes", "weights", "target", "costs"}
    )
    return sha256(orjson.dumps(decisive, option=orjson.OPT_SORT_KEYS)).hexdigest()


def utilities(
    artifact: Artifact, features: Mapping[str, float], cost_weight: float
) -> dict[str, float]:
    """Return what each technique is worth, in quality points of 100, less what it costs.

    *cost_weight* is how many points the cost of one plain call must buy.
    """
    values = [features[name] for name in artifact.feature_spec.feature_order]
    found = {}
    for place, technique in enumerate(artifact.technique_classes):
        worth = sum(value * row[place] for value, row in zip(values, artifact.weights, strict=True))
        if artifact.target == "ridge":
            cost = artifact.costs[place] if artifact.costs else 0.0
            worth = 100 * worth - cost_weight * cost
        found[technique] = worth
    return found
