"""A plan for a request that is read in full: what its technique cannot keep of it."""

from __future__ import annotations

from dataclasses import replace

from gateway.planning.asked import Asked
from gateway.planning.choices import choices_of
from gateway.planning.plan import BY_SLUG, Plan
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.masks import masked
from techniques.core.request import Request


def fitted(plan: Plan, asked: Asked, request: Request) -> Plan:
    """Return *plan* for *request*, which is that of *asked* in full.

    A technique that cannot keep what the request has gives way to a plain call, with a warning.

    Raises:
        RequestRejected: ... and the caller is strict about it.
    """
    if plan.card is None:
        return plan
    choices = choices_of(request, plan.card.traits.modality, asked.wishes.n_policy)
    one = _one(request, choices)
    lost = masked(plan.card.traits.modality, one, plan.model.target.capabilities)
    if lost is None:
        return replace(plan, request=one, choices=choices)
    if plan.strict:
        at = "model" if plan.why == BY_SLUG else asked.wishes.at("technique")
        message = f"{plan.technique} cannot keep what this request has: {lost}."
        raise RequestRejected(message, code="technique_masked", param=at)
    warning = Warned("technique_masked", f"{plan.technique}: {lost}")
    return replace(plan, card=None, options=None, warnings=(*plan.warnings, warning))


def lost_by(plan: Plan, request: Request, policy: str | None) -> str | None:
    """Return what the technique of *plan* cannot keep of *request*, None if it keeps all.

    *policy* says how a wish for several answers is served.

    Raises:
        RequestRejected: These are more answers than can be given.
    """
    if plan.card is None:
        return None
    modality = plan.card.traits.modality
    one = _one(request, choices_of(request, modality, policy))
    return masked(modality, one, plan.model.target.capabilities)


def _one(request: Request, choices: int) -> Request:
    """Return *request* for one answer, where a technique is to give several by itself."""
    if choices <= 1:
        return request
    return replace(request, sampling=replace(request.sampling, n=1))
