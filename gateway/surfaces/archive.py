"""``/v1/runs`` and ``/v1/sessions`` as a whole: which there are, what they cost, erasing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.pacing import errors
from gateway.policy.asked import Faulty
from gateway.policy.keys import OPEN, Caller
from gateway.runs.archive import Archive
from gateway.stores.journal.journal import Sought
from gateway.stores.journal.memory import wall_ms
from gateway.stores.journal.records import RunName, Stored
from gateway.stores.ledger import StoreLost
from gateway.surfaces import admin
from gateway.surfaces.behind import Behind
from gateway.surfaces.completion import Front
from gateway.surfaces.cursor import after_of, cursor_of
from gateway.surfaces.moves import MoveEndpoints
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.numbers import whole
from gateway.surfaces.operations import is_bearer, json_answer, refused
from gateway.surfaces.own_windows import own_windows
from gateway.surfaces.run_view import brief_of, cost_of
from gateway.surfaces.runs import guarded, own_run
from pricing.cost import dollars
from techniques.core.errors import GatewayError, RequestRejected, Unavailable, UnknownModel
from techniques.core.json import JsonObject

_USUAL: Final = 20
_MOST: Final = 1000
_BY: Final = frozenset({"cursor", "limit", "session"})
_WHICH: Final = "Runs are erased by ?session=NAME, or without that all of this key."


def archive_routes(front: Front, admin_token: str | None) -> list[Route]:
    """Return the routes; without a journal there are none. They come before those of one run."""
    behind = front.behind
    if behind is None:
        return []
    archive = Archive(behind.runs)
    serve = ArchiveEndpoints(front, behind, archive, admin_token)
    moves = MoveEndpoints(front, behind, archive)
    door, run = front.door, "/v1/runs/{name:path}"
    return [
        Route("/v1/runs", serve.runs),
        Route("/v1/runs", guarded(door, serve.erase), methods=["DELETE"]),
        Route("/v1/runs/import", guarded(door, moves.bring_in), methods=["POST"]),
        Route(f"{run}/fork", guarded(door, moves.fork), methods=["POST"]),
        Route(f"{run}/export", guarded(door, moves.export)),
        Route(run, guarded(door, serve.erase_one), methods=["DELETE"]),
        Route("/v1/sessions", guarded(door, serve.sessions)),
        Route("/v1/sessions/{name:path}", guarded(door, serve.session)),
        Route("/admin/runs", admin.for_admin(admin_token, serve.erase_key), methods=["DELETE"]),
    ]


@dataclass(frozen=True, slots=True)
class ArchiveEndpoints:
    """What is served of many runs; a key sees its own, the bearer of the admin token all."""

    front: Front
    behind: Behind
    archive: Archive
    admin_token: str | None

    async def runs(self, request: Request) -> Response:
        """List runs, the latest first."""
        if self.admin_token is None or not is_bearer(request, self.admin_token):
            return await guarded(self.front.door, self._own)(request)

        async def listed(request: Request, _caller: Caller) -> Response:
            _must_be_known(request, _BY | {"key"})
            return await self._listed(request, request.query_params.get("key"), names_keys=True)

        return await guarded(_Opened(), listed)(request)

    async def _own(self, request: Request, caller: Caller) -> Response:
        _must_be_known(request, _BY)
        return await self._listed(request, caller.name or "")

    async def _listed(
        self, request: Request, owner: str | None, *, names_keys: bool = False
    ) -> Response:
        limit, after = _limit(request), after_of(request)
        session = request.query_params.get("session") or None
        found = await self.archive.listed(Sought(owner, session, limit=limit + 1, after=after))
        shown, has_more = found[:limit], len(found) > limit
        told = {
            "object": "list",
            "data": [_brief(stored, names_keys=names_keys) for stored in shown],
            "has_more": has_more,
            "next_cursor": cursor_of(shown[-1]) if has_more else None,
        }
        return _answer(told)

    async def sessions(self, request: Request, caller: Caller) -> Response:
        """List the sessions of a key, that of the latest run first."""
        del request
        found = await self.archive.listed(Sought(caller.name or "", grouped=True, limit=_MOST + 1))
        by_session: dict[str, list[Stored]] = {}
        for stored in found[:_MOST]:
            by_session.setdefault(stored.record.session or "", []).append(stored)
        shown = [_session(name, runs) for name, runs in by_session.items()]
        return _answer({"object": "list", "data": shown, "has_more": len(found) > _MOST})

    async def session(self, request: Request, caller: Caller) -> Response:
        """Serve the runs of a session, what they cost, and what its key may still take."""
        name = request.path_params["name"]
        found = await self.archive.listed(Sought(caller.name or "", name, limit=_MOST + 1))
        if not found:
            raise UnknownModel(
                f"There is no session {name[:128]!r}.", code="session_not_found", param="id"
            )
        runs = found[:_MOST]
        told = _session(name, runs)
        told["has_more"] = len(found) > _MOST
        told["data"] = [_brief(stored) for stored in runs]
        told["windows"] = await self._windows(caller)
        return _answer(told)

    async def erase(self, request: Request, caller: Caller) -> Response:
        """Erase the runs of a session, or all of a key."""
        session, owner = request.query_params.get("session"), caller.name or ""
        if request.query_params.keys() - {"session"}:
            raise RequestRejected(_WHICH, param="session")
        if session is not None:
            gone = 0
            while found := await self.archive.listed(Sought(owner, session, limit=_MOST)):
                gone += await self.archive.forget([one.record.name for one in found])
        else:
            gone = await self.archive.erase(owner)
        return _answer({"erased": gone})

    async def erase_one(self, request: Request, caller: Caller) -> Response:
        """Erase one run, also one that cannot be read."""
        name = request.path_params["name"]
        try:
            await own_run(self.behind.runs, caller, name)
        except Unavailable as lost:
            if lost.code != "journal_sealed":
                raise
        return _answer({"erased": await self.archive.forget([RunName(caller.name or "", name)])})

    async def erase_key(self, request: Request) -> Response:
        """Erase all runs of any key, also of one that is revoked."""
        key = request.query_params.get("key")
        if key is None:
            raise Faulty("key", "say whose runs: ?key=NAME")
        try:
            gone = await self.archive.erase(key)
        except GatewayError as error:
            return refused(error.message, 503)
        return json_answer({"key": key, "erased": gone})

    async def _windows(self, caller: Caller) -> list[JsonObject]:
        pacer = self.front.pipeline.pacer
        if pacer is None:
            return []
        try:
            return own_windows(caller, await pacer.store.peek(caller.pool))
        except StoreLost as lost:
            raise errors.store_lost() from lost


class _Opened:
    """A door for who has shown the admin token."""

    async def caller(self, headers: object) -> Caller:
        """Return the caller without a name."""
        del headers
        return OPEN

    def named(self, name: str | None) -> Caller | None:
        """Return nobody."""
        del name
        return None


def _brief(stored: Stored, *, names_keys: bool = False) -> JsonObject:
    told = brief_of(stored, wall_ms())
    return {**told, "key": stored.record.name.owner or None} if names_keys else told


def _session(name: str, runs: Sequence[Stored]) -> JsonObject:
    """Return what is told of a session by its *runs*, the latest first."""
    briefs = [brief_of(stored, wall_ms()) for stored in runs]
    own = [step for stored in runs for step in stored.steps if step.of is None]
    return {
        "object": "session",
        "id": name,
        "runs": len(runs),
        "states": Counter(brief["state"] for brief in briefs),
        "cost_usd": dollars(cost_of(own)),
        "cost_known": all(brief["cost_known"] for brief in briefs),
        "waste_usd": dollars(sum(stored.standing.waste for stored in runs)),
        "saved_usd": dollars(sum(stored.standing.saved for stored in runs)),
        "calls": sum(brief["calls"] for brief in briefs),
        "first_at": briefs[-1]["created_at"],
        "last_at": briefs[0]["created_at"],
    }


def _must_be_known(request: Request, fields: frozenset[str]) -> None:
    for name in sorted(request.query_params.keys() - fields):
        known = ", ".join(sorted(fields))
        raise RequestRejected(f"Runs are listed by {known} and by nothing else.", param=name[:64])


def _limit(request: Request) -> int:
    limit = whole(request.query_params.get("limit", str(_USUAL)), 1, _MOST)
    if limit is None:
        raise RequestRejected(f"limit must be a number from 1 to {_MOST}.", param="limit")
    return limit


def _answer(body: JsonObject) -> Response:
    answer = json_answer(body)
    answer.headers.update(name_headers(new_name(), "openai_chat"))
    return answer
