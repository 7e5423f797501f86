"""A configuration that is examined, and servers that answer as they should not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gateway.config import Config, Secrets
from gateway.doctor.case import Case, Check
from gateway.doctor.examining import examine
from gateway.doctor.finding import Finding
from techniques.core.json import Json

SECRETS = Secrets("canary-key-secret-0123", "canary-admin-token-4567")
SIM: dict[str, Json] = {"dialect": "openai_chat", "simulated": {}}


def case(known: Secrets = SECRETS, **about: Any) -> Case:
    """Return a case over the simulation; a section of a configuration goes into it."""
    own = {name: about.pop(name) for name in list(about) if name not in Case.__dataclass_fields__}
    sections: dict[str, Json] = {
        "providers": {"p": SIM},
        "models": [{"name": "m", "provider": "p", "model": "sim-small"}],
        "database": {"url": "none"},
        **own,
    }
    return Case(None, Config.model_validate(sections), known, **{"within_s": 5.0, **about})


def looked(check: Check, examined: Case) -> list[Finding]:
    """Return what *check* finds."""
    return examine(examined, [("it", check)])


def bad(findings: list[Finding]) -> list[tuple[str, str]]:
    """Return what of *findings* is a warning or an error, but for how slow a busy machine is."""
    return [
        (it.level, it.what)
        for it in findings
        if it.level in ("warning", "error") and not it.what.endswith(" ms to answer")
    ]


@contextmanager
def silent() -> Iterator[int]:
    """Give the port of a server that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@contextmanager
def hoarding(port: int) -> Iterator[int]:
    """Give the port of a proxy to *port* that passes answers on when they are whole."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=_hoard, args=(listening, port), daemon=True)
        thread.start()
        yield listening.getsockname()[1]


def _hoard(listening: socket.socket, port: int) -> None:
    with suppress(OSError):
        client, _ = listening.accept()
        with client, socket.create_connection(("127.0.0.1", port)) as server:
            head = client.recv(65_536)
            server.sendall(head.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
            whole = b""
            while piece := server.recv(65_536):
                whole += piece
            client.sendall(whole)
