"""Keeps what a slot has computed on disk, and brings it back: each step is checked before the next.

What cannot be saved or restored is never an error of a call: its prompt is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from time import perf_counter
from typing import Final, TypeVar

import anyio
import structlog

from gateway.clock import utc_now
from gateway.reasons import why_of
from gateway.upstream.llama_cpp.kept import (
    Degraded,
    Fingerprint,
    Reason,
    Record,
    Session,
    fingerprint,
)
from gateway.upstream.llama_cpp.pace import Pace
from gateway.upstream.llama_cpp.server import Server
from gateway.upstream.llama_cpp.shelf import Shelf
from gateway.upstream.llama_cpp.told import Moved, ServerFailed

_UNLIKE: Final = 2
"""Tokens by which what is saved may differ from what the last call told."""

T = TypeVar("T")
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class KvPolicy:
    """What is kept, and for how long.

    Attributes:
        min_tokens: Less than that is computed anew in no time.
        keep_s: How long contents are kept, in seconds.
        prune: Whether the oldest give way where the disk is full.
        many: Whether callers with keys are kept too, each in a folder of its own.
        model: Where the model's file is seen from here; None: where the server says it is.
    """

    min_tokens: int = 512
    keep_s: float = 86_400.0
    prune: bool = True
    many: bool = False
    model: Path | None = None


def _now() -> float:
    return utc_now().timestamp()


class Kv:
    """The contents of one server's slots."""

    def __init__(
        self,
        server: Server,
        shelf: Shelf,
        pace: Pace,
        policy: KvPolicy,
        *,
        now: Callable[[], float] = _now,
    ) -> None:
        self._server = server
        self._shelf = shelf
        self.pace = pace
        self._policy = policy
        self._now = now
        self._broken: Reason | None = None

    async def save(self, session: Session, slot: int, tokens: int | None) -> Moved:
        """Keep what *slot* holds of *session*: *tokens*, None if they have to be asked for.

        Raises:
            Degraded: It was not kept; what was kept before still is.
        """
        self._must_be_allowed(session)
        name = self._shelf.name(session, token_hex(8))
        began = perf_counter()
        try:
            if tokens is None:
                tokens = (await self._server.slot(slot)).cached
            self._must_be_worth_it(tokens)
            made_by = await self._fingerprint()
            room = self.pace.wanted_free
            if room:
                await _off_loop(lambda: self._shelf.make_room(room, prune=self._policy.prune))
            moved = await self._written(slot, name, tokens)
            seconds = perf_counter() - began
            record = Record(name, made_by, moved.tokens, moved.size, seconds, self._now())
            await _off_loop(lambda: self._shelf.commit(session, record))
        except ServerFailed as failed:
            self._shelf.discard(name)
            raise Degraded(failed.reason, str(failed)) from failed
        except Degraded:
            self._shelf.discard(name)
            raise
        self.pace.saved(moved, seconds)
        return moved

    async def restore(self, session: Session, slot: int) -> Moved:
        """Fill *slot* with what is kept of *session*.

        Raises:
            Degraded: It was not; what no longer fits the server was deleted.
        """
        self._must_be_allowed(session)
        record = await _off_loop(lambda: self._shelf.record(session))
        try:
            if await self._fingerprint() != record.fingerprint:
                self._shelf.forget(session)
                raise Degraded("model_mismatch")
            if not self.pace.is_worth_restoring(record.tokens, record.size):
                raise Degraded("not_worth_it")
            began = perf_counter()
            with self._shelf.lent(session, record) as name:
                moved = await self._server.restore(slot, name)
        except ServerFailed as failed:
            raise Degraded(failed.reason, str(failed)) from failed
        self.pace.restored(moved, perf_counter() - began)
        await _off_loop(lambda: self._shelf.consume(session, self._now()))
        return moved

    async def fork(self, parent: Session, child: Session) -> Record:
        """Keep for *child* a copy of what is kept of *parent*.

        Raises:
            Degraded: Nothing is, or it could not be copied.
        """
        self._must_be_allowed(child)
        return await _off_loop(lambda: self._shelf.fork(parent, child, token_hex(8)))

    async def forget(self, session: Session) -> None:
        """Delete what is kept of *session*."""
        await _off_loop(lambda: self._shelf.forget(session))

    async def sweep(self) -> int:
        """Delete what is too old, used or unknown; return how many files went."""
        return await _off_loop(lambda: self._shelf.sweep(self._now(), self._policy.keep_s))

    def _must_be_allowed(self, session: Session) -> None:
        if self._broken is not None:
            raise Degraded(self._broken)
        if session.tenant and not self._policy.many:
            raise Degraded("tenant_forbidden")

    def _must_be_worth_it(self, tokens: int) -> None:
        if tokens < self._policy.min_tokens:
            raise Degraded("too_small")
        if not self.pace.is_worth_saving(tokens):
            raise Degraded("not_worth_it")

    async def _fingerprint(self) -> Fingerprint:
        props = await self._server.props()  # now: it may be another server than a moment ago
        model = self._policy.model or Path(props.model)
        return await _off_loop(lambda: fingerprint(props, model))

    async def _written(self, slot: int, name: str, tokens: int) -> Moved:
        """Have the server write the file *name*, and see that it is what was meant."""
        moved = await self._server.save(slot, name)
        if abs(moved.tokens - tokens) > _UNLIKE:
            raise Degraded("slot_changed", f"{moved.tokens} tokens, not {tokens}")
        try:
            size = await _off_loop(lambda: self._shelf.arrived(name, moved.size))
        except Degraded as error:
            self._broken = error.reason
            _log.error("kv.folder_mismatch", reason=why_of(error))
            raise
        return moved._replace(size=size)


async def _off_loop(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
