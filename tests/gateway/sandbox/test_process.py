from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from secrets import token_hex

import anyio
import pytest

from gateway.sandbox import ProcessSandbox, jail
from tests.gateway.sandbox.conftest import SMALL
from tests.gateway.sandbox.test_attacks import NAMED, gone


@pytest.fixture(params=["walled", "trusting"])
def sandbox(request: pytest.FixtureRequest) -> ProcessSandbox:
    found: ProcessSandbox = request.getfixturevalue(request.param)
    return found


async def test_a_program_that_ends_well_is_ok(sandbox: ProcessSandbox) -> None:
    ran = await sandbox.run("import sys; print('caf\u00e9'); print('hm', file=sys.stderr)")

    assert (ran.ended, ran.out, ran.err) == ("ok", "caf\u00e9\n", "hm\n")


async def test_a_program_that_raises_has_failed_and_tells_where(sandbox: ProcessSandbox) -> None:
    ran = await sandbox.run("def f():\n    return 1 / 0\nf()")

    assert ran.ended == "failed"
    assert "line 2, in f" in ran.err
    assert "ZeroDivisionError" in ran.err


@pytest.mark.parametrize("program", ["def f(:", "\udc80", "import os; os.abort()", "\0"])
async def test_what_is_no_program_has_failed(sandbox: ProcessSandbox, program: str) -> None:
    assert (await sandbox.run(program)).ended == "failed"


async def test_there_is_nothing_to_read(sandbox: ProcessSandbox) -> None:
    ran = await sandbox.run("import sys; print(repr(sys.stdin.read()))")

    assert ran.out == "''\n"


async def test_a_program_may_use_files_processes_and_threads(sandbox: ProcessSandbox) -> None:
    program = """
import concurrent.futures, subprocess, sys, tempfile
with tempfile.NamedTemporaryFile("w+") as file, concurrent.futures.ThreadPoolExecutor(2) as pool:
    file.write("6"); file.seek(0)
    print(list(pool.map(int, file.read())))
print(subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, text=True).stdout)
"""
    ran = await sandbox.run(program)

    assert (ran.ended, ran.out.split()) == ("ok", ["[6]", "7"])


async def test_what_was_written_before_the_time_was_up_is_told() -> None:
    sandbox = ProcessSandbox(replace(SMALL, seconds=3), trusted=True)
    ran = await sandbox.run("print('begun', flush=True)\nwhile True: pass")

    assert (ran.ended, ran.out) == ("timeout", "begun\n")


async def test_long_output_keeps_its_start_and_its_end(sandbox: ProcessSandbox) -> None:
    ran = await sandbox.run("print('start', '-' * 9000, 'end')")

    assert ran.ended == "ok"
    assert ran.out.startswith("start")
    assert ran.out.endswith("end\n")
    assert len(ran.out) < 4200


async def test_a_program_longer_than_a_pipe_is_run_whole(sandbox: ProcessSandbox) -> None:
    ran = await sandbox.run(f"{'#' * 300_000}\nprint('end')")

    assert ran.out == "end\n"


async def test_nothing_stays_behind(
    sandbox: ProcessSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    await sandbox.run("open('left', 'w').write('x')")

    assert os.listdir(tmp_path) == []  # noqa: PTH208


async def test_who_gives_up_waiting_ends_the_program(
    sandbox: ProcessSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    name = token_hex(6)
    with anyio.move_on_after(0.4) as scope:
        await sandbox.run(f"{NAMED}\ncall_yourself({name!r})\nimport time; time.sleep(9)")

    assert scope.cancelled_caught
    assert await gone(name)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


async def test_a_child_left_behind_does_not_hold_up_the_answer(sandbox: ProcessSandbox) -> None:
    name = token_hex(6)
    began = anyio.current_time()
    program = (
        f"{NAMED}\nimport os, time\nif os.fork() == 0: call_yourself({name!r}); time.sleep(30)"
    )
    ran = await sandbox.run(program)

    assert ran.ended == "ok"
    assert anyio.current_time() - began < 15
    assert await gone(name)


async def test_only_so_many_run_at_once() -> None:
    sandbox = ProcessSandbox(SMALL, at_once=1, trusted=True)
    program = "import time; print(time.monotonic()); time.sleep(0.1); print(time.monotonic())"
    spans: list[tuple[float, ...]] = []

    async def run() -> None:
        spans.append(tuple(map(float, (await sandbox.run(program)).out.split())))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(run)

    spans.sort()
    assert all(first[1] <= then[0] for first, then in pairwise(spans))


async def test_where_no_walls_can_be_put_up_nothing_is_run(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(replace(SMALL, files=0))
    marker = tmp_path / "ran"
    ran = await sandbox.run(f"open({str(marker)!r}, 'w')")

    assert ran.ended == "unavailable"
    assert ran.err.startswith("The program was not run: ")
    assert not marker.exists()


async def test_an_interpreter_that_is_gone_makes_it_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")

    assert (await ProcessSandbox(SMALL, trusted=True).run("")).ended == "unavailable"


def test_the_script_that_puts_up_walls_stands_alone() -> None:
    source = Path(jail.__file__).read_text("utf-8")

    assert "import gateway" not in source
    assert "from gateway" not in source
    assert os.access(jail.__file__, os.R_OK)
