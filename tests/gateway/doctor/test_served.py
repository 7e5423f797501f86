"""What is told of a gateway that runs, of what stands before it, and by the command as a whole."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import yaml

from gateway.config import Secrets
from gateway.doctor.served import Metrics, _forecasts, _needs, served
from gateway.doctor.through import through
from techniques.core.json import Json
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import ADMIN_TOKEN, KEY_SECRET, SECRETS, Gateway
from tests.gateway.doctor.scene import bad, case, hoarding, looked, silent
from tests.patience import PATIENCE_S, eventually

KNOWN = Secrets(KEY_SECRET, ADMIN_TOKEN)
SETTINGS: dict[str, Json] = {
    "server": {"port": 0},
    "providers": {"p": {"dialect": "openai_chat", "simulated": {"rpm": 1000}}},
    "models": [{"name": "m", "provider": "p", "model": "sim-small"}],
    "database": {"url": "none"},
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with Gateway(tmp_path_factory.mktemp("gateway"), SETTINGS) as running:
        yield running


def at(gateway: Gateway) -> str:
    return f"http://127.0.0.1:{gateway.port}"


def test_a_gateway_that_runs_tells_what_it_serves(gateway: Gateway) -> None:
    body = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": "2 + 2?"}]})
    headers = {"content-type": "application/json"}
    for _ in range(2):  # the first tells of the limits, the second is held to them
        Exchange(gateway.port, request("/v1/chat/completions", body, headers)).whole()
    found = looked(served, case(KNOWN, url=at(gateway)))

    told = [it.what for it in found]
    assert bad(found) == []
    assert told[0] == f"{at(gateway)} is ready"
    assert any(line.startswith("it serves configuration 1, ") for line in told)
    assert any("windows are known" in line for line in told)


def test_without_its_admin_token_less_is_told(gateway: Gateway) -> None:
    for known in (Secrets(None, None), Secrets(None, "wrong")):
        found = looked(served, case(known, url=at(gateway)))
        assert bad(found) == []
        assert "skipped" in [it.level for it in found]


def test_one_that_was_refused_a_reload_and_waits_for_a_restart_says_so(tmp_path: Path) -> None:
    file = tmp_path / "lockgate.yaml"
    with Gateway(tmp_path, SETTINGS) as own:
        file.write_text(yaml.safe_dump({**SETTINGS, "server": {"port": 1}}))
        own.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: "config.unchanged" in own.log)
        file.write_text("models: [")
        own.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: "config.refused" in own.log)
        found = bad(looked(served, case(KNOWN, url=at(own))))

    assert [level for level, _ in found] == ["error", "warning"]
    assert "its last reload was refused" in found[0][1]
    assert "server.port" in found[1][1]


def test_where_none_runs_that_is_bad_only_if_one_must() -> None:
    nobody = "http://127.0.0.1:1"
    assert bad(looked(served, case(KNOWN, url=nobody))) == []
    assert [level for level, _ in bad(looked(served, case(KNOWN, url=nobody, must_run=True)))] == [
        "error"
    ]


def test_what_is_no_gateway_is_said_to_be_none(gateway: Gateway) -> None:
    ((level, what), *_) = bad(looked(served, case(KNOWN, url=f"{at(gateway)}/nowhere")))

    assert (level, what.endswith("is no gateway")) == ("error", True)


def needs(calls: int, misses: int) -> str:
    return (
        "# TYPE lockgate_need_ratio histogram\n"
        f'lockgate_need_ratio_bucket{{model="m",le="+Inf"}} {calls}\n'
        f'lockgate_need_ratio_count{{model="m"}} {calls}\n'
        f'lockgate_need_ratio_sum{{model="m"}} {calls}\n'
        "# TYPE lockgate_need_misses counter\n"
        f'lockgate_need_misses_total{{model="m"}} {misses}\n'
    )


@pytest.mark.parametrize(
    ("calls", "misses", "level"),
    [(50, 40, "note"), (200, 4, "ok"), (200, 10, "ok"), (200, 11, "warning")],
)
def test_how_often_enough_was_held_is_judged_once_it_is_known(
    calls: int, misses: int, level: str
) -> None:
    assert [it.level for it in _needs(Metrics(needs(calls, misses)))] == [level]


def forecasts(below: int, above: int) -> str:
    head = "# TYPE lockgate_forecast_runs counter\nlockgate_forecast_runs_total"
    row = 'lockgate_forecast_runs_total{measure="usd",quantile="p90",below='
    return f'{head}{{measure="usd",quantile="p50",below="true"}} 0\n' + "".join(
        f'{row}"{word}"}} {count}\n' for word, count in (("true", below), ("false", above))
    )


@pytest.mark.parametrize(
    ("below", "above", "levels"), [(10, 10, []), (90, 10, ["ok"]), (79, 21, ["warning"])]
)
def test_how_well_runs_were_foretold_is_judged_once_it_is_known(
    below: int, above: int, levels: list[str]
) -> None:
    assert [it.level for it in _forecasts(Metrics(forecasts(below, above)))] == levels


def test_streams_that_come_through_are_well_and_hoarded_ones_an_error(gateway: Gateway) -> None:
    straight = looked(through, case(KNOWN, through=at(gateway)))
    with hoarding(gateway.port) as port:
        hoarded = looked(through, case(KNOWN, through=f"http://127.0.0.1:{port}"))

    assert [it.level for it in straight] == ["ok"]
    ((level, what),) = bad(hoarded)
    assert (level, "holds streams back" in what) == ("error", True)
    assert "proxy_buffering off" in hoarded[0].fix


def test_a_proxy_that_cannot_be_asked_is_told_in_time(gateway: Gateway) -> None:
    assert [it.level for it in looked(through, case(KNOWN))] == ["skipped"]
    assert [it.level for it in looked(through, case(Secrets(None, None), through="x"))] == [
        "skipped"
    ]
    with silent() as port:
        mute = case(KNOWN, through=f"http://127.0.0.1:{port}", within_s=0.5)
        assert [level for level, _ in bad(looked(through, mute))] == ["error"]
    denied = bad(looked(through, case(Secrets(None, "wrong-token"), through=at(gateway))))
    assert [level for level, _ in denied] == ["warning"]


def doctor(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway.cli", "doctor", *arguments]
    own = {"LOCKGATE_KEY_SECRET": KEY_SECRET, "LOCKGATE_ADMIN_TOKEN": ADMIN_TOKEN}
    paths = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**paths, **own, **environment},
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=_with_many_files,
    )


def _with_many_files() -> None:
    """Leave nothing to warn of, whatever this machine allows by itself."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def test_the_command_ends_with_how_bad_it_is(tmp_path: Path, gateway: Gateway) -> None:
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(SETTINGS))
    url = ("--url", at(gateway), "--through", at(gateway))
    well = doctor(tmp_path, "-c", "c.yaml", *url)
    warned = doctor(tmp_path, "-c", "c.yaml", LOCKGATE_ADMIN_TOKEN="")
    ill = doctor(tmp_path, "-c", "c.yaml", "--url", "http://127.0.0.1:1", "--json")

    assert (well.returncode, warned.returncode, ill.returncode) == (0, 1, 2), well.stdout
    assert well.stdout.endswith("nothing is wrong\n")
    assert "LOCKGATE_ADMIN_TOKEN is not set" in warned.stdout
    told = orjson.loads(ill.stdout)
    assert (told["code"], told["errors"]) == (2, 1)
    assert well.stderr == warned.stderr == ill.stderr == ""


def test_a_configuration_that_is_wrong_is_told_with_all_that_can_be_looked_at(
    tmp_path: Path,
) -> None:
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({**SETTINGS, "modles": [], "upstream": 3}))
    told = orjson.loads(doctor(tmp_path, "-c", "c.yaml", "--json").stdout)
    nothing = doctor(tmp_path, "-c", "gone.yaml")

    checks = {it["check"] for it in told["findings"]}
    errors = [it["what"] for it in told["findings"] if it["level"] == "error"]
    assert {line.partition(":")[0] for line in errors} == {"modles", "upstream"}
    assert {"configuration", "prices", "store", "machine"} <= checks
    assert nothing.returncode == 2
    assert "gone.yaml" in nothing.stdout


def test_nothing_that_hangs_keeps_it_from_its_end_and_no_secret_is_told(tmp_path: Path) -> None:
    with silent() as port:
        address = f"127.0.0.1:{port}"
        row = {"dialect": "openai_chat", "base_url": f"http://{address}/v1", "allow_private": True}
        config = {
            "providers": {"p": {**row, "api_key": "${P_KEY}"}},
            "models": [{"name": "m", "provider": "p"}],
            "store": {"redis": "${REDIS}"},
            "database": {"url": "${DATABASE}"},
        }
        (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
        began = time.monotonic()
        url = f"http://{address}"
        done = doctor(
            tmp_path,
            *("-c", "c.yaml", "--timeout", "1", "--url", url, "--through", url),
            P_KEY="sk-canary-provider",
            REDIS=f"redis://:canary-redis@{address}/0",
            DATABASE=f"postgresql://u:canary-database@{address}/x",
        )
        took = time.monotonic() - began

    assert done.returncode == 2, done.stdout + done.stderr
    assert took < PATIENCE_S
    for secret in (*SECRETS, "canary-redis", "canary-database", "sk-canary-provider"):
        assert secret not in done.stdout + done.stderr
