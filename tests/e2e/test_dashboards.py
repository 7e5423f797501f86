"""Every panel, and every rule, asked of a real Prometheus that has scraped a gateway at work."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from typing import Final

import pytest
import yaml

from docs.dashboards.__main__ import FOLDER, PAGES, main
from docs.dashboards.panels import Dashboard
from docs.generate import metric_names
from techniques.core.json import JsonObject
from tests.e2e.traffic import METRICS_TOKEN, Traffic, answers, config
from tests.fakes.gateway import Gateway
from tests.fakes.upstream import ScriptedUpstream, dead_port
from tests.patience import eventually
from tests.services.prometheus import BINARY, RULES, Prometheus
from tests.services.valkey import Valkey

DEPLOY: Final = FOLDER.parents[1]
TRAFFIC_S: Final = 14.0
NAME: Final = re.compile(r"\b((?:lockgate|gen_ai)_\w+)\b")
LABELS: Final = {"gen_ai_request_model"}
SUFFIX: Final = re.compile(r"_(bucket|sum|count)$")
installed = pytest.mark.skipif(BINARY is None, reason="Prometheus is not installed")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("seen")
    (folder / "prometheus").mkdir()
    with ScriptedUpstream() as upstream, Valkey() as store:
        upstream.chooses(answers)
        held, dead = dead_port()
        with held, Gateway(folder, config(upstream.port, dead, store.url)) as gateway:
            target = f"127.0.0.1:{gateway.port}"
            with Prometheus(folder / "prometheus", target, METRICS_TOKEN) as server:
                assert eventually(lambda: server.scrapes() >= 2)  # a rate needs the zero before
                Traffic(gateway.port, TRAFFIC_S).run()
                yield server


def substituted(expr: str) -> str:
    """Return *expr* as Grafana would ask it."""
    chosen = {"$instance": ".*", "$__rate_interval": "10s", "$__range": "30s"}
    for name, value in chosen.items():
        expr = expr.replace(name, value)
    assert "$" not in expr
    return expr


@installed
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.uid)
def test_no_panel_is_empty(prometheus: Prometheus, page: Dashboard) -> None:
    empty = [
        f"{panel.title}: {query.expr}"
        for panel in page.panels()
        for query in panel.queries
        if not prometheus.finite(
            substituted(query.expr),
            None if panel.kind in {"bargauge", "piechart"} else TRAFFIC_S,
        )
    ]

    assert empty == []


@installed
def test_every_rule_is_reckoned_and_none_fails(prometheus: Prometheus) -> None:
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]

    assert {rule["health"] for rule in rules} == {"ok"}
    recorded = [rule["name"] for rule in rules if rule["type"] == "recording"]
    assert len(recorded) == 8
    assert [name for name in recorded if not prometheus.finite(name, None)] == []


@installed
def test_what_alerts_look_at_is_there(prometheus: Prometheus) -> None:
    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    names = {name for rule in rules for name in NAME.findall(rule["query"])}

    assert len(names) > 15
    assert [name for name in sorted(names) if not prometheus.finite(f"count({name})", None)] == []


@installed
def test_a_bucket_leads_to_a_request(prometheus: Prometheus) -> None:
    now = time.time()
    name = "gen_ai_server_request_duration_seconds_bucket"
    found = prometheus.ask("query_exemplars", query=name, start=now - 60, end=now)

    assert found
    assert all(set(example["labels"]) == {"trace_id"} for example in found[0]["exemplars"])


@installed
def test_rules_fire_when_they_should() -> None:
    done = subprocess.run(
        ["promtool", "test", "rules", str(DEPLOY / "prometheus" / "tests" / "rules.yml")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@installed
def test_the_configuration_is_one() -> None:
    file = DEPLOY / "prometheus" / "prometheus.yml"
    done = subprocess.run(
        ["promtool", "check", "config", str(file)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def alerts() -> list[JsonObject]:
    groups = yaml.safe_load((RULES / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_every_alert_says_what_to_do_and_is_tested() -> None:
    tested = (DEPLOY / "prometheus" / "tests" / "rules.yml").read_text()

    for rule in alerts():
        assert set(rule["annotations"]) == {"summary", "action"}, rule["alert"]
        assert rule["labels"].keys() == {"severity"}
        assert rule["alert"] in tested


def test_panels_and_rules_ask_for_metrics_that_there_are() -> None:
    known = metric_names()
    asked = [query.expr for page in PAGES for panel in page.panels() for query in panel.queries]
    asked += [file.read_text() for file in sorted(RULES.glob("*.yml"))]

    names = {SUFFIX.sub("", name) for text in asked for name in NAME.findall(text)} - LABELS
    assert sorted(names - known) == []


def test_the_files_of_the_dashboards_are_up_to_date() -> None:
    assert main(["--check"]) == 0
    names = {f"{page.uid.removeprefix('lockgate-')}.json" for page in PAGES}
    assert {file.name for file in FOLDER.iterdir()} == names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.uid)
def test_panels_lie_beside_each_other_and_explain_themselves(page: Dashboard) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in page.json()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
    for panel in page.panels():
        assert panel.about.endswith((".", "?")), panel.title
    titles = [panel.title for panel in page.panels()]
    assert len(set(titles)) == len(titles)
