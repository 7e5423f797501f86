"""Fits the router of this process, and has all that share its database serve what is better."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Protocol

import anyio
import anyio.to_thread
import structlog
from pydantic import Field, model_validator

from router_service.contract import Observation
from router_service.groundwork.database import DatabaseLost
from router_service.groundwork.section import Section
from router_service.settings import RouterSettings
from router_service.store.fits import Kept
from router_service.store.served import Served
from router_service.times import none_to_come
from techniques.core.json import JsonObject

if TYPE_CHECKING:
    from router_service.fitting.report import Proposal  # numpy takes long to import

LONGEST_NAME: Final = 200
SCHEDULE: Final = "schedule"
"""Who has a fit served that nobody asked for."""
_HOUR_S: Final = 3_600.0
_MOST: Final = 10_000
"""Rows: more take more memory, and tell little that is new."""

_log = structlog.get_logger()


class Busy(Exception):
    """A fit is under way."""


class FitForm(Section):
    """What is asked: whether what is found is served, and who says so.

    ``check``: if it is no worse than what is served; ``never``: it is only told of; ``force``: it
    is, whatever the check says, and then who says so must be named.
    """

    promote: Literal["check", "never", "force"] = "check"
    by: str = Field("", max_length=LONGEST_NAME, pattern=r"^[^\x00]*$")

    @model_validator(mode="after")
    def _is_signed(self) -> FitForm:
        if self.promote == "force" and not self.by.strip():
            raise ValueError('by: who forces a promotion is named: {"promote": "force", "by": …}')
        return self


class Learns(Protocol):
    """What keeps the router up with its database."""

    async def refresh(self) -> int:
        """Learn what is new and serve what is to be served; return how many rows were new."""
        ...


class Rows(Protocol):
    """Where what was observed is kept."""

    async def recent(self, most: int) -> list[Observation]:
        """Return those that were written last."""
        ...


class Fitter:
    """Fits by *settings*, of *rows*, for *served*."""

    def __init__(
        self, settings: RouterSettings, rows: Rows, served: Served, learner: Learns
    ) -> None:
        self._settings = settings
        self._rows = rows
        self._served = served
        self._learner = learner
        self._turn = anyio.Lock()
        self._last: JsonObject | None = None

    async def fit(self, asked: FitForm) -> JsonObject:
        """Fit once, and return the report.

        Raises:
            Busy: Another is under way.
            DatabaseLost: It did not come to an end.
        """
        try:
            self._turn.acquire_nowait()
        except anyio.WouldBlock:
            raise Busy("a fit is under way; ask again when it is done") from None
        try:
            return await self._fit(asked)
        finally:
            self._turn.release()

    async def run(self) -> None:
        """Fit every ``router.learning.fit_every_h`` hours, until cancelled."""
        pause = self._settings.learning.fit_every_h * _HOUR_S
        while pause:
            await anyio.sleep(pause)
            try:
                await self.fit(FitForm(by=SCHEDULE))
            except (Busy, DatabaseLost) as error:
                _log.warning("fit.missed", reason=str(error))
            except Exception:  # noqa: BLE001 - one of the boundaries: a service goes on
                _log.exception("fit.failed")

    async def _fit(self, asked: FitForm) -> JsonObject:
        from router_service.fitting.proposing import propose  # numpy takes long to import

        await self._learner.refresh()
        now, settings = datetime.now(UTC), self._served.settings(self._settings)
        rows = none_to_come(await self._rows.recent(_MOST), now.timestamp())
        left: list[bool] = []  # by who waits for the thread: it ends soon then
        fits = partial(propose, rows, settings, now.isoformat(), lambda: bool(left))
        try:
            found = await anyio.to_thread.run_sync(fits, abandon_on_cancel=True)
        finally:
            left.append(True)
        report = _report(settings.type, len(rows), asked, found)
        if found.found is not None and report["served"]:
            kept = await self._served.fits.keep(found.found, report, asked.by, now.timestamp())
            report["revision"] = kept
            await self._learner.refresh()
        self._last = report
        _log.info("fit.done", **{name: report[name] for name in ("served", "why", "rows", "by")})
        return report

    async def withdraw(self, by: str) -> JsonObject | None:
        """Go back to what was served before, and tell what is now; None: there is nothing to.

        Raises:
            DatabaseLost: Nobody knows.
        """
        fits = self._served.fits
        kept = await fits.served()
        if kept is None:
            return None
        await fits.withdraw(kept.revision, by, datetime.now(UTC).timestamp())
        await self._learner.refresh()
        return {"withdrawn": kept.revision, "served": _told(self._served.kept)}

    async def told(self) -> JsonObject:
        """Return what is served here, the report of the last fit here, and who did what.

        Raises:
            DatabaseLost: Nobody knows.
        """
        return {
            "router": self._settings.type,
            "served": _told(self._served.kept),
            "last": self._last,
            "history": await self._served.fits.history(),
        }


def _report(router: str, rows: int, asked: FitForm, found: Proposal) -> JsonObject:
    forced = asked.promote == "force" and found.found is not None
    return {
        "router": router,
        "rows": rows,
        "promote": asked.promote,
        "by": asked.by,
        "passed": found.promoted,
        "served": forced or (asked.promote == "check" and found.promoted),
        "why": found.why,
        "revision": None,
        **found.figures,
        "found": None if found.found is None else found.found.model_dump(mode="json"),
    }


def _told(kept: Kept | None) -> JsonObject | None:
    if kept is None:
        return None
    found = kept.found.model_dump(mode="json")
    told = {name: it for name, it in kept.report.items() if name != "found"}
    return {
        "revision": kept.revision,
        "at": kept.at,
        "by": kept.by,
        "found": found,
        "report": told,
    }
