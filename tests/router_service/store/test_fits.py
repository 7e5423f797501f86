"""What fits have found, in the database and in the engines of all who share it."""

from __future__ import annotations

from sqlalchemy import update

from router_service.engine import Engine
from router_service.groundwork.database import Database, opened
from router_service.learning.training import train
from router_service.parameters import Tuned, Weights
from router_service.settings import RouterSettings
from router_service.store.fits import FitTable
from router_service.store.observations import ObservationTable
from router_service.store.served import Served
from router_service.store.steps import STEPS
from router_service.store.tables import FITS
from tests.router_service.fitting.scene import ARMS, SUMS, asks, traffic, turned
from tests.router_service.store.scene import FULL, read

LINEAR = RouterSettings.model_validate({"type": "acm_linear"})
GOOD = Weights(artifact=train(traffic(600)).artifact)
BAD = Weights(artifact=turned(GOOD.artifact))


class Replica:
    """A process that shares *database*."""

    def __init__(self, database: Database) -> None:
        self.engine = Engine(LINEAR)
        self.served = Served(FitTable(database, "acm_linear"), self.engine, LINEAR)

    async def chooses(self) -> str:
        """Follow, and return what is chosen for a sum."""
        await self.served.follow()
        return self.engine.decide(asks(SUMS)).arm


async def test_what_one_has_served_all_serve_and_after_a_restart(database_url: str) -> None:
    async with opened(database_url, STEPS) as database:
        one, other = Replica(database), Replica(database)
        before = await one.chooses(), await other.chooses()
        await one.served.fits.keep(GOOD, {"why": "x"}, "ana", 5.0)
        after = await one.chooses(), await other.chooses()
        kept = other.served.kept

    async with opened(database_url, STEPS) as database:
        restarted = await Replica(database).chooses()

    assert before == ("none", "none")
    assert after == (ARMS[1], ARMS[1])
    assert restarted == ARMS[1]
    assert kept is not None
    assert (kept.by, kept.at, kept.report, kept.found) == ("ana", 5.0, {"why": "x"}, GOOD)


async def test_what_is_taken_back_gives_way_to_what_was_before(database_url: str) -> None:
    async with opened(database_url, STEPS) as database:
        replica, fits = Replica(database), FitTable(database, "acm_linear")
        await fits.keep(GOOD, {}, "ana", 1.0)
        last = await fits.keep(BAD, {}, "ben", 2.0)
        assert await replica.chooses() != ARMS[1]

        await fits.withdraw(last, "ana", 3.0)
        once = await replica.chooses()
        kept = await fits.served()
        assert kept is not None
        await fits.withdraw(kept.revision, "ana", 4.0)
        twice = await replica.chooses()
        told = [(it["by"], it["withdrawn_by"], it["withdrawn_at"]) for it in await fits.history()]

    assert (once, twice) == (ARMS[1], "none")
    assert told == [("ben", "ana", 3.0), ("ana", "ana", 4.0)]


async def _damage(database: Database, revision: int, **values: str) -> None:
    async with database.writing() as connection:
        await connection.execute(update(FITS).where(FITS.c.revision == revision).values(values))


async def test_what_is_damaged_is_not_served_and_what_was_stays(database_url: str) -> None:
    async with opened(database_url, STEPS) as database:
        running, fits = Replica(database), FitTable(database, "acm_linear")
        first = await fits.keep(GOOD, {}, "ana", 1.0)
        assert await running.chooses() == ARMS[1]
        for text in (BAD.model_dump_json(), "", "{"):
            last = await fits.keep(BAD, {}, "ben", 2.0)
            await _damage(database, last, found=text.replace("0.", "1."))

            assert await running.chooses() == ARMS[1]
            assert await Replica(database).chooses() == ARMS[1]

        await fits.withdraw(first, "ana", 3.0)
        assert await running.chooses() == "none"


async def test_a_fit_of_another_router_is_left_alone(database_url: str) -> None:
    tuned = Tuned(neighbours=3, kappa=1.0, caution=0.1)
    async with opened(database_url, STEPS) as database:
        fits = FitTable(database, "semknn")
        await fits.keep(tuned, {}, "", 1.0)

        assert await Replica(database).chooses() == "none"
        kept = await fits.served()

    assert kept is not None
    assert kept.found == tuned


async def test_a_fit_is_no_observation(database_url: str) -> None:
    async with opened(database_url, STEPS) as database:
        table = ObservationTable(database)
        await table.observe([FULL])
        await FitTable(database, "acm_linear").keep(GOOD, {}, "", 1.0)
        more = FULL.model_copy(update={"id": "later"})
        await table.observe([more])

        assert await read(table) == [FULL, more]
        assert await table.recent(1) == [more]
        assert await table.recent(9) == [FULL, more]
