"""Asks a person what waits to be asked: one thing at once, or what has gathered as a digest."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_hex
from typing import Final

from gateway.attention.board import Board
from gateway.attention.persons import Person
from gateway.attention.questions import Approval, Ask

_ROUNDS: Final = 16
_DIGEST: Final = 50


async def asked_now(board: Board, person: Person) -> None:
    """Ask *person* as often as they may be asked now, and as there is something to ask.

    Raises:
        DatabaseLost: The database does not answer.
        StoreLost: The ledger does not.
    """
    async with board.asking:
        await _ask(board, person)


async def _ask(board: Board, person: Person) -> None:
    for _ in range(_ROUNDS):
        now = board.clock()
        waiting = [it for it in await board.store.waiting(now) if it.person == person.name]
        if not waiting:
            return
        due_at = now if person.webhook else None
        ask = Ask(f"ask_{token_hex(12)}", person.name, now, due_at=due_at)
        taken = await board.attending.take(person, ask.id)
        if taken is None or not taken.granted:
            return
        together = _together(waiting)
        if await board.store.begin(ask, together):
            board.attending.spend(person, taken)
            board.counts.asked(len(together))
            board.stir()
        else:  # another replica has asked it
            board.attending.give_back(person, taken)


def _together(waiting: Sequence[Approval]) -> list[str]:
    """Return the hashes of what is asked at once: what is urgent, else all of it."""
    urgent = [it.hash for it in waiting if it.urgent]
    return list(dict.fromkeys(urgent or (it.hash for it in waiting)))[:_DIGEST]
