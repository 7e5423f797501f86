"""A router far away, as the gateway sees it: it decides in time, or it is gone.

What crosses is the contract's: vectors and features, and no text of a prompt.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import anyio
import httpx2
import orjson
from pydantic import ValidationError

from router_service.breaker import Breaker
from router_service.contract import (
    Feedback,
    NoExactProfile,
    Observation,
    RouteDecision,
    RouteQuery,
    RouterGone,
)
from router_service.outbox import NotTaken, Outbox, Result
from techniques.core.groups import task_group

_PATIENCE_S: Final = 5.0
_MOST_ANSWER: Final = 1_048_576
_NEARLY: Final = 0.9
_LONGEST: Final = 200
_MOST_TOLD: Final = 20
_FINISH_S: Final = 2.0
_UNSENDABLE: Final = frozenset({400, 413, 422})
_LINES: Final = {"content-type": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class Remote:
    """Where the router is, and what it is allowed.

    It has ``within_s`` seconds in all for a decision. ``most`` observations wait to be sent.
    """

    url: str
    token: str | None = None
    within_s: float = 0.02
    most: int = 10_000


class RouterClient:
    """The contract's ``Router`` and ``Observations`` by *remote*, over *http*.

    *count* is told of observations that were sent, and of those that could not be. ``within_s`` is
    what a decision may take by now.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        remote: Remote,
        count: Callable[[Result, int], None] = lambda _result, _number: None,
    ) -> None:
        self._http = http
        self.within_s = remote.within_s
        self._breaker = Breaker()
        self.outbox = Outbox(self._send, count, remote.most)

    async def route(self, query: RouteQuery) -> RouteDecision:
        """Ask the router about *query*.

        Raises:
            NoExactProfile: The query is strict, and nothing was learnt of its models.
            RouterGone: It has not decided in time, or is not asked for now, having failed before.
        """
        if not self._breaker.lets_through(anyio.current_time()):
            raise RouterGone("it has failed before, and is not asked for a while")
        began = anyio.current_time()
        try:
            status, body = await self._answer(query)
            decision = _decision(status, body, query)
        except NoExactProfile:
            self._breaker.succeeded()
            raise
        except RouterGone:
            self._breaker.failed(anyio.current_time())
            raise
        except BaseException:
            self._gave_up(began)
            raise
        self._breaker.succeeded()
        return decision

    def _gave_up(self, began: float) -> None:
        """Note that nobody waits any more: the router was too slow, if it had nearly all its time.

        Who asks may have a deadline of its own that is the same as ours, and comes first.
        """
        now = anyio.current_time()
        if now - began >= _NEARLY * self.within_s:
            self._breaker.failed(now)
        else:
            self._breaker.left()

    async def observe(self, rows: Sequence[Observation]) -> None:
        """Send *rows* soon; what does not fit is dropped and counted."""
        self.outbox.put(rows)

    async def feedback(self, said: Feedback) -> bool:
        """Write down what was *said*; False if nothing is known of its request.

        Raises:
            RouterGone: Nobody knows.
        """
        if self.outbox.has(said.request_id):
            await self.outbox.flush()
        body = said.model_dump_json().encode()
        status, answer = await self._ask("POST", "/v1/feedback", body)
        if status not in (200, 404):
            raise _gone(status, answer)
        return status == 200

    async def forget(self, caller: str) -> int:
        """Delete what was observed of *caller*, also what waits; return how many rows that were.

        Raises:
            RouterGone: Nobody knows.
        """
        unsent = await self.outbox.drop(caller)
        status, body = await self._ask(
            "DELETE", f"/v1/observations?caller={quote(caller, safe='')}"
        )
        try:
            return unsent + int(orjson.loads(body)["forgotten"])
        except (ValueError, LookupError, TypeError):
            raise _gone(status, body) from None

    async def warm(self) -> None:
        """Connect, so that the first decision need not wait for it."""
        with suppress(RouterGone):  # the first who asks will be told
            await self._ask("GET", "/healthz")

    async def _answer(self, query: RouteQuery) -> tuple[int, bytes]:
        body = query.model_dump_json(by_alias=True, exclude_defaults=True).encode()
        return await self._ask("POST", "/v1/route", body, within_s=self.within_s)

    async def _send(self, rows: Sequence[Observation]) -> None:
        lines = "\n".join(row.model_dump_json(exclude_defaults=True) for row in rows)
        status, body = await self._ask("POST", "/v1/observations", lines.encode(), _LINES)
        if status in _UNSENDABLE:
            raise NotTaken(_said(body))
        if status != 200:
            raise _gone(status, body)

    async def _ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        within_s: float = _PATIENCE_S,
    ) -> tuple[int, bytes]:
        """Return the status and the body of the answer.

        Raises:
            RouterGone: There is none in time.
        """
        try:
            with anyio.fail_after(within_s):
                request = self._http.build_request(method, path, content=body, headers=headers)
                return await self._read(request)
        except TimeoutError:
            raise RouterGone(f"no answer within {within_s * 1000:.0f} ms") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise RouterGone(str(error) or type(error).__name__) from error

    async def _read(self, request: httpx2.Request) -> tuple[int, bytes]:
        answer = await self._http.send(request, stream=True)
        try:
            body = bytearray()
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > _MOST_ANSWER:
                    raise RouterGone("its answer has no end")
            return answer.status_code, bytes(body)
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()


@asynccontextmanager
async def connected(
    remote: Remote, count: Callable[[Result, int], None] = lambda _result, _number: None
) -> AsyncGenerator[RouterClient, None]:
    """Give the router at *remote*; leaving sends what waits, for two seconds at the most."""
    headers = {} if remote.token is None else {"authorization": f"Bearer {remote.token}"}
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=32, keepalive_expiry=60)
    async with httpx2.AsyncClient(
        base_url=remote.url,
        headers=headers,
        limits=limits,
        timeout=None,  # each question has its own
        trust_env=False,
        follow_redirects=False,
    ) as http:
        client = RouterClient(http, remote, count)
        try:
            async with task_group() as group:
                group.start_soon(client.warm)
                group.start_soon(client.outbox.run)
                yield client
                group.cancel_scope.cancel()
        finally:
            await client.outbox.finish(_FINISH_S)


def _decision(status: int, body: bytes, query: RouteQuery) -> RouteDecision:
    if status == 409 and query.strict:  # to any other request it is no answer
        raise _no_profile(body)
    if status != 200:
        raise _gone(status, body)
    try:
        decision = RouteDecision.model_validate_json(body)
    except ValidationError as error:
        raise RouterGone(f"its decision cannot be read: {error.error_count()} faults") from None
    if not query.allows(decision.arm):
        raise RouterGone("it chose what was not on offer")
    return decision


def _no_profile(body: bytes) -> Exception:
    try:
        told = orjson.loads(body)["error"]
        have = [_short(one) for one in list(told["have"])[:_MOST_TOLD]]
        return NoExactProfile(_short(told["profile"]), have, _short(told["want"]))
    except (ValueError, LookupError, TypeError):
        return _gone(409, body)


def _short(said: object) -> str:
    return str(said)[:_LONGEST]


def _gone(status: int, body: bytes) -> RouterGone:
    return RouterGone(f"it answered {status}: {_said(body)}")


def _said(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace")
