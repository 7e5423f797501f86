"""What is told of the router."""

from __future__ import annotations

from pathlib import Path

import anyio

from gateway.doctor.router import router
from router_service.contract import Observation, Vector
from router_service.groundwork.database import opened
from router_service.store.observations import ObservationTable
from router_service.store.steps import STEPS
from tests.fakes.router import RouterProcess
from tests.fakes.upstream import dead_port
from tests.gateway.doctor.scene import bad, case, looked

HERE = {"type": "semknn", "embedding": {"kind": "hashed"}}


def _filled(url: str, encoder: str) -> None:
    vector = Vector(encoder=encoder, values=(1.0, 0.0))
    row = Observation(id="a", request_id="a", at=1.0, model="m", arm="none", vector=vector)

    async def fill() -> None:
        async with opened(url, STEPS) as database:
            await ObservationTable(database).observe([row])

    anyio.run(fill)


def _encoder() -> str:
    (first, *_) = looked(router, case(router=HERE))
    return first.what.rpartition(" ")[2]


def test_who_has_no_router_is_told_so() -> None:
    (found,) = looked(router, case())
    assert (found.level, "reliability.default" in found.what) == ("ok", True)


def test_one_in_the_process_tells_what_it_has_learnt_and_by_which_vectors(tmp_path: Path) -> None:
    for name, warned in ((_encoder(), False), ("another/9", True)):
        url = f"sqlite+aiosqlite:///{tmp_path}/{name.replace('/', '-')}.db"
        _filled(url, name)
        found = looked(router, case(router=HERE, database={"url": url}))

        assert any(it.what.startswith("1 observations") for it in found), found
        assert any(it.what == "fit that is served: none" for it in found)
        assert [level for level, _ in bad(found)] == ["warning"] * warned


def test_a_database_without_anything_learnt_is_no_fault(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/none.db"
    assert bad(looked(router, case(router=HERE, database={"url": url}))) == []


def test_one_far_away_is_told_of_as_it_is_or_as_gone(tmp_path: Path) -> None:
    with RouterProcess(tmp_path / "router") as far:
        found = looked(router, case(router={**HERE, "url": far.url}))
        assert bad(found) == [], found
        assert any("is there, of version 1" in it.what for it in found)
    held, port = dead_port()
    with held:
        gone = {**HERE, "url": f"http://127.0.0.1:{port}"}
        ((level, what),) = bad(looked(router, case(router=gone)))
    assert (level, "does not answer" in what) == ("error", True)


def test_an_encoder_that_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    stated = {"kind": "fastembed", "folder": str(tmp_path / "no_such")}
    found = looked(router, case(router={"type": "semknn", "embedding": stated}))
    assert [level for level, _ in bad(found)] == ["error"]
