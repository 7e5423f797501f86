"""The stage on which conformance tests play.

``@pytest.mark.case("SSE-01")`` says which acceptance case a test proves;
``@pytest.mark.gateway({...})`` changes the gateway's configuration for it. Gateways with the same
configuration are shared, since each takes about a second to start; with ``fresh=True`` a test has
one for itself. ``http://upstream.test`` in it stands for the scripted upstream.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from techniques.core.json import Json
from tests.conformance import invariants
from tests.conformance.stage import Stage
from tests.fakes.gateway import Gateway, settings
from tests.fakes.upstream import ScriptedUpstream, dead_port


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "case(id): the acceptance case that the test proves")
    config.addinivalue_line("markers", "gateway(changes): how the gateway is configured")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the gateway's log with a failure."""
    report = yield
    stage = getattr(item, "funcargs", {}).get("stage")
    if report.failed and isinstance(stage, Stage):
        report.sections.append(("gateway", stage.gateway.log[-4000:]))
    return report


@dataclass
class Gateways:
    """The gateways that run, by their changes to the usual configuration."""

    upstream: ScriptedUpstream
    dead: int
    folders: pytest.TempPathFactory
    owned: ExitStack
    running: dict[str, Gateway] = field(default_factory=dict)

    def with_changes(self, changes: Json) -> Gateway:
        """Return a gateway with *changes*, started if there is none."""
        key = json.dumps(changes, sort_keys=True)
        if key not in self.running or self.running[key].process.poll() is not None:
            self.running[key] = self.owned.enter_context(self.another(changes))
        return self.running[key]

    def another(self, changes: Json) -> Gateway:
        """Return a gateway with *changes* that does not run yet and is nobody else's."""
        root = f"http://127.0.0.1:{self.upstream.port}"
        placed = json.loads(json.dumps(changes).replace("http://upstream.test", root))
        config = settings(self.upstream.port, self.dead, placed)
        return Gateway(self.folders.mktemp("gateway"), config)


@pytest.fixture(scope="session")
def upstream_process() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


@pytest.fixture(scope="session")
def gateways(
    upstream_process: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateways]:
    held, dead = dead_port()
    with held, ExitStack() as owned:
        yield Gateways(upstream_process, dead, tmp_path_factory, owned)


@pytest.fixture
def stage(
    request: pytest.FixtureRequest, gateways: Gateways, upstream_process: ScriptedUpstream
) -> Iterator[Stage]:
    marker = request.node.get_closest_marker("gateway")
    upstream_process.forget()
    with ExitStack() as owned:
        changes = marker.args[0] if marker else {}
        if marker is not None and marker.kwargs.get("fresh"):
            gateway = owned.enter_context(gateways.another(changes))
        else:
            gateway = gateways.with_changes(changes)
        stage = Stage(upstream_process, gateway)
        stage.count_outcomes()
        yield stage
        for exchange in stage.received:
            exchange.leave()
        invariants.check(stage)
