"""The stream of a response in the background, for who comes to it later, or comes back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

import anyio

from gateway.responses.frames import Frames
from gateway.responses.keeping import Wish
from gateway.responses.replay import ending, number_of, replayed
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.records import RunName
from gateway.stores.responses.records import Response, ResponseName, ResponseSealed
from gateway.surfaces.recall import unavailable
from gateway.surfaces.unheard import Unheard
from techniques.core.channel import EventStream
from techniques.core.errors import GatewayError, Unavailable

_LOOK_S: Final = 0.2
_PING_S: Final = 10.0


@dataclass(slots=True)
class Replaying:
    """Streams *row* behind the event with the number *after*.

    One that is carried out here is heard from its first event on; of one that has ended, or is
    at work elsewhere, its end is told.
    """

    unheard: Unheard
    row: Response
    after: int
    _last: int = field(default=-1)

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the frames; what cannot go on ends in an error."""
        try:
            row = await self.unheard.current(self.row)
            answer = None if row.has_ended else self.unheard.runs.heard(RunName(*row.name))
            if answer is not None:
                async for frames in self._heard(answer):
                    yield frames
            async for frames in self._end(row):
                yield frames
        except GatewayError as error:
            yield b"event: error\ndata: %b\n\n" % self.unheard.dialect.failure(error).body

    async def _heard(self, answer: EventStream) -> AsyncGenerator[bytes, None]:
        """Yield what is said, but for the end."""
        run = await self.unheard.runs.find(RunName(*self.row.name))
        call = None if run is None else self.unheard.call_of(run)
        if call is None:
            return
        encoder = self.unheard.encoder(self.row, call)
        wish: Wish = self.unheard.keeping(self.row).wish
        frames = Frames(wish.says(stored=True))
        try:
            async with answer as events:
                async for event in events:
                    if told := self._behind(frames.pass_on(encoder.feed(event))):
                        yield told
        except GatewayError:  # how it stands then is told by what is kept
            return

    def _behind(self, data: bytes) -> bytes:
        """Return those frames of *data* that are asked for."""
        wanted = []
        for frame in data.split(b"\n\n")[:-1]:
            number = number_of(frame)
            self._last = self._last if number is None else number
            if number is None or number > self.after:
                wanted.append(frame + b"\n\n")
        return b"".join(wanted)

    async def _end(self, row: Response) -> AsyncGenerator[bytes, None]:
        """Yield the end when it is there: all of the response, to who has not heard it."""
        silent_s = 0.0
        while not row.has_ended:
            if self.unheard.gate.closing:
                raise Unavailable("The gateway is stopping; ask again.")
            await anyio.sleep(_LOOK_S)
            silent_s += _LOOK_S
            if silent_s >= _PING_S:
                silent_s = 0.0
                yield b": ping\n\n"
            row = await self._again()
        if self._last < 0:
            yield b"".join(replayed(row.object, self.after))
        else:
            yield ending(row.object, max(self._last, self.after) + 1)

    async def _again(self) -> Response:
        shelf = self.unheard.recall.shelf
        try:
            found = None if shelf is None else await shelf.find(ResponseName(*self.row.name))
        except (DatabaseLost, ResponseSealed) as error:
            raise unavailable(error) from error
        if found is None:
            raise Unavailable("The response is not there any more.", code="response_not_found")
        return await self.unheard.current(found)
