"""Against a command that takes docker's arguments and runs the program on the spot."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from gateway.sandbox import DockerSandbox, Limits
from tests.gateway.sandbox.conftest import SHORT, SMALL

SCRIPT = """#!/bin/sh
echo "$@" >> {log}
test "$1" = run || exit 0
for last; do :; done
exec sh -c "$last"
"""


@dataclass(frozen=True)
class Docker:
    """A docker command, and what it was called with."""

    command: Path
    log: Path

    def sandbox(self, limits: Limits = SMALL) -> DockerSandbox:
        return DockerSandbox(limits, image="python:3", docker=str(self.command))

    def calls(self) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines() if line[0] != " "]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Docker(script(tmp_path, SCRIPT), tmp_path / "log")


def script(folder: Path, text: str) -> Path:
    path = folder / "docker"
    path.write_text(text.format(log=folder / "log"))
    path.chmod(0o755)
    return path


async def test_a_program_runs_in_a_container_that_is_gone_afterwards(docker: Docker) -> None:
    ran = await docker.sandbox().run("print(6 * 7)")

    assert (ran.ended, ran.out) == ("ok", "42\n")
    assert [call[:2] for call in docker.calls()] == [["run", "--rm"]]


async def test_the_container_has_no_network_no_rights_and_little_of_everything(
    docker: Docker,
) -> None:
    await docker.sandbox().run("")
    words = " ".join(docker.calls()[0])

    for wanted in (
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--user 65534:65534",
        f"--memory {SMALL.memory} --memory-swap {SMALL.memory}",
        "--pids-limit 10",
        "--pull never",
        "--ulimit cpu=20:21",
    ):
        assert wanted in words


@pytest.mark.parametrize("program", ["1 / 0", "import sys; sys.exit(125)", "import os; os.abort()"])
async def test_a_program_that_fails_has_failed(docker: Docker, program: str) -> None:
    assert (await docker.sandbox().run(program)).ended == "failed"


async def test_a_program_that_used_up_its_processor_time_was_too_slow(docker: Docker) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGXCPU)"

    assert (await docker.sandbox().run(program)).ended == "timeout"


async def test_a_container_that_goes_on_is_removed_by_its_name(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.sandbox.docker._START_S", 0.2)
    ran = await docker.sandbox(SHORT).run("import time; time.sleep(60)")

    run, removed = docker.calls()
    assert ran.ended == "timeout"
    assert removed == ["rm", "--force", run[run.index("--name") + 1]]


async def test_a_container_that_writes_without_end_is_removed(docker: Docker) -> None:
    ran = await docker.sandbox().run("while True: print('x' * 1000)")

    assert ran.ended == "failed"
    assert docker.calls()[-1][0] == "rm"


async def test_who_gives_up_waiting_has_the_container_removed(docker: Docker) -> None:
    with anyio.move_on_after(0.3) as scope:
        await docker.sandbox().run("import time; time.sleep(60)")

    assert scope.cancelled_caught
    assert docker.calls()[-1][0] == "rm"


async def test_where_docker_cannot_run_it_the_program_was_not_run(tmp_path: Path) -> None:
    command = script(tmp_path, "#!/bin/sh\necho 'no such image' >&2\nexit 125")
    ran = await DockerSandbox(SMALL, image="x", docker=str(command)).run("")

    assert (ran.ended, ran.err) == ("unavailable", "no such image\n")


async def test_where_there_is_no_docker_the_program_was_not_run(tmp_path: Path) -> None:
    sandbox = DockerSandbox(SMALL, image="x", docker=str(tmp_path / "docker"))

    assert (await sandbox.run("")).ended == "unavailable"
