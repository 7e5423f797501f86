"""The fact that ends a request."""

from __future__ import annotations

from time import perf_counter

from gateway.metering.ledger import RequestFinished, Route
from gateway.planning.plan import BY_SLUG, BY_WISH, Plan
from gateway.policy import wishes as wishing
from gateway.routing.observing import Ended, Observer
from gateway.surfaces.outcome import code_of, outcome_of
from gateway.surfaces.visit import Visit


def end(visit: Visit, dialect: str, model: str, observer: Observer | None) -> None:
    """Write down how *visit* ended; *observer* is told of it, where a router had chosen."""
    fact = finished(visit, dialect, model)
    visit.ledger.record(fact)
    plan, asked, ledger = visit.plan, visit.asked, visit.ledger
    if observer is None or plan is None or plan.routed is None or asked is None:
        return
    params = dict(asked.wishes.params or {})
    paused_s = ledger.holds.paused_ms() / 1000
    told = fact, plan, params, ledger.replayed, ledger.saved, paused_s, asked.call, asked.caller
    observer.ended(Ended(*told))


def finished(visit: Visit, dialect: str, model: str) -> RequestFinished:
    """Return how *visit* ended; *model* is a configured name, or empty."""
    asked, plan, exchange, ledger = visit.asked, visit.plan, visit.exchange, visit.ledger
    now = perf_counter()
    wishes = asked.wishes if asked else wishing.NOTHING
    begun = exchange.begun_at if exchange else None
    return RequestFinished(
        request_id=visit.request_id,
        run=visit.run or wishes.run or visit.request_id,
        session=wishes.session,
        tags=wishes.tags,
        key=asked.caller.name if asked else None,
        team=asked.caller.team if asked else None,
        dialect=dialect,
        model=model,
        provider=plan.model.target.provider if plan else "",
        technique=plan.technique if plan else "none",
        streamed=asked.call.streamed if asked else False,
        outcome=outcome_of(visit.error, left=ledger.client_left, bug=visit.bug),
        status=visit.status,
        rows=tuple(ledger.rows),
        warnings=tuple(ledger.warnings),
        seconds=now - visit.came,
        begun_s=None if begun is None else begun - visit.came,
        decode_s=max(visit.decoded - visit.came, 0.0),
        plan_s=max(visit.planned - visit.decoded, 0.0),
        cancel_s=now - exchange.left_at if exchange and exchange.left_at is not None else None,
        code=code_of(visit.error),
        route=_route(plan),
        trace=ledger.trace,
        routed=plan.routed if plan else None,
    )


def let_go(visit: Visit) -> None:
    """Break the circles in which *visit*, which has ended, would keep itself and its body.

    Its exchange, its ledger and its error know it, the last by where it came about: only the
    collector would free them, and that comes late.
    """
    error, visit.error, visit.exchange = visit.error, None, None
    visit.ledger.holds.watch = None
    forget_way(error)


def forget_way(error: BaseException | None) -> None:
    """Forget the frames that *error*, and those before it, went through: they have the request."""
    several = [error]
    while several:
        one = several.pop()
        if one is not None:
            several += (one.__cause__, one.__context__)
            one.__traceback__ = one.__cause__ = one.__context__ = None


def _route(plan: Plan | None) -> Route:
    """Return who chose the technique of *plan*."""
    if plan is None or plan.why == "default":
        return "default"
    if plan.why == BY_WISH:
        return "asked"
    return "model_slug" if plan.why == BY_SLUG else "auto"
