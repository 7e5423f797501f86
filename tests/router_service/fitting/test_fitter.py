from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import pytest
from structlog.testing import capture_logs

from router_service.contract import Observation
from router_service.fitting.fitter import SCHEDULE, Busy, FitForm, Fitter
from router_service.groundwork.database import DatabaseLost
from router_service.parameters import SettingsT, Tuned, Weights
from router_service.settings import RouterSettings
from router_service.store.served import Served
from techniques.core.json import JsonObject
from tests.router_service.fitting.scene import traffic

HOUR_S = 3600


@dataclass
class Kept:
    """Fits that are kept in memory; the last of ``most`` ends what runs in ``scope``."""

    most: int = 1
    by: list[str] = field(default_factory=list)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def keep(self, found: Weights | Tuned, report: JsonObject, by: str, at: float) -> int:
        del found, report, at
        self.by.append(by)
        if len(self.by) == self.most:
            self.scope.cancel()
        return len(self.by)


class Serves(Served):
    """It serves nothing, and knows what is kept."""

    def __init__(self, kept: Kept) -> None:
        self.kept = None
        self.fits = kept  # type: ignore[assignment]

    def settings(self, stated: SettingsT) -> SettingsT:
        return stated


@dataclass
class Store:
    """Rows, and a learner; it is ``lost`` so many times."""

    lost: int = 0
    waits_s: float = 0.0

    async def recent(self, most: int) -> list[Observation]:
        return traffic(min(600, most))

    async def refresh(self) -> int:
        await anyio.sleep(self.waits_s)
        if self.lost:
            self.lost -= 1
            raise DatabaseLost("gone")
        return 0


def fitter(every_h: float, kept: Kept, store: Store) -> Fitter:
    stated = {"type": "acm_linear", "learning": {"fit_every_h": every_h}}
    return Fitter(RouterSettings.model_validate(stated), store, Serves(kept), store)


async def test_it_fits_as_often_as_it_is_set_to_in_the_name_of_the_schedule() -> None:
    kept, began = Kept(most=2), anyio.current_time()
    with kept.scope:
        await fitter(12, kept, Store()).run()

    assert kept.by == [SCHEDULE] * 2
    assert anyio.current_time() - began >= 24 * HOUR_S


async def test_without_a_setting_nobody_fits_unasked() -> None:
    kept = Kept()

    await fitter(0, kept, Store()).run()

    assert kept.by == []


async def test_a_night_without_the_database_is_told_and_the_next_one_is_as_ever() -> None:
    kept = Kept()
    with capture_logs() as entries, kept.scope:
        await fitter(12, kept, Store(lost=1)).run()

    assert [one["event"] for one in entries if one["log_level"] == "warning"] == ["fit.missed"]
    assert kept.by == [SCHEDULE]


async def test_one_fit_at_a_time() -> None:
    one = fitter(0, Kept(), Store(waits_s=5.0))
    async with anyio.create_task_group() as group:
        group.start_soon(one.fit, FitForm())
        await anyio.sleep(1)
        with pytest.raises(Busy):
            await one.fit(FitForm())

    assert (await one.fit(FitForm()))["rows"] == 600
