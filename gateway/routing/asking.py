"""Asks a router, for a limited time; whatever goes wrong there is told in a word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final, Literal, TypeAlias

import anyio
import structlog

from pricing.record import record
from router_service.contract import (
    Encoder,
    NoExactProfile,
    RouteDecision,
    RouteQuery,
    Router,
    RouterGone,
)

Failing: TypeAlias = Literal["slow", "gone", "failed"]
_LONGEST: Final = 200

_log = structlog.get_logger()


@record(frozen=True, slots=True)
class Answer:
    """What a router said; ``decision`` None where ``failing`` says why there is none.

    ``query`` is what it was asked, with the vector if there is one.
    """

    query: RouteQuery
    decision: RouteDecision | None
    failing: Failing | None = None
    encode_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Here:
    """A router in this process; ``loaded``: it has read what was learnt before the start."""

    router: Router
    loaded: Callable[[], bool]

    async def route(self, query: RouteQuery) -> RouteDecision:
        """Ask it.

        Raises:
            NoExactProfile: The query is strict, and nothing was learnt of its models.
            RouterGone: The query is strict, and nobody knows yet whether something was.
        """
        try:
            return await self.router.route(query)
        except NoExactProfile:
            if self.loaded():
                raise
            raise RouterGone("it is still reading what was learnt before") from None


class Asker:
    """Asks *router*, with vectors by *encoder*, None: without; each for so many seconds."""

    def __init__(
        self, router: Router, encoder: Encoder | None, within_s: float, encode_within_s: float
    ) -> None:
        self._router = router
        self._encoder = encoder
        self._within_s = within_s
        self._encode_within_s = encode_within_s
        self._failing: Failing | None = None

    async def ask(self, query: RouteQuery, text: str) -> Answer:
        """Return what the router says to *query*, about a request whose words are *text*.

        Raises:
            NoExactProfile: The query is strict, and nothing was learnt of its models.
        """
        began, encoded_s = perf_counter(), 0.0
        why: Failing
        try:
            with anyio.fail_after(self._encode_within_s) as scope:
                query = await self._located(query, text)
                encoded_s = perf_counter() - began
                scope.deadline = anyio.current_time() + self._within_s
                decision = _checked(query, await self._router.route(query))
        except NoExactProfile:
            raise
        except TimeoutError:
            why = "slow"
        except RouterGone as gone:
            why = "gone"
            self._told(why, str(gone))
        except Exception:  # noqa: BLE001 - a bug of the router's must not cost a request
            why = "failed"
            _log.exception("router.failed")
        else:
            self._told(None, "")
            return Answer(query, decision, None, encoded_s)
        return Answer(query, None, why, encoded_s)

    async def _located(self, query: RouteQuery, text: str) -> RouteQuery:
        if self._encoder is None or not text:
            return query
        vector = await self._encoder.encode(text)
        return query if vector is None else query.model_copy(update={"vector": vector})

    def _told(self, failing: Failing | None, reason: str) -> None:
        """Write down that the router is gone, or is there again: once each."""
        if failing == self._failing:
            return
        self._failing = failing
        if failing is None:
            _log.info("router.back")
        else:
            _log.warning("router.gone", reason=reason[:_LONGEST])


def _checked(query: RouteQuery, decision: RouteDecision) -> RouteDecision:
    """Return *decision* if it is one of what was on offer.

    Raises:
        RouterGone: It is none.
    """
    if not query.allows(decision.arm):
        raise RouterGone("it chose what was not on offer")
    return decision
