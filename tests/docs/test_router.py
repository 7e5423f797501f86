"""What docs/router.md shows, typed at a router: each line does what is said behind it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from docs.generate import ROOT
from gateway.config.router import RouterConfig
from router_service.process.config import AgentCodecSettings, ProcessSettings
from router_service.process.counts import PATHS, Counts
from tests.docs.documents import blocks, command_of, commands, run
from tests.fakes.router import RouterProcess

PAGE = "docs/router.md"
TEXT = (ROOT / PAGE).read_text("utf-8")
ADDRESS = "http://127.0.0.1:8090"
SAID = re.compile(r"^(curl .*\S)\s+# (\d{3}) (.+)$")
LINES = [line for line in commands(PAGE) if not line.startswith("lockgate ")]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_line_does_what_is_said(tmp_path: Path) -> None:
    typed = 0
    with RouterProcess(tmp_path) as router:
        for line in LINES:
            said = SAID.match(line)
            if said is None:
                run(command_of(line), tmp_path)
                continue
            asked = said[1].replace(ADDRESS, router.url)
            told = run(command_of(f"{asked} --silent --write-out ' %{{http_code}}'"), tmp_path)
            body, _, status = told.rpartition(" ")
            assert status == said[2], line
            assert said[3] in body, line
            typed += 1

    assert typed == len(LINES) - 1 == len(re.findall(r"^curl ", TEXT, re.MULTILINE))


def test_what_it_says_of_configurations_can_be_configured() -> None:
    asking, serving = map(yaml.safe_load, blocks(PAGE, "yaml"))

    RouterConfig.model_validate(asking["router"])
    stated = ProcessSettings.model_validate(serving)
    assert stated.server == ProcessSettings().server
    assert stated.database == ProcessSettings().database


def test_every_path_is_told_of() -> None:
    assert [path for path in PATHS if f"{path}`" not in TEXT and f"{path}?" not in TEXT] == []


def test_every_setting_of_its_own_is_told_of() -> None:
    server = {f"server.{name}" for name in ("token", "metrics_token", "max_body", "max_import")}
    named = {*server, "database.url", "database.refresh_s", *AgentCodecSettings.model_fields}

    assert [name for name in named if f"`{name}`" not in TEXT] == []


def test_every_code_is_told_of() -> None:
    folder = ROOT / "router_service"
    sources = [
        path.read_text("utf-8") for path in (folder / "app.py", *folder.glob("process/*.py"))
    ]
    found = {
        code
        for source in sources
        for code in re.findall(r'(?:Refused|error_reply)\(\s*[\w.]+, "(\w+)"', source)
    }

    assert found
    assert [code for code in found - {"failed"} if code not in TEXT] == []


def test_every_metric_is_told_of() -> None:
    metrics = {metric.name: metric for metric in Counts().registry.collect()}
    lines = {
        line.split("`")[1]: line for line in TEXT.splitlines() if "| `lockgate_routing" in line
    }

    assert {name.removesuffix("_total") for name in lines} == metrics.keys()
    assert {name for name in lines if name.endswith("_total")} == {
        f"{metric.name}_total" for metric in metrics.values() if metric.type == "counter"
    }
