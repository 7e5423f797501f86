"""Runs that are forked, taken out as a document, and brought in from one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from secrets import token_hex
from typing import Final
from urllib.parse import quote

import orjson
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from gateway.metering.ledger import Ledger
from gateway.pipeline import Asked
from gateway.planning.plan import Plan
from gateway.policy.asked import fault_of
from gateway.policy.keys import Caller
from gateway.runs.archive import Archive
from gateway.runs.bundle import CHECKPOINT, RUN, bad, brought, bundle, checkpoint
from gateway.runs.forking import ForkBody, changed, forked, shared
from gateway.runs.wanted import Wanted
from gateway.stores.journal.memory import wall_ms
from gateway.stores.journal.records import RunName, RunRecord, Sent, Standing, Stored
from gateway.surfaces import spelled
from gateway.surfaces.behind import Behind
from gateway.surfaces.completion import Front
from gateway.surfaces.incoming import body_of, headers_of
from gateway.surfaces.kept import wanted
from gateway.surfaces.named import new_name
from gateway.surfaces.run_view import view_of
from gateway.surfaces.runs import own_run, run_json
from gateway.surfaces.spoken import DIALECTS
from gateway.wire.body import parse
from techniques.core.errors import RequestRejected
from techniques.core.json import JsonObject

_MOST_BYTES: Final = 1024 * 1024
_TRUE: Final = ("1", "true")


@dataclass(frozen=True, slots=True)
class MoveEndpoints:
    """What is done with a whole run; a key has its own alone."""

    front: Front
    behind: Behind
    archive: Archive

    async def fork(self, request: Request, caller: Caller) -> Response:
        """Begin a run where another had come to; it waits to be asked to go on."""
        parent = await own_run(self.behind.runs, caller, request.path_params["name"])
        asked = await _fork_of(request)
        if parent.record.sent is None:
            raise RequestRejected("The request of this run was not kept.")
        sent = changed(parent.record.sent, asked.overrides)
        want = (await self._wanted(caller, sent)).chosen(parent.record.routed)
        steps = shared(parent, asked.from_step)
        name = RunName(caller.name or "", asked.id or new_name())
        record = replace(
            forked(parent.record, name, wall_ms()),
            body=want.body,
            plan=want.plan,
            session=want.session,
            technique=want.technique,
            model=want.model,
            sent=sent,
            routed=want.routed,
        )
        if want.technique != parent.record.technique:
            steps = ()  # another technique asks for none of them
        standing = Standing("interrupted", reason="forked")
        return await self._put(Stored(record, standing, 0, 0, steps))

    async def export(self, request: Request, caller: Caller) -> Response:
        """Serve a run as a document that ``bring_in`` reads."""
        stored = await own_run(self.behind.runs, caller, request.path_params["name"])
        answer = run_json({"id": stored.record.name.run})
        answer.body = orjson.dumps(bundle(stored, wall_ms()))
        answer.headers["content-length"] = str(len(answer.body))
        answer.headers["cache-control"] = "no-store"
        return answer

    async def bring_in(self, request: Request, caller: Caller) -> Response:
        """Take a run in that was exported elsewhere, or a session of agentpause."""
        raw = await body_of(request.receive, headers_of(request.scope), self.front.max_body)
        body = parse(raw)
        match body.get("format"):
            case str() as form if form == RUN:
                found = brought(body, caller.name or "")
            case str() as form if form == CHECKPOINT:
                found = await self._session(caller, body, request.query_params.get("model"))
            case _:
                raise bad(f"format must be {RUN} or {CHECKPOINT}.", param="format")
        replaces = request.query_params.get("overwrite", "").lower() in _TRUE
        return await self._put(found, replaces=replaces)

    async def _put(self, found: Stored, *, replaces: bool = False) -> Response:
        await self.archive.put(found, replaces=replaces)
        answer = run_json(view_of(found, wall_ms()), 201)
        answer.headers["location"] = f"/v1/runs/{quote(found.record.name.run)}"
        return answer

    async def _session(self, caller: Caller, body: JsonObject, model: str | None) -> Stored:
        session, sent, rest = checkpoint(body, model)
        want = await self._wanted(caller, sent)
        record = RunRecord(
            RunName(caller.name or "", session),
            want.body,
            want.plan,
            secret=token_hex(16),
            created_ms=wall_ms(),
            session=session,
            named=True,
            model=want.model,
            sent=sent,
            checkpoint=rest,
            routed=want.routed,
        )
        return Stored(record, Standing("interrupted", reason="imported"), 0)

    async def _wanted(self, caller: Caller, sent: Sent) -> Wanted:
        """Return the run that *sent* would be.

        Raises:
            GatewayError: It would not be carried out.
        """
        raw, dialect = sent.raw.encode(), DIALECTS.get(sent.dialect)
        if dialect is None:
            raise RequestRejected("The request of this run is of no dialect that is known.")
        pipeline = self.front.pipeline
        request = spelled.Request(sent.headers, parse(raw), raw, caller)
        call, wishes = spelled.read(dialect.decode, request, pipeline.planner)
        asked = Asked(call, caller, wishes)
        plan = await pipeline.routed(asked, pipeline.plan(asked), Ledger().record)
        again = partial(self._again, asked, plan, sent)
        return replace(wanted(asked, plan, sent.headers, raw), again=again)

    def _again(self, asked: Asked, plan: Plan, sent: Sent, kept: str) -> Wanted | None:
        before = self.front.pipeline.again(asked, kept, plan) if plan.routed else None
        return before if before is None else wanted(asked, before, sent.headers, sent.raw.encode())


async def _fork_of(request: Request) -> ForkBody:
    raw = await body_of(request.receive, headers_of(request.scope), _MOST_BYTES)
    try:
        return ForkBody.model_validate(parse(raw or b"{}"))
    except ValidationError as error:
        fault = fault_of(error)
        raise RequestRejected(str(fault), param=fault.param or None) from None
