"""Programs that mean harm, behind walls."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import anyio
import pytest

from gateway.sandbox import ProcessSandbox
from gateway.sandbox.jail import HOME

NAMED = """
import ctypes
def call_yourself(name):
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
"""
"""Gives a process a name by which the test finds it."""


async def gone(name: str) -> bool:
    """Tell whether no process of the host has *name*, or soon none has, the dead being reaped."""
    for _ in range(100):
        if name not in set(_names()):
            return True
        await anyio.sleep(0.02)
    return False


def _names() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            yield path.read_text().strip()


async def test_a_fork_bomb_stays_small_and_ends(walled: ProcessSandbox) -> None:
    name = token_hex(6)
    program = f"""{NAMED}
import os, sys
call_yourself({name!r})
count = 0
while True:
    try:
        if os.fork() == 0:
            while True: pass
        count += 1
    except OSError:
        print(count)
        break
"""
    ran = await walled.run(program)

    assert ran.ended == "ok"
    assert 1 <= int(ran.out) <= 10
    assert await gone(name)


async def test_threads_are_counted_too(walled: ProcessSandbox) -> None:
    program = """
import threading, time
for _ in range(50):
    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
"""
    ran = await walled.run(program)

    assert ran.ended == "failed"
    assert "can't start new thread" in ran.err


@pytest.mark.parametrize(
    "program",
    [
        "x = bytearray(10**9)",
        "import mmap; mmap.mmap(-1, 10**9)",
        "x = []\nwhile True: x.append(' ' * 10**6)",
    ],
    ids=["at once", "shared", "bit by bit"],
)
async def test_memory_without_end_is_not_to_be_had(walled: ProcessSandbox, program: str) -> None:
    ran = await walled.run(program)

    assert ran.ended == "failed"
    assert "memory" in ran.err.lower()


async def test_a_disk_is_not_filled(walled: ProcessSandbox) -> None:
    program = """
for place in range(100):
    with open(f"/tmp/{place}", "wb") as file:
        file.write(b"x" * 500_000)
"""
    ran = await walled.run(program)

    assert ran.ended == "failed"
    assert "No space left on device" in ran.err


async def test_a_large_file_is_not_written(walled: ProcessSandbox) -> None:
    ran = await walled.run("open('/tmp/x', 'wb').write(b'x' * 2**21)")

    assert ran.ended == "failed"


@pytest.mark.parametrize("program", ["while True: pass", "import time; time.sleep(60)"])
async def test_a_program_without_end_is_ended(impatient: ProcessSandbox, program: str) -> None:
    assert (await impatient.run(program)).ended == "timeout"


async def test_who_will_not_hear_that_its_time_is_up_is_ended(impatient: ProcessSandbox) -> None:
    program = """
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True: pass
"""
    assert (await impatient.run(program)).ended == "timeout"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_output_without_end_is_ended_and_cut(walled: ProcessSandbox, stream: str) -> None:
    program = f"import sys\nwhile True: sys.{stream}.write('x' * 1000)"
    ran = await walled.run(program)

    assert ran.ended == "failed"
    assert len(ran.out) + len(ran.err) < 4200
    assert "bytes left out" in ran.out + ran.err


async def test_nothing_is_written_outside(walled: ProcessSandbox, tmp_path: Path) -> None:
    places = [tmp_path / "new", Path(__file__), Path("/usr/new"), Path("/etc/new"), Path("/new")]
    program = f"""
for place in {[str(place) for place in places]}:
    try:
        open(place, "a").write("harm")
    except OSError:
        print("no")
"""
    ran = await walled.run(program)

    assert ran.out.split() == ["no"] * len(places)
    assert not (tmp_path / "new").exists()


async def test_what_it_wrote_is_gone_for_the_next(walled: ProcessSandbox) -> None:
    visible = walled._settings["visible"]
    assert isinstance(visible, list)
    below = [Path(path).relative_to(HOME) for path in visible if path.startswith(f"{HOME}/")]
    ways = {path.parts[0] for path in below}  # to an interpreter that lies there
    await walled.run("open('note', 'w').write('x')")
    ran = await walled.run("import os; print(*os.listdir('.'), sep='\\n')")

    assert set(ran.out.splitlines()) == {"program.py", *ways}


async def test_files_of_the_host_are_not_seen(walled: ProcessSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("canary")
    secret.chmod(0o644)
    program = f"""
import os
for place in ({str(secret)!r}, "/etc/passwd", "/etc/hostname", "/proc/1/environ"):
    print(os.path.exists(place))
"""
    ran = await walled.run(program)

    assert ran.out.split() == ["False"] * 4


async def test_the_environment_holds_no_secret(
    walled: ProcessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_CANARY", "canary")
    ran = await walled.run("import os; print(dict(os.environ))")

    assert ran.ended == "ok"
    assert "canary" not in ran.out
    assert set(eval(ran.out)) <= {"HOME", "LC_CTYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}


async def test_the_gateway_is_out_of_sight(walled: ProcessSandbox) -> None:
    program = f"""
import os
try:
    print(open("/proc/{os.getpid()}/environ").read())
except OSError as error:
    print(type(error).__name__)
try:
    os.kill({os.getpid()}, 0)
except OSError as error:
    print(type(error).__name__)
print(os.getppid())
"""
    ran = await walled.run(program)

    assert ran.out.split() == ["FileNotFoundError", "ProcessLookupError", "1"]


async def test_nobody_on_the_host_is_reached_by_network(walled: ProcessSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as local:
        name = f"\0{token_hex(8)}"
        local.bind(name)
        local.listen()
        program = f"""
import socket
for family, address in ((socket.AF_INET, {listener.getsockname()!r}), (socket.AF_UNIX, {name!r})):
    with socket.socket(family) as caller:
        try:
            caller.connect(address)
            print("reached")
        except OSError:
            print("no")
"""
        ran = await walled.run(program)

    assert ran.out.split() == ["no", "no"]


async def test_a_child_that_cuts_itself_loose_does_not_outlive_the_program(
    walled: ProcessSandbox,
) -> None:
    name = token_hex(6)
    program = f"""{NAMED}
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        call_yourself({name!r})
        time.sleep(60)
    os._exit(0)
os.wait()
"""
    ran = await walled.run(program)

    assert ran.ended == "ok"
    assert await gone(name)


@pytest.mark.parametrize(
    "program",
    [
        "import os; os.setuid(0)",
        "import os; os.chroot('/tmp')",
        "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
        "import ctypes; assert ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, None) == 0",
        "import os; os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))",
        "import os; os.sethostname('x')",
    ],
)
async def test_it_has_no_rights_of_root(walled: ProcessSandbox, program: str) -> None:
    ran = await walled.run(program)

    assert ran.ended == "failed"
    assert (
        "PermissionError" in ran.err or "AssertionError" in ran.err or "AttributeError" in ran.err
    )


async def test_its_walls_are_not_taken_down_by_signals(walled: ProcessSandbox) -> None:
    program = """
import os, signal
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
    os.kill(1, number)
print("still here")
"""
    ran = await walled.run(program)

    assert (ran.ended, ran.out) == ("ok", "still here\n")


@pytest.mark.parametrize("status", [1, 124, 125, 255])
async def test_no_exit_status_passes_for_another_end(walled: ProcessSandbox, status: int) -> None:
    assert (await walled.run(f"import os; os._exit({status})")).ended == "failed"
