"""Ports that are somebody's own until the process ends."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from bench.ports import free_port

ROOT = Path(__file__).parents[2]
SAID = "from bench.ports import free_port; print(*(free_port() for _ in range(40)))"


def test_no_two_are_alike_and_the_machine_gives_none_of_them_away() -> None:
    above = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])

    own = [free_port() for _ in range(40)]

    assert len(set(own)) == 40
    assert all(port < above for port in own)
    with socket.socket() as server:
        server.bind(("127.0.0.1", own[0]))


def test_another_process_gets_others_until_this_one_ends() -> None:
    def asking() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", SAID + "; input()"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with asking() as one, asking() as other:
        assert one.stdout is not None
        assert other.stdout is not None
        ports = [*one.stdout.readline().split(), *other.stdout.readline().split()]
        one.communicate("\n")
        other.communicate("\n")

    assert len(set(ports)) == 80


def test_one_that_somebody_listens_on_is_passed_over() -> None:
    with socket.socket() as taken:
        begun = free_port()
        taken.bind(("127.0.0.1", begun + 1))
        taken.listen()

        assert free_port() > begun + 1
