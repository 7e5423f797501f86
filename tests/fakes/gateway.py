"""The gateway as a process of its own, on a free port."""

from __future__ import annotations

import hashlib
import hmac
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import yaml

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.patience import PATIENCE_S, eventually

KEYS = {"k1": "lk-canary-one-5d7e1f20", "k2": "lk-canary-two-93ab64c8"}
KEY_SECRET = "canary-hash-secret-1f6b"
ADMIN_TOKEN = "canary-admin-token-77c2"
UPSTREAM_KEYS = {
    "oa": "sk-canary-openai-c01d",
    "an": "sk-canary-anthropic-c02d",
    "rs": "sk-canary-responses-c03d",
}
SECRETS = (*KEYS.values(), KEY_SECRET, ADMIN_TOKEN, *UPSTREAM_KEYS.values())
PRICE = {
    "input": 3,
    "output": 15,
    "cache_read": 0.3,
    "cache_write": 3.75,
    "audio_input": 30,
    "audio_output": 60,
}


def hashed(key: str) -> str:
    """Return *key* in the form that a configuration holds."""
    return "hmac-sha256:" + hmac.new(KEY_SECRET.encode(), key.encode(), hashlib.sha256).hexdigest()


def settings(port: int, dead: int, changes: Mapping[str, Json]) -> dict[str, Json]:
    """Return the usual configuration over an upstream on *port*, with *changes* merged in.

    Nobody listens on the port *dead*. A list in *changes* is added to the list that is there.
    """
    root = f"http://127.0.0.1:{port}"
    gone = f"http://127.0.0.1:{dead}/v1"
    usual: dict[str, Json] = {
        "server": {"host": "127.0.0.1", "port": 0, "max_body": "8MiB"},
        "providers": {
            "oa": {"dialect": "openai_chat", "base_url": f"{root}/v1", "api_key": "${OA_KEY}"},
            "an": {"dialect": "anthropic", "base_url": root, "api_key": "${AN_KEY}"},
            "rs": {"dialect": "openai_responses", "base_url": f"{root}/v1", "api_key": "${RS_KEY}"},
            "gone": {"dialect": "openai_chat", "base_url": gone, "api_key": "${OA_KEY}"},
        },
        "models": _models(),
        "keys": [{"name": name, "hash": hashed(key)} for name, key in KEYS.items()],
        "upstream": {"retries": 2, "backoff_s": 0.02, "breaker": 0},
        "pacing": {"mode": "off"},
    }
    for provider in usual["providers"].values():
        provider["allow_private"] = True
    return _merged(usual, changes)


def _models() -> list[Json]:
    """Return the models: the usual ones, then one for each habit that a test needs."""

    def model(name: str, price: Json = PRICE, **more: Json) -> Json:
        provider, _, rest = name.partition("-")
        row = {"name": name, "provider": provider, "model": f"real-{rest}", **more}
        return row if price is None else {**row, "price": dict(price)}

    one_system = {"developer_role": False, "many_systems": False}
    reasoning = {"max_completion_tokens": True, "temperature": False}
    return [
        {**model("oa-model"), "model": "real-oa"},
        {**model("an-model"), "model": "real-an"},
        {**model("rs-model"), "model": "real-rs"},
        model("oa-judge"),
        model("oa-strict", capabilities=one_system),
        model("oa-reason", capabilities=reasoning),
        model("oa-plain", capabilities={"developer_role": False}),
        model("oa-think", think_tags="split"),
        model("oa-free", None),
        model("oa-own", {"input": 1, "output": 2}),
        model("an-cheap", {"input": 1, "output": 1}),
        model("oa-first", {"input": 3, "output": 15}, fallbacks=["an-cheap"]),
        {**model("oa-dead"), "provider": "gone"},
    ]


def _merged(under: dict[str, Json], over: Mapping[str, Json]) -> dict[str, Json]:
    result = dict(under)
    for name, value in over.items():
        if isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = _merged(result[name], value)
        elif isinstance(value, list) and isinstance(result.get(name), list):
            result[name] = [*result[name], *value]
        else:
            result[name] = value
    return result


class Gateway:
    """A running gateway process; its files lie in *folder*, *variables* in its environment."""

    def __init__(
        self, folder: Path, config: Mapping[str, Json], variables: Mapping[str, str] | None = None
    ) -> None:
        self.config = config
        self._variables = {**_environment(), **(variables or {})}
        self.port = 0
        self._folder = folder
        self._log = folder / "output.txt"

    def __enter__(self) -> Gateway:
        file = self._folder / "lockgate.yaml"
        file.write_text(yaml.safe_dump(dict(self.config), sort_keys=False))
        command = [sys.executable, "-m", "gateway.cli", "serve", "-c", str(file)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._variables,
                cwd=self._folder,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        """The folder that the process runs in; its database is there."""
        return self._folder

    @property
    def log(self) -> str:
        """Everything the process has written so far."""
        return self._log.read_text(errors="replace")

    def stop(self) -> int:
        """Ask the process to end, wait for it and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def get(self, path: str, token: str | None = None) -> Reply:
        """Fetch *path*, with *token* as bearer."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return Exchange(self.port, request(path, None, headers, "GET")).whole()

    def memory(self) -> int:
        """Return the process's resident memory in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def worked_s(self) -> float:
        """Return the seconds of a processor that the process has used: load has no part in it."""
        figures = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(figures[11]) + int(figures[12])) / os.sysconf("SC_CLK_TCK")

    def workers(self) -> list[int]:
        """Return the ids of the processes that this one has started, oldest first."""
        own = self.process.pid
        found = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        return sorted(
            pid for pid in map(int, found) if "spawn_main" in _command(pid) and _alive(pid)
        )

    def sockets(self) -> int:
        """Return how many sockets the process has open."""
        count = 0
        for link in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed while we looked
                count += str(link.readlink()).startswith("socket:")
        return count

    def _wait_until_ready(self) -> None:
        if not eventually(self._has_started):
            raise RuntimeError(f"The gateway was not ready in time:\n{self.log}")

    def _has_started(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"The gateway did not start:\n{self.log}")
        after = self.log.partition("listening on http://127.0.0.1:")[2]
        if "\n" not in after:
            return False
        self.port = int("".join(c for c in after.partition("\n")[0] if c.isdigit()))
        return self.ready()

    def ready(self) -> bool:
        """Tell whether the gateway takes calls."""
        try:
            return self.get("/readyz").status == 200
        except OSError:
            return False


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    keys = {f"{name.upper()}_KEY": key for name, key in UPSTREAM_KEYS.items()}
    own = {"LOCKGATE_KEY_SECRET": KEY_SECRET, "LOCKGATE_ADMIN_TOKEN": ADMIN_TOKEN}
    root = Path(__file__).parents[2]
    return {**kept, **keys, **own, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(root)}


def _command(pid: int) -> str:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def _alive(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False
