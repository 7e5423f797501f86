"""Reloads under traffic, with real processes: nothing is lost, nothing is cut, and all follow."""

from __future__ import annotations

import os
import pty
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest
import yaml

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, Gateway, hashed
from tests.patience import eventually
from tests.services.valkey import Valkey

ROOT = Path(__file__).parents[2]
ASKED = [{"role": "user", "content": "What is 17 * 23?"}]
KEY_ROWS = [{"name": name, "hash": hashed(key)} for name, key in KEYS.items()]
MODEL = {"name": "small", "provider": "p", "model": "sim-small"}


def settings(speed: float = 0, workers: int = 1, **sections: Json) -> dict[str, Json]:
    return {
        "server": {"port": 0, "workers": workers},
        "providers": {"p": {"dialect": "openai_chat", "simulated": {"speed": speed}}},
        "models": [MODEL],
        "database": {"url": "none"},
        **sections,
    }


def priced(dollars: float) -> dict[str, Json]:
    return {**MODEL, "price": {"input": 0, "output": 0, "per_request": dollars}}


def write(gateway: Gateway, folder: Path, config: Mapping[str, Json] | str) -> None:
    """Replace the file of *gateway* as an editor does: at once, by another."""
    text = config if isinstance(config, str) else yaml.safe_dump(dict(config))
    (folder / "new.yaml").write_text(text)
    (folder / "new.yaml").replace(folder / "lockgate.yaml")
    assert gateway.process.poll() is None


def admin(gateway: Gateway, method: str = "POST") -> Reply:
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    return Exchange(gateway.port, request("/admin/reload", None, headers, method)).whole()


def asking(gateway: Gateway, key: str = "k1", **fields: Json) -> Exchange:
    body = orjson.dumps({"model": "small", "messages": ASKED, **fields})
    headers = {"content-type": "application/json", "x-api-key": KEYS[key]}
    return Exchange(gateway.port, request("/v1/chat/completions", body, headers))


def ended_well(gateway: Gateway, **fields: Json) -> str:
    """Return how one call ended: ``ok``, or what was wrong with it."""
    with asking(gateway, **fields) as exchange:
        if not fields.get("stream"):
            reply = exchange.whole()
            is_whole = reply.status == 200 and b'"finish_reason":"stop"' in reply.body
            return "ok" if is_whole else f"{reply.body!r}"
        events = list(exchange.events())
        return "ok" if events[-1].data == "[DONE]" else f"cut after {len(events)}"


@contextmanager
def traffic(gateway: Gateway, streams: int = 4, calls: int = 2) -> Iterator[Callable[[], int]]:
    """Keep calls going; all of them must end well. Gives how many have ended so far."""
    over, ends = threading.Event(), Counter[str]()

    def go_on(fields: dict[str, Json]) -> None:
        while not over.is_set():
            ends[ended_well(gateway, **fields)] += 1

    kinds: list[dict[str, Json]] = [{"stream": True}] * streams + [{}] * calls
    with ThreadPoolExecutor(len(kinds)) as pool:
        futures: list[Future[None]] = [pool.submit(go_on, fields) for fields in kinds]
        try:
            yield lambda: sum(ends.values())
        finally:
            over.set()
        for future in futures:
            future.result()
    assert set(ends) == {"ok"}, ends


def names(gateway: Gateway) -> list[str]:
    headers = {"x-api-key": KEYS["k1"]}
    reply = Exchange(gateway.port, request("/v1/models", None, headers, "GET")).whole()
    return [row["id"] for row in reply.json["data"]]


def test_a_hundred_reloads_under_load_lose_nothing_and_cut_no_stream(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(speed=10, keys=KEY_ROWS)) as gateway, traffic(gateway) as done:
        assert eventually(lambda: done() > 5)
        sizes = []
        for number in range(100):
            extra = {"name": f"extra-{number}", "provider": "p"}
            rows = {"p": {"dialect": "openai_chat", "simulated": {"speed": 10, "seed": number}}}
            changed = settings(models=[priced(number), extra], keys=KEY_ROWS, providers=rows)
            write(gateway, tmp_path, changed)
            told = admin(gateway)
            assert (told.status, told.json["epoch"]) == (200, number + 2), told.body
            assert names(gateway) == ["small", f"extra-{number}"]
            sizes.append(gateway.memory())
        before = done()
        cost = asking(gateway).whole().headers["x-lockgate-cost-usd"]
        assert eventually(lambda: done() > before + 10)

    assert cost == "99"
    assert sizes[-1] - sizes[20] < 24 * 2**20, sizes


def test_streams_that_are_open_outlive_what_they_were_begun_with(tmp_path: Path) -> None:
    other = {"q": {"dialect": "openai_chat", "simulated": {}}}
    models = [{"name": "new", "provider": "q"}]
    with (
        Gateway(tmp_path, settings(speed=0.5, keys=KEY_ROWS)) as gateway,
        asking(gateway, stream=True) as exchange,
    ):
        events = exchange.events()
        first = next(events)
        write(gateway, tmp_path, settings(providers=other, models=models, keys=KEY_ROWS[1:]))
        told = admin(gateway).json
        refused = asking(gateway).whole().status
        unknown = asking(gateway, key="k2").whole().status
        rest = list(events)

    assert first.data
    assert set(told["changed"]) >= {"providers.p", "models.small", "keys.k1"}
    assert (refused, unknown) == (401, 404)
    assert rest[-1].data == "[DONE]"
    assert len(rest) > 5


def test_an_invalid_file_changes_nothing_however_it_is_told(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(keys=KEY_ROWS)) as gateway, traffic(gateway):
        for broken in ("models: [", "models: [{name: x}]", "nothing: here"):
            write(gateway, tmp_path, broken)
            assert admin(gateway).status == 422
        gateway.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: '"cause": "signal"' in gateway.log)
        assert names(gateway) == ["small"]
        told = admin(gateway, "GET").json
        write(gateway, tmp_path, settings(keys=KEY_ROWS, models=[MODEL, {**MODEL, "name": "b"}]))
        gateway.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: names(gateway) == ["small", "b"])

    assert (told["epoch"], told["outcome"]) == (1, "refused")


def counted(gateway: Gateway, outcome: str) -> float:
    """Return how many reloads ended so, in all workers."""
    metrics = Exchange(gateway.port, request("/metrics", None, {}, "GET")).whole().body.decode()
    rows = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if line[:1] not in ("#", ""))
    return float(rows[f'lockgate_config_reloads_total{{outcome="{outcome}"}}'])


def test_a_signal_that_changes_nothing_is_counted_and_shown_by_every_worker(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(workers=2, keys=KEY_ROWS)) as gateway:
        write(gateway, tmp_path, "models: [")
        gateway.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: counted(gateway, "refused") == 2)
        shown = [admin(gateway, "GET").json for _ in range(12)]
        write(gateway, tmp_path, settings(keys=KEY_ROWS, models=[MODEL, {**MODEL, "name": "b"}]))
        gateway.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: counted(gateway, "applied") == 2)
        then = [admin(gateway, "GET").json["outcome"] for _ in range(12)]

    assert {(one["outcome"], bool(one["errors"])) for one in shown} == {("refused", True)}
    assert set(then) == {"applied"}


@pytest.mark.parametrize("by", ["signal", "admin"])
def test_every_worker_follows_and_one_that_is_replaced_has_what_the_others_have(
    tmp_path: Path, by: str
) -> None:
    def everywhere() -> bool:
        return gateway.log.count('"config.applied"') == 2

    with Gateway(tmp_path, settings(workers=2, keys=KEY_ROWS)) as gateway:
        with traffic(gateway, streams=2, calls=1):
            changed = settings(keys=KEY_ROWS, models=[MODEL, {**MODEL, "name": "b"}])
            write(gateway, tmp_path, changed)
            if by == "admin":
                assert admin(gateway).status == 200
            else:
                gateway.process.send_signal(signal.SIGHUP)
            assert eventually(everywhere)
            write(gateway, tmp_path, "server: {host: 2026-13-45}")
            assert admin(gateway).status == 422
            refused = gateway.log.count('"config.refused"')
            gateway.process.send_signal(signal.SIGHUP)
            assert eventually(lambda: gateway.log.count('"config.refused"') > refused)
        killed = gateway.workers()[0]
        os.kill(killed, signal.SIGKILL)
        assert eventually(lambda: len(set(gateway.workers()) - {killed}) == 2)
        assert eventually(gateway.ready)
        assert [names(gateway) for _ in range(12)] == [["small", "b"]] * 12


def test_another_replica_follows_also_where_its_file_comes_later(
    tmp_path: Path, valkey: Valkey
) -> None:
    store = {"redis": valkey.url, "prefix": "reloads"}
    usual = settings(keys=KEY_ROWS, store=store)
    changed = settings(keys=KEY_ROWS, store=store, models=[MODEL, {**MODEL, "name": "b"}])
    here, there, late = (tmp_path / name for name in ("here", "there", "late"))
    for folder in (here, there, late):
        folder.mkdir()
    with (
        Gateway(here, usual) as one,
        Gateway(there, usual) as two,
        Gateway(late, usual) as three,
        traffic(two, streams=2, calls=1),
    ):
        write(two, there, changed)
        write(one, here, changed)
        told = admin(one).json
        assert eventually(lambda: names(two) == ["small", "b"])
        assert names(three) == ["small"]
        write(three, late, changed)
        assert eventually(lambda: names(three) == ["small", "b"])
        hashes = [admin(gateway, "GET").json["hash"] for gateway in (one, two, three)]

    assert hashes == [told["hash"]] * 3
    assert '"cause": "replica"' in two.log


def windows(gateway: Gateway) -> dict[str, float]:
    """Return what is left of each window of the account."""
    (pool,) = [
        it for it in gateway.get("/v1/windows", ADMIN_TOKEN).json["pools"] if "account" in it
    ]
    return {it["window"]: it["level"] for it in pool["windows"]}


def test_calls_that_are_held_go_on_and_what_was_learned_of_limits_stays(tmp_path: Path) -> None:
    slow, learned, limit = {"rpm": 20, "speed": 1}, "sim-small:requests:60", 20
    row = {"dialect": "openai_chat", "simulated": slow, "limits": {"concurrency": 2}}
    rows = {"p": row}

    def stated(number: int) -> dict[str, Json]:
        return settings(providers=rows, keys=KEY_ROWS, models=[priced(number)])

    with Gateway(tmp_path, stated(0)) as gateway, ThreadPoolExecutor(6) as pool:
        assert [ended_well(gateway) for _ in range(4)] == ["ok"] * 4
        held = [pool.submit(ended_well, gateway, stream=True) for _ in range(6)]
        assert eventually(lambda: windows(gateway).get(learned, limit) < limit - 2)
        before, began = windows(gateway), time.monotonic()
        for number in range(1, 6):
            write(gateway, tmp_path, stated(number))
            assert admin(gateway).json["epoch"] == number + 1
        under_way = sum(not future.done() for future in held)
        after, took = windows(gateway), time.monotonic() - began
        ends = [future.result() for future in held]

    assert under_way > 0
    assert ends == ["ok"] * 6
    assert after.keys() == before.keys()
    assert after[learned] <= before[learned] + took * limit / 60 + 1 < limit


@pytest.mark.parametrize("workers", [1, 2])
def test_a_terminal_that_is_closed_stops_it_and_is_no_reload(tmp_path: Path, workers: int) -> None:
    (tmp_path / "lockgate.yaml").write_text(yaml.safe_dump(settings(workers=workers)))
    command = [sys.executable, "-m", "gateway.cli", "serve", "-c", "lockgate.yaml"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.environ["PYTHONPATH"] = str(ROOT)
        os.execv(sys.executable, command)
    said = b""
    while b"print(text" not in said:
        said += os.read(terminal, 4096)
    port = int(said.partition(b"127.0.0.1:")[2].split(b"\r")[0])
    assert Exchange(port, request("/readyz", None, {}, "GET")).whole().status == 200

    os.close(terminal)

    ended: list[int] = []

    def is_over() -> bool:
        found, status = os.waitpid(pid, os.WNOHANG)
        ended.extend([os.waitstatus_to_exitcode(status)] if found else [])
        return bool(found)

    assert eventually(is_over)
    assert ended == [0]
