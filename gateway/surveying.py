"""Asks providers what they have, where names of models end in ``*``: so that it can be listed.

It is done in the background, now and then; nobody who lists models waits for it. What is not told
is not listed, and served all the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio
import structlog

from gateway.clock import loop_time
from gateway.config import Config
from gateway.upstream.account import Account
from gateway.upstream.offered import offered
from gateway.upstreams import Upstreams
from techniques.core.errors import UpstreamFailed
from techniques.core.groups import task_group

_LOOK_S: Final = 2.0
_WITHIN_S: Final = 10.0
_AGAIN_S: Final = 60.0
_OLD_S: Final = 86_400.0
"""What was told is listed for so long, although it cannot be asked for anew."""
_MOST: Final = 1000
_OK: Final = 200

_log = structlog.get_logger()


@dataclass(slots=True)
class _Asked:
    """When *account* is to be asked again, and when it told last; ``failed`` times in a row."""

    account: Account
    due: float
    told_at: float
    failed: int = 0


class Survey:
    """Keeps what accounts offer as fresh as the configuration wants it."""

    def __init__(self, current: Callable[[], Upstreams]) -> None:
        self._current = current
        self._asked: dict[str, _Asked] = {}

    async def serve(self) -> None:
        """Ask whoever is due, until cancelled."""
        while True:
            await self.look()
            await anyio.sleep(_LOOK_S)

    async def look(self) -> None:
        """Ask those that are due, all at once; each has ten seconds."""
        upstreams, now = self._current(), loop_time()
        async with task_group() as group:
            for name in surveyed(upstreams.config):
                account, asked = upstreams.accounts[name], self._asked.get(name)
                if asked is None or asked.account is not account:
                    asked = self._asked[name] = _Asked(account, now, now)
                if asked.due <= now:
                    group.start_soon(self._ask, name, asked, upstreams)

    async def _ask(self, name: str, asked: _Asked, upstreams: Upstreams) -> None:
        config, why = upstreams.config, ""
        try:
            told = await offered(
                upstreams.transports[name], config.providers[name].dialect, _WITHIN_S
            )
            names = told.names if told.status == _OK else None
            why = "" if names is not None else f"it answers {told.status}, without a list"
        except UpstreamFailed as failure:
            names, why = None, failure.message
        except Exception:  # noqa: BLE001 - one of the boundaries: a list is not worth the process
            _log.exception("survey.failed", provider=name)
            names, why = None, "the gateway has failed"
        now = loop_time()
        if names is not None:
            asked.account.offered = names[:_MOST]
            asked.due, asked.told_at, asked.failed = now + config.upstream.list_s, now, 0
            return
        if not asked.failed:
            _log.info("models.not_listed", provider=name, reason=why)
        asked.due = now + min(_AGAIN_S * 2**asked.failed, config.upstream.list_s)
        asked.failed = min(asked.failed + 1, 16)
        if now - asked.told_at > _OLD_S:
            asked.account.offered = ()


def surveyed(config: Config) -> Iterator[str]:
    """Yield the providers that are asked: those of which models are served by any name."""
    if not config.upstream.list_s:
        return
    rows = [row for row in config.models if row.name.endswith("*")]
    for name in dict.fromkeys(row.provider for row in rows if (row.model or "*").endswith("*")):
        row = config.providers[name]
        has_key = row.api_key is None or row.api_key.get_secret_value().strip()
        if row.simulated is None and has_key:
            yield name


@asynccontextmanager
async def surveying(current: Callable[[], Upstreams]) -> AsyncGenerator[None, None]:
    """Keep what the accounts of *current* offer fresh, until left."""
    async with task_group() as group:
        group.start_soon(Survey(current).serve)
        try:
            yield
        finally:
            group.cancel_scope.cancel()
