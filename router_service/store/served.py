"""Has the engine decide by what a fit has found, whichever process had it served."""

from __future__ import annotations

from typing import Protocol

import anyio.to_thread
import structlog

from router_service.parameters import SettingsT, applied
from router_service.routers.settings import RoutersSettings
from router_service.store.fits import FitTable, Kept

_log = structlog.get_logger()


class Tunes(Protocol):
    """What decides by settings."""

    def tune(self, settings: RoutersSettings) -> None:
        """Decide by *settings* from now on."""
        ...


class Served:
    """Follows *fits* for *engine*; where none is served it is as *stated*.

    Attributes:
        kept: What is served here; None: what is stated.
    """

    def __init__(self, fits: FitTable, engine: Tunes, stated: RoutersSettings) -> None:
        self.fits = fits
        self._engine = engine
        self._stated = stated
        self._standing: tuple[int, ...] = ()
        self.kept: Kept | None = None

    async def follow(self) -> None:
        """Serve what is to be; called by one at a time, and while nothing is learnt.

        Raises:
            DatabaseLost: Nobody knows what that is.
        """
        standing = await self.fits.standing()
        if standing == self._standing:
            return
        kept = await self.fits.served()
        if (kept and kept.revision) != (self.kept and self.kept.revision):
            settings = applied(self._stated, None if kept is None else kept.found)
            with anyio.CancelScope(shield=True):  # the thread would go on
                await anyio.to_thread.run_sync(self._engine.tune, settings)
            _log.info("fit.served", revision=kept and kept.revision, by=kept and kept.by)
        self.kept, self._standing = kept, standing

    def settings(self, stated: SettingsT) -> SettingsT:
        """Return *stated* with what is served in its place."""
        return applied(stated, None if self.kept is None else self.kept.found)
