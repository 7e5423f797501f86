"""One connection, asked in batches: what is asked while one is under way goes in the next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import anyio
import anyio.lowlevel
import structlog
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import ConnectionError, NoScriptError, ResponseError

from gateway.stores.ledger import StoreLost
from gateway.stores.lost import LOST
from gateway.stores.redis.script import digest, source

_BATCH: Final = 64
_TOGETHER: Final = 16
"""How many operations of one pool the server carries out in one go, before it turns to others."""
_BATCH_S: Final = 1.0
_LATE_S: Final = 1.0
"""How much longer than its deadline a call waits at most while the server answers others."""
_PAUSE_S: Final = 0.05
_TURNS: Final = 4
_LONGEST_PAUSE_S: Final = 1.0

_log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Call:
    """One operation.

    Attributes:
        key: What all keys of its pool begin with.
        now: The time in milliseconds; "" for the server's own.
        told: What the operation is given, in JSON.
        done: Set when there is an answer; None if nobody waits for it.
        given_up: Nobody waits any more; it is not sent if it was not yet.
        sent: The server may have carried it out.
    """

    key: str
    now: str
    operation: str
    told: bytes
    done: asyncio.Event | None = None
    answer: Any = None
    lost: BaseException | None = None
    given_up: bool = False
    sent: bool = False


class Batches:
    """Carries calls to the server, in order.

    Args:
        deadline_s: After which a server that answers nothing is lost. It is counted from the last
            answer to anything: who is behind others in a busy moment waits for them.
        most: How many calls that nobody waits for are kept while the server is away.
    """

    def __init__(self, client: Redis | RedisCluster, *, deadline_s: float, most: int) -> None:
        self._client = client
        self._deadline_s = deadline_s
        self._most = most
        self._calls: deque[Call] = deque()
        self._some = asyncio.Event()
        self._answered_at = 0.0
        self._waited: deque[tuple[float, Call]] = deque()
        self._asked = asyncio.Event()
        self._connection: Any = None
        self.dropped = 0

    def push(self, call: Call) -> None:
        """Have *call* carried out soon; dropped and counted if too many wait already."""
        if len(self._calls) >= self._most:
            self.dropped += 1
            return
        self._calls.append(call)
        self._some.set()

    async def ask(self, calls: Sequence[Call]) -> list[Any]:
        """Return the answers to *calls*, which go together.

        Raises:
            StoreLost: The server did not answer in time, or answered with a failure.
        """
        due = anyio.current_time() + self._deadline_s
        for call in calls:
            call.done = asyncio.Event()
            self._waited.append((due, call))
        self._calls.extend(calls)
        self._some.set()
        self._asked.set()
        for call in reversed(calls):  # the last is answered last
            if call.done is not None and not call.done.is_set():
                await call.done.wait()
        for call in calls:
            if call.given_up:
                raise StoreLost("the ledger's store did not answer in time")
            if call.lost is not None:
                raise StoreLost("the ledger's store failed") from call.lost
        return [call.answer for call in calls]

    async def run(self) -> None:
        """Carry calls until cancelled."""
        pause_s = _PAUSE_S
        while True:
            await self._some.wait()
            batch = self._next()
            if not batch:
                self._some.clear()
                continue
            failure = await self._carry(batch)
            if failure is None:
                pause_s = _PAUSE_S
                continue
            self._put_back(batch, failure)
            await anyio.sleep(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)

    async def watch(self) -> None:
        """Give up what was not answered in time, until cancelled: one clock for all is cheap."""
        while True:
            await self._asked.wait()
            while self._waited:
                due, call = self._waited[0]
                if call.done is not None and not call.done.is_set():
                    left_s = self._due(due) - anyio.current_time()
                    if left_s > 0:
                        await anyio.sleep(left_s)
                        continue
                    for _ in range(_TURNS):  # the answer may be here, and this process was late
                        await anyio.lowlevel.checkpoint()
                    if not call.done.is_set():
                        call.given_up = True
                        call.done.set()
                self._waited.popleft()
            self._asked.clear()

    def _due(self, due: float) -> float:
        return min(max(due, self._answered_at + self._deadline_s), due + _LATE_S)

    async def drain(self) -> None:
        """Carry what is left, as far as the server takes it at once."""
        while batch := self._next():
            if await self._carry(batch) is not None:
                return

    def _next(self) -> list[Call]:
        batch: list[Call] = []
        while self._calls and len(batch) < _BATCH:
            call = self._calls.popleft()
            if not call.given_up:
                batch.append(call)
        return batch

    def _put_back(self, batch: Sequence[Call], failure: Exception) -> None:
        """Tell those who wait; keep the rest for later, in order. Calls may be repeated."""
        for call in reversed(batch):
            if call.done is None:
                self._calls.appendleft(call)
            elif not call.done.is_set():
                call.lost = failure
                call.done.set()
        if self._calls:
            self._some.set()

    async def _carry(self, batch: Sequence[Call]) -> Exception | None:
        """Carry a batch, and return the failure of the connection, if it failed."""
        try:
            with anyio.fail_after(max(_BATCH_S, self._deadline_s)):
                groups = _grouped(batch)
                answers = await self._send(groups)
                missing = [i for i, got in enumerate(answers) if isinstance(got, NoScriptError)]
                if missing:
                    await self._client.script_load(source())
                    again = await self._send([groups[i] for i in missing])
                    for i, got in zip(missing, again, strict=True):
                        answers[i] = got
        except LOST as failure:
            return failure
        self._answered_at = anyio.current_time()
        for group, got in zip(groups, answers, strict=True):
            for place, call in enumerate(group):
                _settle(call, got if isinstance(got, Exception) else got[place])
        return None

    async def _send(self, groups: Sequence[Sequence[Call]]) -> list[Any]:
        """Return what the server answers to each group: a list of answers, or an error."""
        for group in groups:
            for call in group:
                call.sent = True
        if isinstance(self._client, Redis):
            packed = b"".join(map(_packed, groups))
            try:
                return await self._exchange(self._client, packed, len(groups))
            except (ConnectionError, OSError):  # it was closed while nothing was asked
                return await self._exchange(self._client, packed, len(groups))
        pipeline: Any = self._client.pipeline(transaction=False)
        for group in groups:
            told = [part for call in group for part in (call.operation, call.told)]
            pipeline.execute_command("EVALSHA", digest(), 1, group[0].key, group[0].now, *told)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        for got in answers:
            if isinstance(got, Exception) and not isinstance(got, ResponseError):
                raise got
        return answers

    async def _exchange(self, client: Redis, packed: bytes, number: int) -> list[Any]:
        """Send what is *packed* and read so many answers, without what a pipeline does beside."""
        connection = self._connection
        if connection is None:  # it is kept from one batch to the next
            connection = self._connection = await client.connection_pool.get_connection()
        try:
            await connection.send_packed_command([packed])
            answers: list[Any] = []
            for _ in range(number):
                try:
                    answers.append(await connection.read_response())
                except ResponseError as error:
                    answers.append(error)
        except BaseException:
            self._connection = None
            with anyio.CancelScope(shield=True):
                await connection.disconnect(nowait=True)
                await client.connection_pool.release(connection)
            raise
        return answers


def _grouped(batch: Sequence[Call]) -> list[list[Call]]:
    """Return *batch* by pool and moment, each in order."""
    groups: list[list[Call]] = []
    open_: dict[tuple[str, str], list[Call]] = {}
    for call in batch:
        group = open_.get((call.key, call.now))
        if group is None or len(group) >= _TOGETHER:
            group = open_[call.key, call.now] = []
            groups.append(group)
        group.append(call)
    return groups


@cache
def _head() -> bytes:
    """Return what every command begins with in the server's protocol, up to its key."""
    return b"$7\r\nEVALSHA\r\n$40\r\n%b\r\n$1\r\n1\r\n" % digest().encode()


def _packed(group: Sequence[Call]) -> bytes:
    key, now = group[0].key.encode(), group[0].now.encode()
    parts = [
        b"*%d\r\n%b" % (5 + 2 * len(group), _head()),
        b"$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(key), key, len(now), now),
    ]
    for call in group:
        name, told = call.operation.encode(), call.told
        parts.append(b"$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(name), name, len(told), told))
    return b"".join(parts)


def _settle(call: Call, got: Any) -> None:
    if isinstance(got, list) and got and got[0] == "failed":
        got = ResponseError(got[1])
    if isinstance(got, Exception):
        call.lost = got
        if call.done is None:
            _log.error("ledger.call_failed", operation=call.operation, error=str(got))
    else:
        call.answer = got
    if call.done is not None:
        call.done.set()
