"""Asks llama.cpp's server what its completions do not tell, and moves the contents of its slots."""

from __future__ import annotations

from time import monotonic
from typing import Final, Literal

import orjson

from gateway.upstream.llama_cpp.told import (
    Moved,
    Props,
    ServerFailed,
    Slot,
    moved_of,
    props_of,
    slots_of,
)
from gateway.upstream.provider import HttpCall
from gateway.upstream.transport import Response, Transport
from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json

_OK: Final = 200
_MOST: Final = 16 * 2**20
_JSON: Final = {"content-type": "application/json"}


class Server:
    """One server, behind *transport*, whose paths begin at the server's root.

    What it tells is waited for *told_s* seconds, a slot that it saves or restores *moved_s*.
    """

    def __init__(self, transport: Transport, *, told_s: float = 5.0, moved_s: float = 60.0) -> None:
        self._transport = transport
        self._told_s = told_s
        self._moved_s = moved_s

    async def props(self) -> Props:
        """Return what the server is.

        Raises:
            ServerFailed: It did not say.
        """
        return props_of(await self._asked("/props"))

    async def slots(self) -> tuple[Slot, ...]:
        """Return how its slots stand.

        Raises:
            ServerFailed: It did not say.
        """
        return slots_of(await self._asked("/slots"))

    async def slot(self, number: int) -> Slot:
        """Return how the slot *number* stands.

        Raises:
            ServerFailed: It did not say, or there is no such slot.
        """
        for slot in await self.slots():
            if slot.id == number:
                return slot
        raise ServerFailed("slot_missing", f"There is no slot {number}.")

    async def save(self, slot: int, name: str) -> Moved:
        """Have the contents of *slot* written to the file *name* in the server's own folder.

        Raises:
            ServerFailed: They were not.
        """
        return moved_of(await self._moved(slot, "save", name), saved=True)

    async def restore(self, slot: int, name: str) -> Moved:
        """Have *slot* filled with what the file *name* has.

        Raises:
            ServerFailed: It was not; the slot is then empty.
        """
        return moved_of(await self._moved(slot, "restore", name), saved=False)

    async def _asked(self, path: str) -> Json:
        return await self._answer(HttpCall(path, b"", {}, method="GET"), self._told_s)

    async def _moved(self, slot: int, action: Literal["save", "restore"], name: str) -> Json:
        body = orjson.dumps({"filename": name})
        return await self._answer(
            HttpCall(f"/slots/{slot}?action={action}", body, _JSON), self._moved_s
        )

    async def _answer(self, call: HttpCall, seconds: float) -> Json:
        """Return the body of the answer to *call*, which must come within *seconds*."""
        until = monotonic() + seconds
        try:
            response = await self._transport.post(call, until)
            try:
                body = await _whole(response)
            finally:
                response.close()
        except UpstreamFailed as error:
            raise ServerFailed("unreachable", error.message) from error
        if response.status != _OK:
            raise ServerFailed("refused", f"{call.path}: HTTP {response.status}")
        try:
            read: Json = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ServerFailed("unreadable", f"{call.path}: not JSON") from error
        return read


async def _whole(response: Response) -> bytes:
    body = bytearray()
    while chunk := await response.read():
        body += chunk
        if len(body) > _MOST:
            raise ServerFailed("unreadable", "The answer has no end.")
    return bytes(body)
