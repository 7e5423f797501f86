"""A service that runs beside the requests dies: so does its process, and whoever waits hears it."""

from __future__ import annotations

import os
from pathlib import Path

import orjson

from tests.fakes.gateway import Gateway
from tests.fakes.router import ROOT, RouterProcess
from tests.gateway.serving.test_serving import settings
from tests.patience import PATIENCE_S, eventually

KEEPER = "gateway.pacing.keeper", "Keeper", "serve"
FITTER = "router_service.fitting.fitter", "Fitter", "run"


def dying(folder: Path, service: tuple[str, str, str]) -> dict[str, str]:
    """Return the environment of a process whose *service* dies, once, when ``die`` is there."""
    module, owner, method = service
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import asyncio, contextlib, pathlib\n"
        f"from {module} import {owner}\n"
        f"die = pathlib.Path({str(folder / 'die')!r})\n"
        "async def serve(self, *given):\n"
        "    while True:\n"
        "        await asyncio.sleep(0.02)\n"
        "        with contextlib.suppress(FileNotFoundError):\n"
        "            die.unlink()\n"
        "            raise ZeroDivisionError('of its own')\n"
        f"{owner}.{method} = serve\n"
    )
    return {"PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))}


def told(log: str, event: str) -> list[str]:
    lines = [orjson.loads(line) for line in log.splitlines() if f'"{event}"' in line]
    return [line.get("exception", "") for line in lines]


def test_the_gateway_ends_with_the_service_and_says_why(tmp_path: Path) -> None:
    variables = dying(tmp_path / "site", KEEPER)
    with Gateway(tmp_path, settings(), variables) as gateway:
        (tmp_path / "site" / "die").touch()
        code = gateway.process.wait(PATIENCE_S)

    (why,) = told(gateway.log, "service.died")
    assert code == 1
    assert "ZeroDivisionError: of its own" in why


def test_a_worker_that_ends_so_is_replaced(tmp_path: Path) -> None:
    variables = dying(tmp_path / "site", KEEPER)
    with Gateway(tmp_path, settings(workers=2), variables) as gateway:
        before = set(gateway.workers())
        (tmp_path / "site" / "die").touch()
        assert eventually(lambda: len(set(gateway.workers()) - before) == 1)
        assert eventually(gateway.ready)
        code = gateway.stop()

    assert code == 0
    assert len(told(gateway.log, "service.died")) == 1
    assert len(told(gateway.log, "worker.died")) == 1


def test_the_router_ends_with_the_service_and_says_why(tmp_path: Path) -> None:
    variables = dying(tmp_path / "site", FITTER)
    with RouterProcess(tmp_path, variables) as router:
        (tmp_path / "site" / "die").touch()
        code = router.process.wait(PATIENCE_S)

    (why,) = told(router.log, "service.died")
    assert code == 1
    assert "ZeroDivisionError: of its own" in why
