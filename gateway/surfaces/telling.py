"""What a client is told beside the answer: headers at its start, a summary at its end."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from gateway.clock import utc_now
from gateway.metering.holds import Holds
from gateway.metering.known import caveats, cost_tier
from gateway.metering.ledger import Ledger, ToolCalled
from gateway.policy import wishes as wishing
from gateway.surfaces.handed import handed_on
from gateway.surfaces.visit import Visit
from gateway.wire.dialect import Summary, Times
from gateway.wire.respond import Headers
from techniques.core.json import Json

_MOST_TOLD: Final = 2000


def head_of(visit: Visit) -> Headers:
    """Return the response headers, as far as things are known when they are sent."""
    own = visit.request_id.encode()
    headers: Headers = [(b"x-lockgate-request-id", own), (visit.id_header, own)]
    plan, ledger = visit.plan, visit.ledger
    headers += _run(visit)
    if plan is not None:
        answered = ledger.answering or plan.model.target
        headers += (
            (b"x-lockgate-technique", plan.technique.encode()),
            (b"x-lockgate-model", answered.shown.encode()),
            (b"x-lockgate-provider", answered.provider.encode()),
            (b"x-lockgate-overhead-ms", b"%.3f" % ((visit.planned - visit.came) * 1000)),
        )
        if plan.why != "default":
            headers.append((b"x-lockgate-route", _one_line(plan.why)))
        if ledger.rows and not _is_streamed(visit):  # a stream tells at its end
            headers += (
                (b"x-lockgate-calls", b"%d" % len(ledger.rows)),
                (b"x-lockgate-cost-source", ledger.cost_source().encode()),
            )
            if cost := ledger.cost_usd():
                headers.append((b"x-lockgate-cost-usd", cost.encode()))
    headers += _paused(ledger.holds)
    headers += _tools(visit)
    handed = handed_on(visit.dialect, ledger, visit.error, utc_now())
    headers += [(name.encode(), _one_line(value)) for name, value in handed.items()]
    visit.warned = len(ledger.warnings)
    if ledger.warnings:
        headers.append((b"x-lockgate-warnings", _one_line("; ".join(_warnings(ledger)))))
    return headers


def _run(visit: Visit) -> Headers:
    """Return what the run is called, and that it lasts no longer than the process if it does."""
    if visit.run is None:
        return []
    headers = [(b"x-lockgate-run", _one_line(visit.run))]
    if visit.asked is not None and visit.asked.caller.kept_apart:
        headers.append((b"x-lockgate-durability", b"memory"))
    return headers


def _paused(holds: Holds) -> Headers:
    """Return what is to say of rate limits; nothing of a request that met none."""
    if not holds.reason:
        return []
    headers = [
        (b"x-lockgate-paused-ms", b"%d" % holds.paused_ms()),
        (b"x-lockgate-pause-reason", holds.reason.encode()),
    ]
    holding = holds.longest
    if holding is not None:
        headers.append((b"x-lockgate-position", b"%d" % holding.position))
        if holding.eta_ms is not None:
            headers.append((b"x-lockgate-eta-ms", b"%d" % holding.eta_ms))
    return headers


def _tools(visit: Visit) -> Headers:
    """Return what is to say of quotas of tools; a stream tells at its end."""
    called = visit.ledger.tools
    if not called or _is_streamed(visit):
        return []
    return [(b"x-lockgate-tool-quota", _one_line(", ".join(map(_tool, called))))]


def _tool(called: ToolCalled) -> str:
    """Return what is told of one call of a tool with a quota, as an item of a structured field."""
    left = f";left={called.left}" if called.outcome == "counted" else ""
    wait = f";wait-ms={called.wait_ms}" if called.wait_ms else ""
    return f"{called.tool};{called.outcome}{left}{wait}"


def _is_streamed(visit: Visit) -> bool:
    return visit.asked is not None and visit.asked.call.streamed and visit.error is None


def _is_warned_late(visit: Visit) -> bool:
    """Tell whether something is to be warned of that the head of a stream could not tell."""
    return _is_streamed(visit) and len(visit.ledger.warnings) > visit.warned


def _one_line(text: str) -> bytes:
    """Return *text*, in which a client's own words may stand, as what a header can hold."""
    plain = text[:_MOST_TOLD]
    if not plain.isprintable():
        plain = "".join(c if c.isprintable() else "?" for c in plain)
    return plain.encode("latin-1", "replace")


def _warnings(ledger: Ledger) -> list[str]:
    return [f"{w.code}: {w.detail}" if w.detail else w.code for w in ledger.warnings]


def summary_of(visit: Visit) -> Summary:
    """Return what the whole run came to, for the end of the answer."""
    ledger, plan, asked = visit.ledger, visit.plan, visit.asked
    assert plan is not None
    assert asked is not None
    trailer: dict[str, Json] | None = None
    told = plan.card is not None or _speaks_lockgate(visit) or len(ledger.rows) > 1
    if told or ledger.tools or _is_warned_late(visit):
        answered = ledger.answering or plan.model.target
        trailer = {
            "request_id": visit.request_id,
            "technique": plan.technique,
            "model": answered.shown,
            "provider": answered.provider,
            "calls": len(ledger.rows),
            "cost_usd": ledger.cost_usd(),
            "cost_source": ledger.cost_source(),
            "cost_tier": cost_tier(ledger.rows),
            "caveats": caveats(ledger.rows),
            "paused_ms": ledger.holds.paused_ms(),
            "warnings": _warnings(ledger),
        }
        if ledger.tools:
            trailer["tools"] = [called._asdict() for called in ledger.tools]
    return Summary(
        usage=ledger.usage(),
        calls=len(ledger.rows),
        cost_usd=ledger.cost_usd(),
        cost_source=ledger.cost_source(),
        trailer=trailer,
        total=asked.wishes.usage_mode == "total",
        times=_times(visit),
        request_id=visit.request_id,
    )


def _times(visit: Visit) -> Times:
    exchange = visit.exchange
    begun = None if exchange is None else exchange.begun_at
    return Times(
        perf_counter() - visit.came,
        None if begun is None else begun - visit.came,
        visit.ledger.holds.paused_ms() / 1000,
    )


def _speaks_lockgate(visit: Visit) -> bool:
    """Return whether the client asked for anything of ours; others get the provider's bytes."""
    assert visit.asked is not None
    return bool(visit.asked.call.wishes) or any(
        name.startswith(wishing.PREFIX) for name in visit.headers
    )
