"""``/v1/responses/{id}``: a response that is kept, its input, its end; and erasing all of a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.responses import StreamingResponse
from starlette.routing import Route

from gateway.policy.keys import Caller
from gateway.responses.items import shown
from gateway.runs.archive import Archive
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.records import RunName
from gateway.stores.responses.records import Response, ResponseName, ResponseSealed
from gateway.stores.responses.shelf import Shelf
from gateway.surfaces import admin
from gateway.surfaces.completion import Front
from gateway.surfaces.named import name_headers, new_name
from gateway.surfaces.numbers import whole
from gateway.surfaces.operations import json_answer, refused
from gateway.surfaces.recall import Recall, unavailable
from gateway.surfaces.replaying import Replaying
from gateway.surfaces.runs import guarded
from gateway.surfaces.unheard import Unheard
from techniques.core.errors import GatewayError, RequestRejected, RunBusy, UnknownModel
from techniques.core.json import JsonObject

_USUAL: Final = 20
_MOST: Final = 100
_SHOWN: Final = 100
_LOOK_S: Final = 0.2
_CANCEL_S: Final = 10.0
_LAST: Final = 10**9


def response_routes(front: Front, admin_token: str | None) -> list[Route]:
    """Return the routes; they say so where no response is kept."""
    serve = ResponseEndpoints(front, front.recall, front.unheard)
    door, one = front.door, "/v1/responses/{name}"
    erase = admin.for_admin(admin_token, serve.erase_key)
    return [
        Route("/v1/responses", guarded(door, serve.erase), methods=["DELETE"]),
        Route(f"{one}/input_items", guarded(door, serve.input_items)),
        Route(f"{one}/cancel", guarded(door, serve.cancel), methods=["POST"]),
        Route(one, guarded(door, serve.one)),
        Route(one, guarded(door, serve.delete), methods=["DELETE"]),
        Route("/admin/responses", erase, methods=["DELETE"]),
    ]


@dataclass(frozen=True, slots=True)
class ResponseEndpoints:
    """What is served of responses; a key sees its own."""

    front: Front
    recall: Recall
    unheard: Unheard | None

    async def one(self, request: Request, caller: Caller) -> HttpResponse:
        """Serve a response as it stands; or as a stream one in the background, as it comes."""
        row = await self._own(request, caller)
        if request.query_params.get("stream") != "true":
            return _answer((await self._now(row)).object)
        after = _after(request)
        if self.unheard is None or not row.background:
            raise RequestRejected(
                "Only a response with 'background' can be streamed again.", param="stream"
            )
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        stream = Replaying(self.unheard, row, after).stream()
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    async def delete(self, request: Request, caller: Caller) -> HttpResponse:
        """Delete a response; one that is under way is cut off."""
        row = await self._own(request, caller)
        if row.background:
            await self._forget_runs([row.name])
        try:
            await self._shelf().table.delete(row.name)
        except DatabaseLost as lost:
            raise unavailable(lost) from lost
        return _answer({"id": row.name.id, "object": "response", "deleted": True})

    async def input_items(self, request: Request, caller: Caller) -> HttpResponse:
        """List what a response was made of: what was said before it, and its own input."""
        row = await self._own(request, caller)
        limit = _limit(request)
        try:
            chain = await self._shelf().chain(row.name, self.recall.max_body)
        except (DatabaseLost, ResponseSealed) as error:
            raise unavailable(error) from error
        items = _said_before(chain)
        if _order(request) == "desc":
            items.reverse()
        page, has_more = _page(items, request.query_params.get("after"), limit)
        told = {
            "object": "list",
            "data": [shown(item) for item in page],
            "first_id": page[0].get("id") if page else None,
            "last_id": page[-1].get("id") if page else None,
            "has_more": has_more,
        }
        return _answer(told)

    async def cancel(self, request: Request, caller: Caller) -> HttpResponse:
        """End a response in the background; what has ended stays as it ended."""
        row = await self._own(request, caller)
        if not row.background:
            raise RequestRejected("Only a response with 'background' can be cancelled.")
        row = await self._now(row)
        if not row.has_ended:
            await self._stop(row)
            row = await self._current(request, caller)
        return _answer(row.object)

    async def _stop(self, row: Response) -> None:
        assert self.unheard is not None
        runs = self.unheard.runs
        run = await runs.find(RunName(*row.name))
        if run is None:
            return
        runs.cut_off([run.record.name])  # nobody waits for the calls that are under way
        try:
            await runs.cancel(run)
        except RunBusy:  # at work elsewhere
            await self._shelf().table.cancel(row.name)
            with anyio.move_on_after(_CANCEL_S):
                while run is not None and run.is_executing:
                    await anyio.sleep(_LOOK_S)
                    run = await runs.find(RunName(*row.name))

    async def erase(self, request: Request, caller: Caller) -> HttpResponse:
        """Erase all responses of a key."""
        del request
        return _answer({"erased": await self._erased(caller.name or "")})

    async def erase_key(self, request: Request) -> HttpResponse:
        """Erase all responses of any key, also of one that is revoked."""
        key = request.query_params.get("key")
        if key is None:
            return refused("say whose: ?key=NAME", 400, "key")
        try:
            return json_answer({"key": key, "erased": await self._erased(key)})
        except GatewayError as error:
            return refused(error.message, 503)

    async def _erased(self, owner: str) -> int:
        self.recall.recent.forget(owner)
        shelf = self.recall.shelf
        gone = 0
        try:
            while shelf is not None and (found := await shelf.table.unheard(owner)):
                await self._forget_runs(found)
                await shelf.table.erase_these(found)
                gone += len(found)
            while shelf is not None and (more := await shelf.table.erase(owner)):
                gone += more
        except DatabaseLost as lost:
            raise unavailable(lost) from lost
        return gone

    async def _forget_runs(self, names: Sequence[ResponseName]) -> None:
        if self.unheard is not None:
            await Archive(self.unheard.runs).forget([RunName(*name) for name in names])

    async def _current(self, request: Request, caller: Caller) -> Response:
        return await self._now(await self._own(request, caller))

    async def _now(self, row: Response) -> Response:
        return row if self.unheard is None else await self.unheard.current(row)

    async def _own(self, request: Request, caller: Caller) -> Response:
        """Return the response of that id that is *caller*'s.

        Raises:
            UnknownModel: There is none.
        """
        response_id = request.path_params["name"]
        try:
            found = await self._shelf().find(ResponseName(caller.name or "", response_id))
        except (DatabaseLost, ResponseSealed) as error:
            raise unavailable(error) from error
        if found is None:
            raise _missing(response_id)
        return found

    def _shelf(self) -> Shelf:
        """Return where responses are kept.

        Raises:
            UnknownModel: Nowhere.
        """
        shelf = self.recall.kept
        if shelf is None:
            raise UnknownModel(
                "This gateway keeps no responses: its setting responses.store is off.",
                code="response_not_found",
            )
        return shelf


def _missing(response_id: str) -> UnknownModel:
    return UnknownModel(
        f"Response with id '{response_id[:_SHOWN]}' not found.", code="response_not_found"
    )


def _said_before(chain: Sequence[Response]) -> list[JsonObject]:
    """Return the input of the last of *chain*, and before it what the others said."""
    items: list[JsonObject] = []
    for one in chain[:-1]:
        items += (*one.input, *one.output)
    return [*items, *(chain[-1].input if chain else ())]


def _page(
    items: Sequence[JsonObject], after: str | None, limit: int
) -> tuple[list[JsonObject], bool]:
    """Return those of *items* that come *after* one, *limit* at the most, and if there are more."""
    ids = [item.get("id") for item in items]
    if after is not None and after not in ids:
        raise RequestRejected(f"There is no item {after[:_SHOWN]!r} here.", param="after")
    begin = 0 if after is None else ids.index(after) + 1
    return list(items[begin : begin + limit]), len(items) > begin + limit


def _after(request: Request) -> int:
    said = request.query_params.get("starting_after")
    after = -1 if said is None else whole(said, 0, _LAST)
    if after is None:
        raise RequestRejected("starting_after must be a number.", param="starting_after")
    return after


def _order(request: Request) -> str:
    order = request.query_params.get("order", "desc")
    if order not in ("asc", "desc"):
        raise RequestRejected("order must be asc or desc.", param="order")
    return order


def _limit(request: Request) -> int:
    limit = whole(request.query_params.get("limit", str(_USUAL)), 1, _MOST)
    if limit is None:
        raise RequestRejected(f"limit must be a number from 1 to {_MOST}.", param="limit")
    return limit


def _answer(body: JsonObject) -> HttpResponse:
    answer = json_answer(body)
    answer.headers.update(name_headers(new_name(), "openai_chat"))
    return answer
