"""Answers of models: from a request's bytes to its response, in one client dialect."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Final

import structlog
from starlette.types import Receive, Scope, Send

from gateway.clock import utc_now
from gateway.metering.ledger import Ledger, Meter, RequestBegun
from gateway.metering.trace import Begin, untraced
from gateway.pipeline import Asked, Pipeline
from gateway.planning.plan import Plan
from gateway.policy.keys import Door
from gateway.routing.observing import Observer
from gateway.runs.identity import body_hash
from gateway.stores.journal.records import RunName
from gateway.surfaces import spelled
from gateway.surfaces.accepted import GoesOn, accepted
from gateway.surfaces.behind import Behind
from gateway.surfaces.client_headers import attempted, forwarded, reads_for_s
from gateway.surfaces.finishing import end, finished, let_go
from gateway.surfaces.gate import Gate
from gateway.surfaces.handed import told_to_wait
from gateway.surfaces.idle import nothing
from gateway.surfaces.incoming import body_of, headers_of, leaving_of
from gateway.surfaces.kept import carry_of, is_kept, sent_of, wanted_by, wants_no_wait
from gateway.surfaces.kept_encoder import KeptEncoder
from gateway.surfaces.named import new_name
from gateway.surfaces.recall import DIALECT, Recall, Recalled
from gateway.surfaces.telling import head_of, summary_of
from gateway.surfaces.unheard import Unheard
from gateway.surfaces.visit import Visit
from gateway.wire.body import parse
from gateway.wire.dialect import Dialect, Encoder
from gateway.wire.respond import Exchange, Gone, encoded
from router_service.groundwork.aside import aside, is_heavy
from techniques.core.channel import EventStream
from techniques.core.errors import GatewayError, Unavailable

_LEFT: Final = 499
"""What is written down as the status where the client left before there was one."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Front:
    """What the surfaces share: who may in, how large a body may be, where facts go.

    ``behind`` None: no run is written down. ``visits`` are the requests that are being served.
    ``traced`` tells where a request stands in a trace, ``observer`` sees what came of a router's
    choices. ``recall`` is what is remembered of responses, ``unheard`` keeps those that nobody
    waits for.
    """

    door: Door
    pipeline: Pipeline
    meters: tuple[Meter, ...]
    max_body: int
    keepalive_s: float
    behind: Behind | None = None
    gate: Gate = field(default_factory=Gate)
    visits: dict[str, Visit] = field(default_factory=dict)
    traced: Begin = untraced
    observer: Observer | None = None
    recall: Recall = field(default_factory=Recall)
    unheard: Unheard | None = None


class CompletionEndpoint:
    """``POST`` of one dialect's path, as an ASGI application."""

    def __init__(self, dialect: Dialect, front: Front) -> None:
        self._dialect = dialect
        self._front = front
        self._id_header = b"request-id" if dialect.name == "anthropic" else b"x-request-id"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        ledger, name = Ledger(self._front.meters), self._dialect.name
        visit = Visit(new_name(), name, self._id_header, headers_of(scope), ledger)
        ledger.trace = self._front.traced(visit.headers.get("traceparent"), visit.request_id)
        visit.leaving = leaving_of(scope)
        ledger.record(RequestBegun(name))
        try:
            self._front.gate.enter()
        except GatewayError as error:
            visit.error = error
            await self._end(visit, send)
            let_go(visit)
            return
        self._front.visits[visit.request_id] = visit
        try:
            await self._let_in(visit, receive, send)
        finally:
            del self._front.visits[visit.request_id]
            let_go(visit)
            self._front.gate.leave()

    async def _let_in(self, visit: Visit, receive: Receive, send: Send) -> None:
        try:
            await self._serve(visit, receive, send)
        except Gone:
            visit.ledger.client_left = True
        except GoesOn as goes_on:
            await self._accept(visit, goes_on, send)
            return
        except GatewayError as error:
            visit.error = error
        except asyncio.CancelledError:  # the time to drain is over, and the process ends
            visit.error = Unavailable("The gateway has stopped.")
        except Exception:  # noqa: BLE001 - the last resort: a bug must not cost more than its request
            _log.exception("request.bug", request_id=visit.request_id)
            visit.bug = True
            visit.error = GatewayError("The gateway has failed.", code="internal_error")
        await self._end(visit, send)

    async def _serve(self, visit: Visit, receive: Receive, send: Send) -> None:
        front = self._front
        caller = await front.door.caller(visit.headers)
        raw = await body_of(receive, visit.headers, front.max_body)
        heavy, recalled = is_heavy(raw), None
        body = await aside(partial(parse, raw), heavy=heavy)
        if self._dialect.name == DIALECT:
            recalled = await front.recall.recalled(caller, body, visit.request_id)
            body, raw = recalled.body, recalled.raw or raw
        request = spelled.Request(visit.headers, body, raw, caller)
        read = partial(spelled.read, self._dialect.decode, request, front.pipeline.planner)
        call, wishes = await aside(read, heavy=heavy)
        visit.decoded = perf_counter()
        visit.asked = Asked(
            call,
            caller,
            wishes,
            forwarded(visit.headers, self._dialect.name),
            attempted(visit.headers),
            reads_for_s(visit.headers),
            visit.request_id,
        )
        visit.plan = await self._plan(visit.asked, visit.ledger, heavy=heavy)
        visit.planned = perf_counter()
        if recalled is not None:
            visit.keep(recalled.must_fit(visit.plan))
        if recalled is not None and recalled.background:
            answer = await self._begun(visit, raw, recalled)
        else:
            answer = nothing() if call.idle else await self._answer(visit, raw)
        visit.exchange = self._exchange(visit, receive, send)
        await visit.exchange.respond(answer, partial(self._encoder, visit), front.keepalive_s)

    async def _plan(self, asked: Asked, ledger: Ledger, *, heavy: bool) -> Plan:
        pipeline = self._front.pipeline
        plan = await aside(partial(pipeline.plan, asked), heavy=heavy)
        if not plan.auto or asked.call.idle:
            return plan
        with suppress(GatewayError):  # it stays read; whoever needs it is told what is wrong
            await aside(asked.call.relay.decode, heavy=heavy)
        return await pipeline.routed(asked, plan, ledger.record)

    def _encoder(self, visit: Visit) -> Encoder:
        assert visit.asked is not None
        call = visit.asked.call
        encoder = self._dialect.encoder(call, visit.request_id, call.model)
        return encoder if visit.keeping is None else KeptEncoder(encoder, visit.keeping)

    async def _begun(self, visit: Visit, raw: bytes, recalled: Recalled) -> EventStream:
        """Begin a response in the background, and return its answer for who listens to it.

        Raises:
            GoesOn: Nobody does.
        """
        asked, keeping, front = visit.asked, visit.keeping, self._front
        assert asked is not None
        assert keeping is not None
        if front.behind is None or front.unheard is None:
            raise Unavailable("No run is written down here.")
        told = await front.unheard.queued(asked.call, keeping.wish)
        sent = sent_of(self._dialect.name, raw, visit.headers)
        try:
            begun = await front.behind.begin(asked.caller, sent, keeping.wish.known)
        except GatewayError:
            await front.unheard.withdrawn(keeping.wish)
            raise
        answer = front.behind.runs.heard(RunName(keeping.wish.owner, begun.run))
        if answer is None or not recalled.streamed:
            raise GoesOn(begun, told)
        visit.run, keeping.on_failure = begun.run, False
        return answer

    async def _answer(self, visit: Visit, raw: bytes) -> EventStream:
        """Return the answer: of a run that is written down, or of a call that is just made.

        Raises:
            GoesOn: It is carried out with nobody waiting for it.
            RunConflict: The run cannot go on so.
        """
        asked, pipeline, behind = visit.asked, self._front.pipeline, self._front.behind
        assert asked is not None
        carry = carry_of(visit, pipeline)
        if behind is None or not await _is_run(visit, behind, raw):
            return carry(None)
        if wants_no_wait(visit.headers):
            sent = sent_of(self._dialect.name, raw, visit.headers)
            raise GoesOn(await behind.begin(asked.caller, sent, asked.wishes.run))
        want = wanted_by(visit, pipeline, raw)
        begun = await behind.runs.begin(want, carry, visit.ledger)
        if begun is None:
            return carry(None)
        visit.run = begun.run
        return begun.answer

    def _exchange(self, visit: Visit, receive: Receive, send: Send) -> Exchange:
        assert visit.asked is not None
        return Exchange(
            self._dialect,
            visit.asked.call,
            receive,
            send,
            visit.ledger,
            lambda: head_of(visit),
            lambda: summary_of(visit),
            keeps=visit.keeping,
            leaving=visit.leaving,
        )

    async def _end(self, visit: Visit, send: Send) -> None:
        """Send the failure, if one is left to send, and write down how it all ended."""
        exchange = visit.exchange
        try:
            if visit.error is not None:
                visit.status = await self._fail(visit, visit.error, send)
            elif exchange is not None:
                visit.error = exchange.failure
                visit.status = exchange.status or _LEFT
            else:
                visit.status = _LEFT
        finally:
            end(visit, self._dialect.name, self._label(visit), self._front.observer)

    async def _accept(self, visit: Visit, goes_on: GoesOn, send: Send) -> None:
        """Say that the request is carried out, or was, and where its answer will be."""
        body, headers = accepted(visit, goes_on)
        try:
            await send({"type": "http.response.start", "status": visit.status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        finally:
            visit.ledger.record(finished(visit, self._dialect.name, self._label(visit)))

    def _label(self, visit: Visit) -> str:
        """Return the configured name of the model that was asked for, also by a refused call."""
        if visit.plan is not None:
            return visit.plan.model.name
        planner = self._front.pipeline.planner
        return planner.catalogue.label(visit.asked.call.model) if visit.asked else ""

    async def _fail(self, visit: Visit, error: GatewayError, send: Send) -> int:
        if visit.exchange is not None and visit.exchange.status is not None:
            await visit.exchange.break_off(error)
            return visit.exchange.status  # too late for another
        told_to_wait(error, visit.ledger, utc_now())
        failure = self._dialect.failure(error).named(visit.request_id)
        said = encoded(failure.headers)
        names = {name for name, _ in said}
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(failure.body)).encode()),
            *said,
            *(header for header in head_of(visit) if header[0] not in names),
        ]
        status = failure.status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": failure.body})
        return status


async def _is_run(visit: Visit, behind: Behind, raw: bytes) -> bool:
    """Return whether the request of *visit* is a run, or has one that waits to be taken up.

    That may be where a router has now chosen a plain call: it chose otherwise, and broke off.
    """
    asked, plan = visit.asked, visit.plan
    assert asked is not None
    assert plan is not None
    if is_kept(asked, plan, visit.headers):
        return True
    if plan.routed is None:
        return False
    body = body_hash(visit.dialect, raw, visit.headers)
    return await behind.runs.waits(asked.caller.name or "", body)
