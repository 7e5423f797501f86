"""One response on its way to its client: what of it is kept, and what is told of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio
import orjson
import structlog

from gateway.reasons import why_of
from gateway.responses.frames import Frames, is_response
from gateway.responses.recent import Recent
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.responses.records import Response, ResponseName, State
from gateway.stores.responses.shelf import Shelf, TooBig
from techniques.core.events import Warned
from techniques.core.json import Json, JsonObject

_STATES: Final[Mapping[str, State]] = {
    "queued": "queued",
    "in_progress": "in_progress",
    "completed": "completed",
    "incomplete": "incomplete",
    "failed": "failed",
    "cancelled": "cancelled",
}

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be kept of a response, and by what it is known.

    Attributes:
        owner: The key whose it is.
        input: What the client said, as items.
        parent: What it goes on with.
        known: Its id here, whatever a provider calls it; None: the one that it has.
        created_ms: Since when it is known.
        background: Whether nobody waits for it.
    """

    owner: str
    input: Sequence[JsonObject] = ()
    parent: str | None = None
    known: str | None = None
    created_ms: int = 0
    background: bool = False

    def says(self, *, stored: bool) -> dict[str, Json]:
        """Return what stands in the response that its dialect cannot know."""
        told: dict[str, Json] = {"store": stored, "background": self.background}
        told["previous_response_id"] = self.parent
        if self.known is not None:
            told["id"] = self.known
        if self.background:
            told["created_at"] = self.created_ms // 1000
        return told

    def kept(self, told: JsonObject) -> Response:
        """Return the response that clients are *told* of as it is kept."""
        name = ResponseName(self.owner, self.known or str(told.get("id")))
        state = _STATES.get(str(told.get("status")), "completed")
        at = self.created_ms
        return Response(name, self.parent, state, at, told, self.input, self.background)


class Keeping:
    """Keeps the response that its client is sent, before the client has its end.

    Without a *shelf* it is not kept. *recent* remembers its items. ``warn`` is told what the client
    should know. ``on_failure`` tells whether one that has failed is kept, too, ``too_big`` whether
    it was not kept as it is larger than one may be.
    """

    def __init__(
        self, wish: Wish, shelf: Shelf | None, most: int = 0, recent: Recent | None = None
    ) -> None:
        self.wish = wish
        self.warn: Callable[[Warned], None] = lambda _warned: None
        self.on_failure = True
        self.too_big = False
        self._shelf = shelf
        self._most = most
        self._recent = recent
        self._frames = Frames(self._says(stored=shelf is not None))

    @property
    def says_more(self) -> bool:
        """Whether the client is told what its dialect, or a provider, cannot know."""
        return bool(self._frames.says)

    @property
    def told(self) -> JsonObject | None:
        """The response as far as it was told."""
        return self._frames.told

    def piece(self, data: bytes) -> bytes:
        """Return some bytes of a stream as its client gets them."""
        return self._frames.pass_on(data)

    async def last(self, data: bytes) -> bytes:
        """Return the last bytes of a stream; the response is kept by then."""
        frames = self._frames
        data = frames.rest() + data
        passed = frames.pass_on(data) + frames.rest()
        if frames.told is None or not frames.has_ended or await self.keep(frames.told):
            return passed
        frames.says = self._says(stored=False)
        return frames.pass_on(data) + frames.rest()

    async def whole(self, body: bytes) -> bytes:
        """Return a whole answer as its client gets it; the response is kept by then."""
        told = orjson.loads(body)
        if not is_response(told):
            return body
        told |= self._says(stored=self._shelf is not None)
        if not await self.keep(told):
            told |= self._says(stored=False)
        return orjson.dumps(told)

    async def keep(self, told: JsonObject) -> bool:
        """Keep what the client is *told*; return whether it can come back to that."""
        try:
            return await self.put(told)
        except (DatabaseLost, TooBig) as error:
            _log.warning("response.not_stored", reason=why_of(error))
            self.too_big = isinstance(error, TooBig)
            self.warn(Warned("response_not_stored", "size" if self.too_big else ""))
            return False

    async def put(self, told: JsonObject) -> bool:
        """Do the same, and raise why it cannot be kept.

        Raises:
            DatabaseLost: The database does not take it.
            TooBig: It is larger than one may be.
        """
        response = self.wish.kept(told)
        if self._recent is not None:
            self._recent.note(self.wish.owner, response.output)
        if self._shelf is None:
            return False
        if response.state == "failed" and not self.on_failure:
            return True
        response = replace(response, created_ms=response.created_ms or self._shelf.clock())
        with anyio.CancelScope(shield=True):  # it is there, whoever has left
            await self._shelf.put(response, self._most)
        return True

    def _says(self, *, stored: bool) -> dict[str, Json]:
        if self._shelf is None and self.wish.parent is None:
            return {}
        return self.wish.says(stored=stored)
