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
    lost, made = lost_by(plan, request, asked.wishes.n_policy)
    if lost is None:
        return made
    if plan.strict:
        at = "model" if plan.why == BY_SLUG else asked.wishes.at("technique")
        message = f"{plan.technique} cannot keep what this request has: {lost}."
        raise RequestRejected(message, code="technique_masked", param=at)
    warning = Warned("technique_masked", f"{plan.technique}: {lost}")
    return replace(plan, card=None, options=None, warnings=(*plan.warnings, warning))


def lost_by(plan: Plan, request: Request, policy: str | None) -> tuple[str | None, Plan]:
    """Return what the technique of *plan* cannot keep of *request*, None if all, and its plan.

    *policy* says how a wish for several answers is served.

    Raises:
        RequestRejected: These are more answers than can be given.
    """
    if plan.card is None:
        return None, plan
    modality = plan.card.traits.modality
    choices = choices_of(request, modality, policy)
    if choices > 1:
        request = replace(request, sampling=replace(request.sampling, n=1))
    lost = masked(modality, request, plan.model.target.capabilities)
    return lost, replace(plan, request=request, choices=choices)
