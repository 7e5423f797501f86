"""Responses in the background: begun for who does not wait, and kept when they have ended."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
import orjson
import structlog

from gateway.reasons import why_of
from gateway.responses.keeping import Keeping, Wish
from gateway.runs.book import RunBook
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.records import RunName, Stored
from gateway.stores.responses.records import Response, ResponseName, ResponseSealed
from gateway.stores.responses.shelf import TooBig
from gateway.surfaces.gate import Gate
from gateway.surfaces.recall import DIALECT, PREFIX, Recall, unavailable
from gateway.surfaces.run_view import events_of, in_order, run_summary
from gateway.surfaces.telling import summary_of
from gateway.surfaces.visit import Visit
from gateway.wire.body import parse
from gateway.wire.dialect import Call, Dialect, Encoder, Summary
from pricing.usage import Usage
from techniques.core.channel import EventStream
from techniques.core.errors import GatewayError, TooLarge
from techniques.core.events import Event
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply

_OVER: Final = frozenset({"completed", "failed", "cancelled"})
_TOO_LARGE: Final = (
    "The response has become larger than one may be that is kept: "
    "the gateway's setting responses.max_size is %d bytes."
)
_SOON_S: Final = 0.2
_NONE: Final = Summary(Usage(), 0, None, "unknown")

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Unheard:
    """Keeps responses that nobody waits for; each is a run of the same name.

    Once ``gate`` closes, none is waited for any more.
    """

    dialect: Dialect
    recall: Recall
    runs: RunBook
    gate: Gate = field(default_factory=Gate)

    async def queued(self, call: Call, wish: Wish) -> JsonObject:
        """Keep a response that is about to be carried out, and return what is told of it.

        Raises:
            TooLarge: It is larger than a response may be that is kept.
            Unavailable: It cannot be kept.
        """
        assert self.recall.shelf is not None
        assert wish.known is not None
        told: JsonObject = orjson.loads(self.dialect.whole(call, Reply(id=wish.known), _NONE))
        told |= wish.says(stored=True) | _standing("queued")
        keeping = Keeping(wish, self.recall.shelf, self.recall.max_size)
        try:
            await keeping.put(told)
        except TooBig as error:
            raise TooLarge(
                "What is asked for in the background is kept, and this is too large for that: the "
                f"gateway's setting responses.max_size is {self.recall.max_size} bytes."
            ) from error
        except DatabaseLost as lost:
            raise unavailable(lost) from lost
        return told

    async def withdrawn(self, wish: Wish) -> None:
        """Forget a response that could not be begun."""
        assert self.recall.shelf is not None
        with suppress(DatabaseLost):
            await self.recall.shelf.table.delete(ResponseName(wish.owner, wish.known or ""))

    def over(self, visit: Visit, answer: EventStream) -> EventStream:
        """Return *answer*, kept at its end if it is that of a response in the background."""
        is_one = visit.dialect == DIALECT and (visit.run or "").startswith(PREFIX)
        return self._kept(visit, answer) if is_one else answer

    @asynccontextmanager
    async def _kept(
        self, visit: Visit, answer: EventStream
    ) -> AsyncGenerator[AsyncIterator[Event], None]:
        asked = visit.asked
        assert asked is not None
        row = await self._row(RunName(asked.caller.name or "", visit.run or ""))
        if row is None:
            async with answer as events:
                yield events
            return
        keeping, encoder = self.keeping(row), self.encoder(row, asked.call)
        try:
            async with answer as events:
                yield self._read_along(events, encoder, keeping, visit)
            await self._fitted(row, keeping, keeping.told)
        except GatewayError as error:
            keeping.piece(encoder.fail(error))
            await self._failed(row, keeping.told)
            raise

    async def _read_along(
        self, events: AsyncIterator[Event], encoder: Encoder, keeping: Keeping, visit: Visit
    ) -> AsyncGenerator[Event, None]:
        async for event in events:
            keeping.piece(encoder.feed(event))
            yield event
        await keeping.last(encoder.end(summary_of(visit)))

    async def _failed(self, row: Response, told: JsonObject | None) -> None:
        """Keep a response that has ended without an answer; one that is tried again has not."""
        try:
            await self._settled(row, await self.runs.find(RunName(*row.name)), told)
        except GatewayError as lost:  # looked for again when it is asked for
            _log.warning("response.unwritten", responses=1, reason=why_of(lost))

    async def _row(self, name: RunName) -> Response | None:
        """Return the response that a run of that name is to be kept as, None if it is none."""
        assert self.recall.shelf is not None
        try:
            row = await self.recall.shelf.find(ResponseName(*name))
        except (DatabaseLost, ResponseSealed) as lost:
            _log.warning("response.unwritten", responses=1, reason=why_of(lost))
            return None
        return None if row is None or row.has_ended else row

    async def current(self, row: Response) -> Response:
        """Return a response as it stands now, kept if it has ended meanwhile.

        Raises:
            Unavailable: The journal of runs does not answer.
        """
        if row.has_ended or not row.background:
            return row
        run = await self.runs.find(RunName(*row.name))
        if run is None or run.standing.state in _OVER:  # who heard its end may yet write it
            await anyio.sleep(_SOON_S)
            row = await self._again(row)
            if row.has_ended:
                return row
        settled = await self._settled(row, run, None)
        if settled is not None or run is None:
            return settled or row
        status = "in_progress" if run.steps else "queued"
        return replace(row, object=row.object | {"status": status})

    async def _again(self, row: Response) -> Response:
        assert self.recall.shelf is not None
        try:
            return await self.recall.shelf.find(row.name) or row
        except (DatabaseLost, ResponseSealed) as error:
            raise unavailable(error) from error

    async def _settled(
        self, row: Response, run: Stored | None, told: JsonObject | None
    ) -> Response | None:
        """Keep a response whose *run* is over, and return it; None: it is not over.

        *told* is what was told of it where it has failed.
        """
        keeping = self.keeping(row)
        if run is None:
            told = row.object | _failure("The run of this response is not kept any more.")
        elif run.standing.state == "completed":
            return await self._completed(row, run, keeping)
        elif run.standing.state == "cancelled":
            told = row.object | _standing("cancelled")
        elif run.standing.state == "failed":
            told = told or row.object | _failure(_why(run))
        else:
            return None
        await keeping.keep(told)
        return await self._fitted(row, keeping, told)

    async def _completed(self, row: Response, run: Stored, keeping: Keeping) -> Response | None:
        """Keep the answer that a run has come to: nobody was there any more who did."""
        if (call := self.call_of(run)) is None:
            return None
        encoder = self.encoder(row, call)
        for event in events_of(run):
            keeping.piece(encoder.feed(event))
        await keeping.last(encoder.end(run_summary(run)))
        return None if keeping.told is None else await self._fitted(row, keeping, keeping.told)

    async def _fitted(self, row: Response, keeping: Keeping, told: JsonObject | None) -> Response:
        """Return how a response that has ended is kept; where *told* was too large, without output.

        It must end in any case, and is kept then whatever its size: its input was small enough.
        """
        told = told or row.object
        if keeping.too_big:
            if told.get("status") in ("failed", "cancelled"):
                told = told | {"output": []}
            else:
                told = row.object | _failure(
                    _TOO_LARGE % self.recall.max_size, "response_too_large"
                )
            await Keeping(keeping.wish, self.recall.shelf, sys.maxsize).keep(told)
        return keeping.wish.kept(told)

    def call_of(self, run: Stored) -> Call | None:
        """Return the call that a run carries out, None where that was not kept."""
        if run.record.sent is None:
            return None
        raw = run.record.sent.raw.encode()
        return self.dialect.decode(parse(raw), raw)

    def encoder(self, row: Response, call: Call) -> Encoder:
        """Return what writes a response; each writes the same."""
        return self.dialect.encoder(call, row.name.id.removeprefix(PREFIX), call.model)

    def keeping(self, row: Response) -> Keeping:
        """Return what keeps a response when it has ended."""
        name = row.name
        wish = Wish(name.owner, row.input, row.parent, name.id, row.created_ms, background=True)
        return Keeping(wish, self.recall.shelf, self.recall.max_size)


def _standing(status: str) -> JsonObject:
    """Return what a response says that has no answer."""
    nothing: dict[str, Json] = dict.fromkeys(
        ("usage", "completed_at", "incomplete_details", "error")
    )
    return {"status": status, "output": [], **nothing}


def _why(run: Stored) -> str:
    """Return why a run has failed: the last of its calls that did tells most."""
    failed = [step.error for step in in_order(run.steps) if step.error is not None]
    return failed[-1][2] if failed else f"The response has failed: {run.standing.reason}."


def _failure(message: str, kind: str | None = None) -> JsonObject:
    error: dict[str, Json] = {"code": "server_error", "message": message}
    if kind is not None:
        error["type"] = kind
    return {**_standing("failed"), "error": error}
