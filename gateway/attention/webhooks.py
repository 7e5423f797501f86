"""Tells webhooks of what is asked: signed, to public addresses only, tried a few times.

A receiver checks ``x-lockgate-signature: t=SECONDS,v1=HEX``: the HMAC-SHA-256, with the secret that
it shares, of the seconds, a dot and the body. ``x-lockgate-delivery`` is the same in every attempt.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from time import monotonic
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import orjson

from gateway.attention.board import Board
from gateway.attention.persons import Person
from gateway.attention.questions import SECOND, Approval, Ask
from gateway.attention.telling import instant_of, told
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from gateway.upstream.ways import STRAIGHT, Ways
from techniques.core.errors import UpstreamFailed
from techniques.core.groups import task_group

_CONNECT_S: Final = 5.0
_ANSWER_S: Final = 10.0
_LONGEST_PAUSE_S: Final = 3600.0
_DELIVERED: Final = range(200, 300)


@dataclass(frozen=True, slots=True)
class WebhookPolicy:
    """How often a webhook is tried, and how long after the first attempt; then four times that.

    ``ways`` lead to it.
    """

    attempts: int = 5
    retry_s: float = 5.0
    allow_private: bool = False
    ways: Ways = STRAIGHT

    def pause_s(self, attempts: int) -> float:
        """Return how long to wait after so many attempts."""
        pause: float = self.retry_s * 4 ** (attempts - 1)
        return min(pause, _LONGEST_PAUSE_S)


class Webhooks:
    """Those of all persons; they are told at the same time, and none waits for another's."""

    def __init__(self, board: Board, policy: WebhookPolicy) -> None:
        self._board = board
        self._policy = policy

    async def tell(self, now: int) -> None:
        """Tell of the asks that are due *now*.

        Raises:
            DatabaseLost: The database does not answer.
        """
        due = await self._board.store.due(now)
        if due:
            async with task_group() as group:
                for ask in due:
                    group.start_soon(self._attempt, ask)

    async def _attempt(self, ask: Ask) -> None:
        board, number = self._board, ask.attempts + 1
        is_last = number >= self._policy.attempts
        claimed = board.clock() + round(2 * _ANSWER_S * SECOND)  # another goes on if this one ends
        if not await board.store.attempt(ask, None if is_last else claimed):
            return
        person = board.persons.named(ask.person)
        asked = await board.store.of_ask(ask.id, board.clock())
        if person is None or person.webhook is None or not asked:
            await board.store.delivered(ask.id, board.clock())  # there is nothing to tell any more
        elif await self._post(person, ask, asked):
            board.counts.hook("delivered")
            await board.store.delivered(ask.id, board.clock())
        elif is_last:
            board.counts.hook("given_up")
        else:
            board.counts.hook("failed")
            pause = round(self._policy.pause_s(number) * SECOND)
            await board.store.put_off(ask.id, board.clock() + pause)

    async def _post(self, person: Person, ask: Ask, asked: list[Approval]) -> bool:
        """Return whether the webhook took it."""
        url = urlsplit(person.webhook or "")
        body = _body(ask, asked)
        at = self._board.clock() // SECOND
        headers = {
            "content-type": "application/json",
            "x-lockgate-delivery": ask.id,
            "x-lockgate-signature": signature(person.secret, at, body),
        }
        transport = PooledTransport(
            Endpoint(
                base_url=f"{url.scheme}://{url.netloc}",
                headers={},
                connect_s=_CONNECT_S,
                allow_private=self._policy.allow_private,
                proxy=self._policy.ways.to(person.webhook or ""),
            )
        )
        call = HttpCall(urlunsplit(("", "", url.path or "/", url.query, "")), body, headers)
        try:
            answer = await transport.post(call, monotonic() + _ANSWER_S)
        except UpstreamFailed:
            return False
        answer.close()  # which says what it says by its status
        await transport.close()
        return answer.status in _DELIVERED


def signature(secret: str, at: int, body: bytes) -> str:
    """Return what proves that *body* was sent by who shares *secret*, *at* seconds of the epoch.

    Source: RFC 2104; the time keeps an old message from being sent again.
    """
    digest = hmac.digest(secret.encode(), b"%d." % at + body, "sha256").hex()
    return f"t={at},v1={digest}"


def _body(ask: Ask, asked: list[Approval]) -> bytes:
    once: dict[str, Approval] = {}
    for it in asked:
        once.setdefault(it.hash, it)
    return orjson.dumps(
        {
            "ask": ask.id,
            "person": ask.person,
            "asked_at": instant_of(ask.asked_at),
            "approvals": [told(it) for it in once.values()],
        }
    )
