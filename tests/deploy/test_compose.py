"""The files of Docker Compose fit their schema, the project, and each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.policy.keys import digest
from router_service.process.config import load as load_router
from tests.deploy.files import (
    COMPOSE,
    DEMO,
    PRODUCTION,
    ROOT,
    mounts,
    read,
    services,
    variables,
)
from tests.deploy.playing import traffic

CONFIG = "deploy/demo/lockgate.yaml"
ROUTER = "deploy/demo/router.yaml"
SCRAPED = {"gateway": CONFIG, "router": ROUTER}
VARIABLE = re.compile(r"\$\{(\w+)[^}]*\}")
SECRET = ("SECRET", "TOKEN", "PASSWORD", "API_KEY")
EVERY = [
    pytest.param(file, name, id=f"{file}-{name}") for file in COMPOSE for name in services(file)
]


@pytest.mark.parametrize("file", COMPOSE)
def test_a_file_is_one_of_docker_compose(file: str) -> None:
    tool = Path(sys.executable).with_name("check-jsonschema")
    if not tool.exists():
        pytest.skip("check-jsonschema is not installed: make deploy-tools")
    told = subprocess.run(
        [tool, "--builtin-schema", "vendor.compose-spec", ROOT / file],
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 0, told.stdout


@pytest.mark.parametrize("file", COMPOSE)
def test_docker_can_read_a_file(file: str) -> None:
    found = shutil.which("docker")
    if found is None or _compose(found, "version").returncode != 0:
        pytest.skip("docker compose is not installed")

    told = _compose(found, "--file", str(ROOT / file), "config", "--quiet")

    assert told.returncode == 0, told.stderr


def _compose(docker: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    needed = ("LOCKGATE_KEY_SECRET", "LOCKGATE_DATABASE_PASSWORD", "LOCKGATE_ROUTER_TOKEN")
    given = {"LOCKGATE_CONFIG": f"./{CONFIG}", **dict.fromkeys(needed, "given")}
    kept = {name: os.environ[name] for name in ("PATH", "DOCKER_CONFIG") if name in os.environ}
    return subprocess.run(
        [docker, "compose", *arguments],
        capture_output=True,
        text=True,
        env={**kept, **given},
        check=False,
    )


@pytest.mark.parametrize("file", COMPOSE)
def test_everything_that_is_mounted_is_there(file: str) -> None:
    assert [source for source, _ in mounts(file) if not (ROOT / source).exists()] == []


@pytest.mark.parametrize(("file", "name"), EVERY)
def test_a_service_has_no_more_rights_than_it_needs(file: str, name: str) -> None:
    service = services(file)[name]
    own = "build" in service

    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.keys() & {"privileged", "cap_add", "pid", "ipc", "network_mode", "devices"}
    assert name == "postgres" or service["cap_drop"] == ["ALL"]
    assert not own or service["read_only"]


@pytest.mark.parametrize(("file", "name"), EVERY)
def test_a_port_is_open_to_this_machine_only(file: str, name: str) -> None:
    ports = [
        port.replace("${LOCKGATE_PUBLISH:-", "") for port in services(file)[name].get("ports", [])
    ]

    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


@pytest.mark.parametrize(("file", "name"), EVERY)
def test_an_image_has_a_version_and_a_service_a_way_to_tell_that_it_is_well(
    file: str, name: str
) -> None:
    service = services(file)[name]
    _, _, version = service["image"].partition(":")

    assert version
    assert version != "latest"
    if name == "gateway":  # the image has one
        assert "healthcheck" not in service
    else:  # without one, or with none, `up --wait` gives up
        assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}


@pytest.mark.parametrize("file", COMPOSE)
def test_stopping_waits_for_open_answers(file: str) -> None:
    service = services(file)["gateway"]
    stated = service["environment"].get("LOCKGATE_SERVER__DRAIN_S")
    drain = float(stated or read(CONFIG)["server"]["drain_s"])

    assert float(service["stop_grace_period"].removesuffix("s")) >= drain + 5


@pytest.mark.parametrize("file", COMPOSE)
def test_the_store_and_the_database_are_out_of_reach_of_all_but_gateway_and_router(
    file: str,
) -> None:
    behind = {name for name, one in services(file).items() if "back" in one["networks"]}

    assert read(file)["networks"]["back"] == {"internal": True}
    assert behind == {"gateway", "router", "redis", "postgres"}
    assert all(services(file)[name]["networks"] == ["back"] for name in ("redis", "postgres"))


def test_the_demonstration_has_every_service_and_each_a_port_of_its_own() -> None:
    found = services(DEMO)
    ports = [port.rsplit(":", 1)[1] for one in found.values() for port in one.get("ports", [])]

    assert found.keys() == {
        *("gateway", "router", "simulator", "load", "redis", "postgres", "prometheus", "grafana"),
    }
    assert found["load"]["profiles"] == ["load"]
    assert len(set(ports)) == len(ports)


def test_the_demonstration_needs_nothing_from_its_environment() -> None:
    assert variables(DEMO) == {}
    for service, config in (("gateway", CONFIG), ("router", ROUTER)):
        assert variables(config).keys() <= services(DEMO)[service]["environment"].keys()


def test_the_secrets_of_the_demonstration_say_what_they_are() -> None:
    secrets = {
        value
        for service in services(DEMO).values()
        for name, value in service.get("environment", {}).items()
        if name.endswith(SECRET)
    }

    assert len(secrets) == 7
    assert all(value.startswith("demo-only-") for value in secrets)


def test_the_traffic_of_the_demonstration_has_its_keys() -> None:
    secret = services(DEMO)["gateway"]["environment"]["LOCKGATE_KEY_SECRET"]
    known = {row["name"]: row["hash"] for row in read(CONFIG)["keys"]}

    assert {name: digest(secret, key) for name, key in traffic().KEYS.items()} == known


def test_for_production_no_secret_has_a_value_and_none_that_is_needed_may_be_missing() -> None:
    found = variables(PRODUCTION)
    needed = {name for name, more in found.items() if more.startswith(":?")}
    silent = {name for name in found if name.endswith(SECRET)}

    assert needed == {
        *("LOCKGATE_CONFIG", "LOCKGATE_KEY_SECRET", "LOCKGATE_DATABASE_PASSWORD"),
        "LOCKGATE_ROUTER_TOKEN",
    }
    assert {found[name] for name in silent - needed} == {":-"}


def test_the_template_of_the_environment_has_every_variable_and_no_secret() -> None:
    text = (ROOT / "deploy/production.env").read_text("utf-8")
    lines = (line.partition("=") for line in text.splitlines() if line and line[0] != "#")
    stated = {name: value for name, _, value in lines}

    assert stated.keys() == variables(PRODUCTION).keys()
    assert {value for name, value in stated.items() if name.endswith(SECRET)} == {""}
    assert services(PRODUCTION)["gateway"]["env_file"] == [{"path": ".env", "required": False}]
    assert ".env" in (ROOT / ".gitignore").read_text("utf-8").split()
    assert ".env*" in (ROOT / ".dockerignore").read_text("utf-8").split()


def test_grafana_is_told_everything_that_its_files_ask_for() -> None:
    folder = ROOT / "deploy/grafana/provisioning"
    files = [str(path.relative_to(ROOT)) for path in folder.rglob("*.yml")]
    asked = {name for file in files for name in variables(file)}

    assert asked
    assert asked <= services(DEMO)["grafana"]["environment"].keys()


def test_the_first_page_of_grafana_is_there() -> None:
    page = services(DEMO)["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    (folder,) = (source for source, target in mounts(DEMO) if page.startswith(f"{target}/"))

    assert (ROOT / folder / page.rsplit("/", 1)[1]).exists()


@pytest.mark.parametrize("file", COMPOSE)
def test_every_variable_is_told_of(file: str) -> None:
    told = (ROOT / "docs/deploy.md").read_text("utf-8")

    assert [name for name in variables(file) if f"`{name}`" not in told] == []


@pytest.mark.parametrize("file", COMPOSE)
def test_the_gateway_asks_the_router_where_it_listens_with_the_token_that_it_wants(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway, router = (services(file)[name]["environment"] for name in ("gateway", "router"))
    given = {"LOCKGATE_DATABASE_PASSWORD": "given", "LOCKGATE_ROUTER_TOKEN": "a-token"}
    for name, value in router.items():
        monkeypatch.setenv(name, VARIABLE.sub(lambda match: given[match[1]], value))
    _, *named = services(file)["router"]["command"]
    served = load_router(ROOT / ROUTER if named else None)
    url = gateway.get("ROUTER_URL") or gateway["LOCKGATE_ROUTER__URL"]

    assert url == f"http://router:{served.server.port}"
    assert served.server.host == "0.0.0.0"
    assert served.router.type == "semknn"
    assert served.server.token is not None
    assert router["LOCKGATE_ROUTER_TOKEN"] in gateway.values()
    assert "postgresql+asyncpg://lockgate:" in served.database.url


def test_what_is_scraped_is_what_serves_metrics() -> None:
    jobs = read("deploy/prometheus/prometheus.yml")["scrape_configs"]
    targets = {target for job in jobs for one in job["static_configs"] for target in one["targets"]}
    ports = {name: read(file)["server"]["port"] for name, file in SCRAPED.items()}

    assert targets == {f"{name}:{port}" for name, port in ports.items()}
