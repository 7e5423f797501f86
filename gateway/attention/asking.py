"""Asks people what waits to be asked, and sees to it that their webhooks are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import groupby
from typing import Final

import anyio
import structlog

from gateway.attention.board import Board
from gateway.attention.questions import SECOND
from gateway.attention.rounds import asked_now
from gateway.attention.webhooks import Webhooks
from gateway.reasons import why_of
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.ledger import StoreLost
from techniques.core.groups import task_group

_BEAT_S: Final = 1.0
_TIDIED_S: Final = 600.0
_KEPT: Final = 30 * 86_400 * SECOND

_log = structlog.get_logger()


class Asking:
    """One for the process; of several only one asks the same question."""

    def __init__(self, board: Board, webhooks: Webhooks) -> None:
        self._board = board
        self._webhooks = webhooks
        self._tidied = -_TIDIED_S

    async def serve(self) -> None:
        """Do so until it is cancelled; a webhook that is slow keeps nobody from being asked."""
        async with task_group() as group:
            group.start_soon(self._again, self.beat)
            group.start_soon(self._again, self.tell)

    async def _again(self, once: Callable[[], Awaitable[None]]) -> None:
        is_stuck = False
        while True:
            stirred = self._board.stirred
            try:
                await once()
                is_stuck = False
            except (DatabaseLost, StoreLost) as lost:
                if not is_stuck:
                    _log.warning("asking.waits", reason=why_of(lost))
                is_stuck = True
            except Exception:  # noqa: BLE001 - one of the boundaries: a service goes on
                _log.exception("asking.failed")
            with anyio.move_on_after(_BEAT_S):
                await stirred.wait()

    async def tell(self) -> None:
        """Tell webhooks of what is due.

        Raises:
            DatabaseLost: The database does not answer.
        """
        await self._webhooks.tell(self._board.clock())

    async def beat(self) -> None:
        """Ask what can be asked now, and note what has expired.

        Raises:
            DatabaseLost: The database does not answer.
            StoreLost: The ledger does not.
        """
        board, now = self._board, self._board.clock()
        for late in await board.store.expire(now):
            board.counts.approval(late.kind, "expired")
            board.stir()
        waiting = sorted(await board.store.waiting(now), key=lambda it: it.person)
        for name, _ in groupby(waiting, key=lambda it: it.person):
            if (person := board.persons.named(name)) is not None:
                await asked_now(board, person)
        board.counts.waiting(len(await board.store.waiting(now)) if waiting else 0)
        if anyio.current_time() - self._tidied >= _TIDIED_S:
            self._tidied = anyio.current_time()
            await board.store.forget(now - _KEPT)
