"""Which requests are runs that are written down, and what such a run is known by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from urllib.parse import quote

from gateway.metering.routed import written
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Plan
from gateway.policy.models import Model
from gateway.runs.identity import body_hash, kept_headers, plan_hash
from gateway.runs.live import LiveRun
from gateway.runs.wanted import Wanted
from gateway.stores.journal.records import Sent
from gateway.surfaces.visit import Visit
from techniques.core.channel import EventStream
from techniques.core.json import Json
from techniques.core.relayed import ALONE


def is_kept(asked: Asked, plan: Plan, headers: Mapping[str, str]) -> bool:
    """Return whether a request is a run that is written down.

    All that a technique does is; a plain call only if its client names a run or a session, or says
    that it will come back; or that it comes back, where a router may have chosen otherwise before.
    What is relayed alone never is: it is soon done again.
    """
    if asked.call.dialect in ALONE:
        return False
    if plan.card is not None:
        return True
    wishes = asked.wishes
    named = wishes.run is not None or wishes.session is not None
    again = plan.routed is not None and asked.attempted > 0
    return named or again or wishes.on_limit == "suspend" or wants_no_wait(headers)


def wants_no_wait(headers: Mapping[str, str]) -> bool:
    """Return whether the client does not wait for the answer.

    Source: RFC 7240, section 4.1.
    """
    said = headers.get("prefer")
    return said is not None and any(
        one.strip().lower() == "respond-async" for one in said.replace(";", ",").split(",")
    )


def wanted_by(visit: Visit, pipeline: Pipeline, raw: bytes) -> Wanted:
    """Return the run that *visit* is about; what a router chose before is made its plan."""
    asked, plan = visit.asked, visit.plan
    assert asked is not None
    assert plan is not None

    def again(kept: str) -> Wanted | None:
        before = pipeline.again(asked, kept, plan)
        if before is None:
            return None
        visit.plan = before
        return wanted(asked, before, visit.headers, raw)

    return replace(wanted(asked, plan, visit.headers, raw), again=again if plan.routed else None)


def carry_of(visit: Visit, pipeline: Pipeline) -> Callable[[LiveRun | None], EventStream]:
    """Return what carries out the plan that *visit* has by then."""

    def carry(journal: LiveRun | None) -> EventStream:
        asked, plan = visit.asked, visit.plan
        assert asked is not None
        assert plan is not None
        return pipeline.answer(asked, plan, visit.ledger, journal)

    return carry


def wanted(asked: Asked, plan: Plan, headers: Mapping[str, str], raw: bytes) -> Wanted:
    """Return the run that *asked* is, as its client waits for it."""
    wishes, dialect = asked.wishes, asked.call.dialect
    named = wishes.run is not None or wishes.session is not None
    return Wanted(
        owner=asked.caller.name or "",
        run=wishes.run,
        request_id=asked.request_id,
        body=body_hash(dialect, raw, headers),
        plan=planned(plan),
        technique=plan.technique,
        model=plan.model.name,
        provider=plan.model.target.provider,
        session=wishes.session,
        returns=named or wishes.on_limit == "suspend",
        retried=asked.attempted > 0,
        sent=sent_of(dialect, raw, headers),
        routed=None if plan.routed is None else written(plan.routed),
    )


def sent_of(dialect: str, raw: bytes, headers: Mapping[str, str]) -> Sent:
    """Return a request so that it can be carried out once more."""
    return Sent(dialect, raw.decode(), kept_headers(headers))


def run_path(run: str) -> str:
    """Return where the run of that name can be looked at."""
    return f"/v1/runs/{quote(run)}"


def planned(plan: Plan) -> str:
    """Return what tells whether the same would be done for a request again."""
    options: Json = None if plan.options is None else plan.options.model_dump(mode="json")
    return plan_hash(
        plan.technique,
        options,
        _named(plan.models),
        _named(plan.pool) if plan.card is not None else [],
        _named(one for one in (plan.judge, plan.critic) if one is not None and plan.card),
        plan.choices,
        plan.rescue,
        *([plan.effort] if plan.effort else []),
    )


def _named(models: Iterable[Model]) -> list[Json]:
    return [[one.name, one.target.model, one.target.provider] for one in models]
