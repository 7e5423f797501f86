"""Why a technique must not be chosen for a request: asked before any router is."""

from __future__ import annotations

from typing import Final

from gateway.metering.caps import Caps
from gateway.planning.fitting import lost_by
from gateway.planning.plan import Plan
from gateway.policy.models import Model
from router_service.contract import Features
from techniques.core.errors import RequestRejected
from techniques.core.request import Request
from techniques.parts.transcript import pictures

REASONS: Final = (
    "a reasoning model",
    "audio",
    "budget",
    "calls",
    "context",
    "creative",
    "deadline",
    "effort",
    "fixed temperature",
    "form",
    "judge",
    "key",
    "log-probabilities",
    "logprobs",
    "n > 1",
    "not possible",
    "options",
    "pictures",
    "price",
    "response_format",
    "tests",
    "tools",
    "two models",
)
"""All reasons that there are: a word or two each, safe as labels."""

_PICKY: Final = frozenset({"turbo", "self_refine", "chain_of_verification", "mixture_of_agents"})
_MERGING: Final = frozenset(
    {"self_moa", "diversity_mrc", "diversity_egc", "diversity_frequency", "diversity_time"}
)
_NOT_WITH_TOOLS: Final = _PICKY | _MERGING
_NOT_IN_FORM: Final = _MERGING | {"mixture_of_agents", "harq_cc"}
_NOT_CREATIVE: Final = frozenset(
    {
        "self_consistency",
        "cisc",
        "weighted_bon",
        "diversity_mrc_discrete_N",
        "diversity_mrc_discrete_N_soft",
        "chain_of_verification",
    }
)


def barred(plan: Plan, request: Request, features: Features, policy: str | None) -> str:
    """Return why *plan* must not be chosen for *request*, "" if it may be.

    *policy* says how a wish for several answers is served.
    """
    if request.thinking is not None and _sets_effort(plan):
        return "effort"
    if missing := _beyond(plan.model, request, features):
        return missing
    if plan.card is None:
        return ""
    try:
        lost = lost_by(plan, request, policy)
    except RequestRejected:
        lost = "n > 1"
    return lost or _unsuited(plan.card.name, request, features)


def _sets_effort(plan: Plan) -> bool:
    return bool(plan.effort) or (plan.card is not None and plan.card.name == "effort_up")


def _unsuited(technique: str, request: Request, features: Features) -> str:
    """Return what of a request *technique* does not go with."""
    if request.tools and (technique in _NOT_WITH_TOOLS or technique.startswith("fec_")):
        return "tools"
    if request.response_format is not None and technique in _NOT_IN_FORM:
        return "form"
    creative = features.category == "creative" and technique in _NOT_CREATIVE
    return "creative" if creative else ""


def _beyond(model: Model, request: Request, features: Features) -> str:
    """Return what *model* cannot do that *request* wants."""
    able = model.target.capabilities
    form = request.response_format
    if request.tools and not able.tools:
        return "tools"
    if form is not None and form.kind == "json_schema" and not able.json_schema:
        return "form"
    if not able.vision and pictures(request):
        return "pictures"
    over = able.context is not None and features.tokens > able.context
    return "context" if over else ""


def too_dear(caps: Caps, calls: float, picodollars: float | None) -> str:
    """Return which of *caps* so many *calls*, or so much money, are likely to be over."""
    if caps.max_calls is not None and calls > caps.max_calls:
        return "calls"
    if caps.max_cost is not None and picodollars is not None and picodollars > caps.max_cost:
        return "budget"
    return ""
