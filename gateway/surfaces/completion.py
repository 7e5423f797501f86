"""Answers of models: from a request's bytes to its response, in one client dialect."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from time import perf_counter
from typing import Final

import structlog
from starlette.types import Receive, Scope, Send

from gateway.metering.ledger import Ledger, Meter, RequestBegun, RequestFinished
from gateway.pipeline import Asked, Pipeline
from gateway.policy import wishes as wishing
from gateway.policy.keys import Door
from gateway.surfaces.gate import Gate
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.outcome import code_of, outcome_of
from gateway.surfaces.telling import head_of, summary_of
from gateway.surfaces.visit import Visit
from gateway.wire.body import parse
from gateway.wire.dialect import Dialect
from gateway.wire.respond import Exchange, Gone, encoded
from techniques.core.errors import GatewayError, Unavailable

_FORWARDED: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic-beta", "anthropic-version")
}
"""Client headers that a provider of the same dialect may see; no other leaves the gateway."""

_LEFT: Final = 499
"""What is written down as the status where the client left before there was one."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Front:
    """What the surfaces share: who may in, how large a body may be, where facts go."""

    door: Door
    pipeline: Pipeline
    meters: tuple[Meter, ...]
    max_body: int
    keepalive_s: float
    gate: Gate = field(default_factory=Gate)


class CompletionEndpoint:
    """``POST`` of one dialect's path, as an ASGI application."""

    def __init__(self, dialect: Dialect, front: Front) -> None:
        self._dialect = dialect
        self._front = front
        self._id_header = b"request-id" if dialect.name == "anthropic" else b"x-request-id"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        ledger, name = Ledger(self._front.meters), self._dialect.name
        visit = Visit(token_hex(16), name, self._id_header, headers_of(scope), ledger)
        ledger.record(RequestBegun(name))
        try:
            self._front.gate.enter()
        except GatewayError as error:
            visit.error = error
            await self._end(visit, send)
            return
        try:
            await self._let_in(visit, receive, send)
        finally:
            visit.exchange = None  # each knows the other: only the collector would free them
            self._front.gate.leave()

    async def _let_in(self, visit: Visit, receive: Receive, send: Send) -> None:
        try:
            await self._serve(visit, receive, send)
        except Gone:
            visit.ledger.client_left = True
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
        call = self._dialect.decode(parse(raw), raw)
        visit.decoded = perf_counter()
        visit.asked = Asked(
            call,
            caller,
            wishing.read(visit.headers, call.wishes),
            forwarded(visit.headers, self._dialect.name),
            _attempted(visit.headers),
            _reads_for_s(visit.headers),
            visit.request_id,
        )
        visit.plan = front.pipeline.plan(visit.asked)
        visit.planned = perf_counter()
        visit.exchange = self._exchange(visit, receive, send)
        await visit.exchange.respond(
            front.pipeline.answer(visit.asked, visit.plan, visit.ledger),
            lambda: self._dialect.encoder(call, visit.request_id, call.model),
            front.keepalive_s,
        )

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
            visit.ledger.record(_finished(visit, self._dialect.name, self._label(visit)))

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
        failure = self._dialect.failure(error)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(failure.body)).encode()),
            *encoded(failure.headers),
            *head_of(visit),
        ]
        status = failure.status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": failure.body})
        return status


def forwarded(headers: Mapping[str, str], dialect: str) -> Mapping[str, str]:
    """Return those of the client's *headers* that a provider of *dialect* may see."""
    return {name: headers[name] for name in _FORWARDED.get(dialect, ()) if name in headers}


def _attempted(headers: Mapping[str, str]) -> int:
    count = headers.get("x-stainless-retry-count", "")
    return int(count) if count.isdecimal() and len(count) < 4 else 0


def _reads_for_s(headers: Mapping[str, str]) -> float | None:
    """Return after how many seconds without a word the client's SDK gives up, if it says so."""
    said = headers.get("x-stainless-read-timeout") or headers.get("x-stainless-timeout") or ""
    if not said or len(said) > 12 or not said.replace(".", "", 1).isdecimal():
        return None
    return float(said)


def _finished(visit: Visit, dialect: str, model: str) -> RequestFinished:
    asked, plan, exchange, ledger = visit.asked, visit.plan, visit.exchange, visit.ledger
    now = perf_counter()
    wishes = asked.wishes if asked else wishing.NOTHING
    begun = exchange.begun_at if exchange else None
    return RequestFinished(
        request_id=visit.request_id,
        run=wishes.run or visit.request_id,
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
    )
