"""Observations in and out, one JSON object a line, as they come: never all in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from router_service.contract import Observation
from router_service.process.replies import Refused, read_as
from router_service.store.observations import ObservationTable
from router_service.store.rows import Unfit

_LONGEST_LINE: Final = 262_144
_BATCH: Final = 100
_CHUNK: Final = 100
_AHEAD_S: Final = 86_400.0  # a clock may be wrong
LINES: Final = "application/x-ndjson"


class Import:
    """Takes in what a request brings, a batch at a time; *kept* is told of each."""

    def __init__(
        self, table: ObservationTable, most: int, kept: Callable[[Sequence[Observation]], None]
    ) -> None:
        self._table = table
        self._most = most
        self._kept = kept
        self._waiting: list[Observation] = []
        self._line = 0
        self.observed = 0

    async def take(self, request: Request) -> None:
        """Keep every line of *request*.

        Raises:
            Refused: One of them is no observation; what stood before is kept, up to ``observed``.
        """
        async with aclosing(_lines(request.stream(), self._most)) as lines:
            async for line in lines:
                self._line += 1
                if line.strip():
                    self._waiting.append(self._read(line))
                if len(self._waiting) >= _BATCH:
                    await self._keep()
        await self._keep()

    def refused(self, error: Refused) -> Response:
        """Return what says so, with how many lines were kept before."""
        told = orjson.loads(error.reply.body)["error"]
        told["observed"] = self.observed
        return Response(
            orjson.dumps({"error": told}), error.reply.status_code, media_type="application/json"
        )

    def _read(self, line: bytes) -> Observation:
        try:
            row = read_as(Observation, line)
        except Refused as error:
            raise Refused(400, "invalid_observation", f"line {self._line}: {error}") from None
        if row.at > datetime.now(UTC).timestamp() + _AHEAD_S:
            message = f"line {self._line}: at: it is yet to come; seconds since 1970 are wanted"
            raise Refused(400, "invalid_observation", message)
        return row

    async def _keep(self) -> None:
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        try:
            await self._table.observe(rows)
        except Unfit as error:
            first = self._line - len(rows) + 1
            message = f"lines {first} to {self._line}: {error}"
            raise Refused(400, "invalid_observation", message) from None
        self.observed += len(rows)
        self._kept(rows)


async def _lines(chunks: AsyncIterator[bytes], most: int) -> AsyncGenerator[bytes, None]:
    """Yield the lines that *chunks* are made of.

    Raises:
        Refused: One is too long, or all together are.
    """
    held, size = b"", 0
    async for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise Refused(413, "too_large", f"An import has at most {most} bytes.")
        *whole, held = (held + chunk).split(b"\n")
        for line in whole:
            yield line
        if len(held) > _LONGEST_LINE:
            raise Refused(413, "too_large", f"A line has at most {_LONGEST_LINE} bytes.")
    if held:
        yield held


class Export(Response):
    """Answers with every row that *table* has, page by page, until the client has left."""

    def __init__(self, table: ObservationTable, request: Request) -> None:
        super().__init__(media_type=LINES)
        self._table = table
        self._request = request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them."""
        del scope, receive
        kind = [(b"content-type", LINES.encode())]  # how long it is nobody knows yet
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        async with aclosing(self._table.all()) as rows:
            chunk: list[str] = []
            async for row in rows:
                chunk.append(row.model_dump_json(exclude_defaults=True))
                if len(chunk) >= _CHUNK:
                    if await self._request.is_disconnected():
                        return
                    await send(_part(chunk, more=True))
                    chunk = []
        await send(_part(chunk, more=False))


def _part(lines: list[str], *, more: bool) -> dict[str, object]:
    body = "".join(f"{line}\n" for line in lines).encode()
    return {"type": "http.response.body", "body": body, "more_body": more}
