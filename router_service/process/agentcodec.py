"""Answers those who ask as clients of AgentCodec do: what they send, and what they read.

They send more than is looked at here, and may send yet more: unknown fields are no fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from router_service.arms import PLAIN, arm_of
from router_service.contract import (
    LONGEST_VECTOR,
    Amount,
    ModelSpec,
    NoExactProfile,
    Offer,
    RouteDecision,
    RouteQuery,
    Vector,
)
from router_service.process.config import AgentCodecSettings

VERSION: Final = "1"
_BASELINE: Final = "baseline"
_FEW: Final = 2
_OF_SEVERAL: Final = frozenset(
    {
        "diversity_sc",
        "diversity_mrc",
        "diversity_egc",
        "diversity_spatial",
        "diversity_mrc_soft",
        "mixture_of_agents",
    }
)
"""What takes two models at the least."""
_JUDGED: Final = frozenset(
    {"best_of_n", "weighted_bon", "diversity_sc", "harq_cc", "harq_ir", "turbo", "fountain"}
)
"""What takes a judge that is not the model itself."""


class _Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class ChannelSpec(_Lenient):
    """A model that they have."""

    family: str = "unknown"
    params_b: Amount | None = None
    quant: str | None = None


class UserConfig(_Lenient):
    """What they have to answer with."""

    model_families: tuple[str, ...] = ()
    channel_specs: tuple[ChannelSpec, ...] = Field((), max_length=64)
    n_distinct_channels: int | None = Field(None, ge=0)
    primary_temperature: float | None = None
    category_temperatures: Mapping[str, Any] | None = None
    has_separate_critic: bool | None = None


class Asked(_Lenient):
    """What they ask."""

    embedding: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = Field(
        min_length=1, max_length=LONGEST_VECTOR
    )
    lambda_: Amount = Field(1.0, alias="lambda")
    k: int | None = Field(None, ge=1)
    strict_match: bool = False
    user_config: UserConfig | None = None


def query_of(asked: Asked, settings: AgentCodecSettings) -> RouteQuery:
    """Return what *asked* is to the router."""
    stated = asked.user_config or UserConfig()
    return RouteQuery.model_validate(
        {
            "model": "",
            "offers": tuple(_offers(stated, settings)),
            "vector": Vector(encoder=settings.encoder, values=asked.embedding),
            "pool": _pool(stated),
            "lambda": asked.lambda_,
            "strict": asked.strict_match,
            "explore": False,  # what became of it, they do not tell
        }
    )


def told(decision: RouteDecision) -> dict[str, Any]:
    """Return *decision* as they read it."""
    scores: dict[str, float] = {}
    for name, score in decision.scores.items():
        technique = _technique(name)
        scores[technique] = max(score, scores.get(technique, score))
    return {
        "chosen": _technique(decision.arm),
        "confidence": decision.confidence or 0.0,
        "scores": scores,
        "match_quality": decision.match,
        "match_similarity": decision.similarity or 0.0,
        "profile_used": decision.profile,
        "estimate": decision.estimate,
        "masked_techniques": sorted({_technique(name) for name in decision.masked}),
        "warnings": list(decision.warnings),
        "predicted_quality_for_chosen": decision.predicted_quality,
        "predicted_cost_for_chosen": decision.predicted_cost,
    }


def refusal(error: NoExactProfile) -> dict[str, Any]:
    """Return what is told where nothing was learnt of their models and they are strict."""
    told = {"profile": error.profile, "have": list(error.have), "want": error.want}
    return {"error": {"code": "no_exact_profile", **told}}


def meta(settings: AgentCodecSettings, neighbours: int) -> dict[str, Any]:
    """Return what they want to know first."""
    return {"bge_model": settings.model, "version": VERSION, "k_default": neighbours}


def _offers(stated: UserConfig, settings: AgentCodecSettings) -> Iterator[Offer]:
    channels = stated.n_distinct_channels
    if channels is None:
        channels = len(stated.channel_specs) or len(stated.model_families)
    for technique in settings.techniques:
        masked = ""
        if technique in _OF_SEVERAL and channels < _FEW:
            masked = "two models"
        elif technique in _JUDGED and stated.has_separate_critic is False:
            masked = "judge"
        arm = PLAIN.name if technique == _BASELINE else technique
        yield Offer(arm=arm, masked=masked)


def _pool(stated: UserConfig) -> tuple[ModelSpec, ...]:
    if stated.channel_specs:
        return tuple(
            ModelSpec(family=it.family, params_b=it.params_b, quantization=it.quant or "")
            for it in stated.channel_specs
        )
    return tuple(ModelSpec(family=family) for family in stated.model_families[:64])


def _technique(arm: str) -> str:
    technique = arm_of(arm).technique
    return _BASELINE if technique == PLAIN.technique else technique
