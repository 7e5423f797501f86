"""Counts of input tokens: the provider's own where it has one, else a guess.

``POST /v1/messages/count_tokens`` and ``POST /v1/responses/input_tokens``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import monotonic, perf_counter
from typing import Final

import orjson
import structlog
from starlette.requests import Request
from starlette.responses import Response

from gateway.metering.ledger import CallFinished, Ledger, RequestBegun, RequestFinished
from gateway.policy.keys import Caller
from gateway.policy.models import Model
from gateway.surfaces import spelled
from gateway.surfaces.client_headers import forwarded
from gateway.surfaces.completion import Front
from gateway.surfaces.counters import SPOKEN, Counter, counter_of
from gateway.surfaces.finishing import forget_way
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.outcome import code_of, outcome_of
from gateway.surfaces.recall import DIALECT as RESPONSES
from gateway.surfaces.spoken import failed
from gateway.upstream.provider import HttpCall
from gateway.wire.anthropic.count_tokens import estimate
from gateway.wire.body import parse
from gateway.wire.dialect import Call, Dialect
from gateway.wire.respond import Gone
from pricing.usage import Usage
from router_service.groundwork.aside import aside, is_heavy
from techniques.core.errors import GatewayError, Unavailable, UpstreamFailed
from techniques.core.json import JsonObject

_NOT_COUNTED: Final = frozenset({"background", "store", "stream"})
_MOST_BYTES = 64 * 1024
_WAIT_S = 30.0
_NO_PATH = frozenset({404, 405, 501})

_log = structlog.get_logger()


@dataclass(slots=True)
class _Visit:
    """One request for a count, as far as it has come."""

    ledger: Ledger
    dialect: str
    name: str = field(default_factory=new_name)
    came: float = field(default_factory=perf_counter)
    caller: Caller | None = None
    model: str = ""
    provider: str = ""
    error: GatewayError | None = None
    status: int = 0


class CountTokensEndpoint:
    """Counts the input tokens of a request in one dialect."""

    def __init__(self, front: Front, dialect: Dialect) -> None:
        self._front = front
        self._dialect = dialect
        self._spoken = SPOKEN[dialect.name]

    async def serve(self, request: Request) -> Response:
        """Serve one count."""
        visit = _Visit(Ledger(self._front.meters), self._dialect.name)
        visit.ledger.record(RequestBegun(visit.dialect))
        try:
            response = await self._respond(visit, request)
            response.headers.update(name_headers(visit.name, visit.dialect))
            visit.status = response.status_code
        finally:
            visit.ledger.record(_finished(visit))
            forget_way(visit.error)
        return response

    async def _respond(self, visit: _Visit, request: Request) -> Response:
        try:
            return await self._let_in(visit, request)
        except GatewayError as error:
            visit.error = error
        except asyncio.CancelledError:  # the time to drain is over, and the process ends
            visit.error = Unavailable("The gateway has stopped.")
        except Exception:  # noqa: BLE001 - the last resort: a bug must not cost more than its request
            _log.exception("request.bug", request_id=visit.name)
            visit.error = GatewayError("The gateway has failed.", code="internal_error")
        return failed(visit.error, self._dialect, visit.name)

    async def _let_in(self, visit: _Visit, request: Request) -> Response:
        self._front.gate.enter()
        try:
            tokens, source = await self._count(visit, request)
        finally:
            self._front.gate.leave()
        headers = {"x-lockgate-count-source": source}
        return Response(self._spoken.encode(tokens), 200, headers, "application/json")

    async def _call(
        self, caller: Caller, headers: Mapping[str, str], raw: bytes, *, heavy: bool
    ) -> Call:
        """Return what is to be counted, with the conversation that it goes on with in front.

        It is read as the call itself would be, wishes and all: what is refused there is not counted
        here. They are then of no use.
        """
        front = self._front
        body = await aside(partial(parse, raw), heavy=heavy)
        if self._dialect.name == RESPONSES:
            recalled = await front.recall.recalled(caller, _counted_only(body), "")
            body, raw = recalled.body, recalled.raw or orjson.dumps(recalled.body)
        asked = spelled.Request(headers, body, raw, caller)
        read = partial(spelled.read, self._spoken.decode, asked, front.pipeline.planner)
        call, _ = await aside(read, heavy=heavy)
        return call

    async def _count(self, visit: _Visit, request: Request) -> tuple[int, str]:
        headers = headers_of(request.scope)
        visit.caller = await self._front.door.caller(headers)
        raw = await body_of(request.receive, headers, self._front.max_body)
        heavy = is_heavy(raw)
        call = await self._call(visit.caller, headers, raw, heavy=heavy)
        planner = self._front.pipeline.planner
        visit.model = planner.catalogue.label(call.model)
        model = planner.permitted(call.model, visit.caller)
        visit.provider = model.target.provider
        counter = counter_of(model)
        guess = partial(aside, lambda: estimate(call.relay.decode()), heavy=heavy)
        if counter is None:
            return await guess(), "estimate"
        shown = forwarded(headers, visit.dialect)
        asked = await aside(partial(counter.call, call, model.target, shown), heavy=heavy)
        try:
            return await _metered(visit.ledger, asked, counter, model), "provider"
        except UpstreamFailed as failure:
            if not _has_none(failure):
                raise
        return await guess(), "estimate"


def _counted_only(body: JsonObject) -> JsonObject:
    """Return *body* so that nothing of it is kept or carried out."""
    kept = {name: value for name, value in body.items() if name not in _NOT_COUNTED}
    return {**kept, "store": False}


def _has_none(failure: UpstreamFailed) -> bool:
    """Return whether a host has no such path, as many have not that speak its dialect.

    Of a model that it does not have it says so, by a name of its own for that.
    """
    said = failure.said
    named = said.code == "model_not_found" or said.type == "not_found_error"
    return said.status in _NO_PATH and not named


async def _metered(ledger: Ledger, call: HttpCall, counter: Counter, model: Model) -> int:
    """Return the provider's count; asking for it is written down, and costs nothing."""
    started, at = perf_counter(), datetime.now(UTC).timestamp()
    outcome = "cancelled"
    try:
        tokens = await _asked(call, counter, model)
        outcome = "ok"
    except GatewayError as error:
        outcome = error.kind if isinstance(error, UpstreamFailed) else error.code
        raise
    finally:
        ledger.record(
            CallFinished(
                model=model.name,
                provider=model.target.provider,
                role="count",
                step="0",
                usage=Usage(),
                estimated=False,
                cost=0,
                cost_source="operator",
                outcome=outcome,
                started_at=at,
                seconds=perf_counter() - started,
                first_s=None,
            )
        )
    return tokens


async def _asked(call: HttpCall, counter: Counter, model: Model) -> int:
    response = await model.channel.transport.post(call, monotonic() + _WAIT_S)
    try:
        body = bytearray()
        while len(body) < _MOST_BYTES and (chunk := await response.read()):
            body += chunk
    finally:
        response.close()
    if response.status != 200:
        told = {name.lower(): value for name, value in response.headers.items()}
        raise model.channel.refusal(response.status, told, bytes(body))
    return counter.read(bytes(body))


def _finished(visit: _Visit) -> RequestFinished:
    left, bug = isinstance(visit.error, Gone), not visit.status
    return RequestFinished(
        request_id=visit.name,
        run=visit.name,
        session=None,
        tags=None,
        key=visit.caller.name if visit.caller else None,
        team=visit.caller.team if visit.caller else None,
        dialect=visit.dialect,
        model=visit.model,
        provider=visit.provider,
        technique="none",
        streamed=False,
        outcome="internal_error" if bug else outcome_of(visit.error, left=left, bug=False),
        status=visit.status or 500,
        rows=tuple(visit.ledger.rows),
        warnings=(),
        seconds=perf_counter() - visit.came,
        begun_s=None,
        decode_s=0.0,
        plan_s=0.0,
        cancel_s=None,
        code=code_of(visit.error),
    )
