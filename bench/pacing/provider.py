"""The provider: four vendors' APIs and limits behind one socket, many accounts, no model.

python -m bench.pacing.provider --port 9000 --speed 6

Accounts are made by POST /control/accounts, each in the place of one of the same name, and reached
by it: /NAME/v1/chat/completions or /NAME/v1/messages. GET /control/accounts tells their counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import anyio
import orjson
import uvicorn

from bench.pacing.account import Account, Asked, Terms
from bench.pacing.answering import completion, completion_stream, message, message_stream, read
from bench.pacing.telling import Moment, headers, refusal

FIRST_S: Final = 0.6
"""Until an answer begins, in the provider's seconds."""
TOKENS_A_SECOND: Final = 400

_CONTROL: Final = "/control/accounts"
_ANTHROPIC: Final = "v1/messages"
_PATHS: Final = frozenset({"v1/chat/completions", _ANTHROPIC})

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Call:
    account: Account
    body: Mapping[str, Any]
    asked: Asked
    anthropic: bool


@dataclass
class Provider:
    """The accounts, as an ASGI application. Their seconds pass ``speed`` times as fast."""

    speed: float = 1.0
    clock: Callable[[], float] = time.perf_counter
    accounts: dict[str, Account] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """The time by the accounts' clock."""
        return self.clock() * self.speed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body, path = await _read(receive), scope["path"]
        if path == _CONTROL:
            await _send(send, 200, {}, orjson.dumps(self._control(scope["method"], body)))
            return
        name, _, rest = path.removeprefix("/").partition("/")
        account = self.accounts.get(name)
        if account is not None and rest in _PATHS:
            given = orjson.loads(body)
            await self._answer(_Call(account, given, read(given), rest == _ANTHROPIC), send)
            return
        if account is not None:
            account.counted.unasked += 1
        await _send(send, 404, {}, b'{"error": {"message": "There is nothing here."}}')

    def _control(self, method: str, body: bytes) -> dict[str, dict[str, float]]:
        if method == "POST":
            for name, terms in orjson.loads(body).items():
                self.accounts[name] = Account(Terms(**terms), self.now)
        for account in self.accounts.values():
            account.pass_time(self.now)
        return {name: asdict(account.counted) for name, account in self.accounts.items()}

    async def _answer(self, call: _Call, send: Send) -> None:
        refused = call.account.admit(call.asked, self.now)
        moment = Moment.at(self.now, self.speed)
        if refused is not None:
            told, error = refusal(call.account, refused, moment)
            await _send(send, 429, told, orjson.dumps(error))
            return
        told = headers(call.account, moment)  # as it is when the call is let in
        try:
            await (self._stream if call.asked.streamed else self._whole)(call, told, send)
        finally:
            call.account.ended(call.asked, self.now)

    async def _whole(self, call: _Call, told: Mapping[str, str], send: Send) -> None:
        await self._sleep(FIRST_S + call.asked.output / TOKENS_A_SECOND)
        whole = message if call.anthropic else completion
        await _send(send, 200, told, whole(call.body, call.asked))

    async def _stream(self, call: _Call, told: Mapping[str, str], send: Send) -> None:
        stream = message_stream if call.anthropic else completion_stream
        pieces = list(stream(call.body, call.asked))
        await self._sleep(FIRST_S)
        await _begin(send, 200, told, "text/event-stream")
        for piece in pieces:
            await self._sleep(call.asked.output / TOKENS_A_SECOND / len(pieces))
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds / self.speed)


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            return bytes(body)


async def _begin(send: Send, status: int, told: Mapping[str, str], kind: str) -> None:
    rows = [(name.encode(), value.encode()) for name, value in told.items()]
    rows.append((b"content-type", kind.encode()))
    await send({"type": "http.response.start", "status": status, "headers": rows})


async def _send(send: Send, status: int, told: Mapping[str, str], body: bytes) -> None:
    sized = {**told, "content-length": str(len(body))}
    await _begin(send, status, sized, "application/json")
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--speed", type=float, default=1.0)
    given = parser.parse_args()
    uvicorn.run(
        Provider(given.speed),
        host="127.0.0.1",
        port=given.port,
        log_level="warning",
        access_log=False,
        lifespan="off",
        date_header=False,  # whole seconds, which a faster provider's are not
        timeout_keep_alive=120,
    )


if __name__ == "__main__":
    main()
