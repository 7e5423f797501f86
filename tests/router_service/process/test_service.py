"""The router as a process of its own: real HTTP, a real database."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from router_service.contract import Observation, RouteDecision
from router_service.process.counts import PATHS
from techniques.core.json import Json
from tests.fakes.client import Exchange, request
from tests.fakes.router import ROOT, TOKEN, RouterProcess
from tests.patience import PATIENCE_S
from tests.router_service.store.scene import FULL, observation

OPEN = {"/healthz", "/readyz", "/metrics"}
QUERY: Json = {"model": "small", "offers": [{"arm": "none"}, {"arm": "best_of_n/3"}]}


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouterProcess]:
    with RouterProcess(tmp_path_factory.mktemp("router")) as running:
        yield running


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouterProcess]:
    """A router that wants a token."""
    folder = tmp_path_factory.mktemp("closed")
    with RouterProcess(folder, {"LOCKGATE_ROUTER_TOKEN": TOKEN}) as running:
        yield running


def lines(*rows: Observation) -> bytes:
    return b"".join(row.model_dump_json(exclude_defaults=True).encode() + b"\n" for row in rows)


def test_it_decides(router: RouterProcess) -> None:
    reply = router.post("/v1/route", QUERY)
    decision = RouteDecision.model_validate_json(reply.body)

    assert (reply.status, decision.arm, decision.router) == (200, "none", "semknn")
    assert set(decision.scores) == {"none", "best_of_n/3"}


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        (b"{", "invalid_json", None),
        (b"[]", "invalid_json", None),
        (b'{"model": "a", "model": "b", "offers": [{"arm": "none"}]}', "invalid_json", "model"),
        (b'{"model": "a", "offers": [{"arm": "none"}], "lambda": NaN}', "invalid_json", None),
        (b'{"model": "a", "offers": [{"arm": "none"}], "lambda": -1}', "invalid_field", "lambda"),
        (b'{"model": "a", "offers": [{"arm": "none"}], "lambda": "1"}', "invalid_field", "lambda"),
        (b'{"model": "a", "offers": [{"arm": "none"}], "text": "x"}', "invalid_field", "text"),
        (b'{"model": "a", "offers": []}', "invalid_field", "offers"),
        (orjson.dumps({**QUERY, "offers": 1001 * [{"arm": "none"}]}), "invalid_field", "offers"),
        (b'{"model": "a\\u0000", "offers": [{"arm": "none"}]}', "invalid_field", "model"),
        (orjson.dumps({**QUERY, "model": "m" * 501}), "invalid_field", "model"),
        (orjson.dumps({**QUERY, "vector": {"encoder": "e", "values": []}}), "invalid_field", None),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "invalid_json", None),
    ],
)
def test_a_query_is_read_strictly(
    router: RouterProcess, body: bytes, code: str, param: str | None
) -> None:
    reply = router.ask("POST", "/v1/route", body)
    error = reply.json["error"]

    assert (reply.status, error["code"]) == (400, code)
    assert param is None or error["param"] == param


def test_a_body_has_its_bounds(router: RouterProcess) -> None:
    reply = router.ask("POST", "/v1/route", b'{"model": "' + b"a" * 1_100_000)

    assert (reply.status, reply.json["error"]["code"]) == (413, "too_large")


def test_what_was_observed_goes_in_and_comes_out(tmp_path: Path) -> None:
    with RouterProcess(tmp_path) as router:
        rows = [FULL, *(observation(str(number)) for number in range(350))]
        taken = router.ask("POST", "/v1/observations", lines(*rows) + b"\n")
        fitted = router.ask("POST", "/v1/fit").json
        given = router.ask("GET", "/v1/observations")
        profiles = router.ask("GET", "/v1/profiles").json["profiles"]
        metrics = router.ask("GET", "/metrics").body.decode()

    found = [Observation.model_validate_json(line) for line in given.body.splitlines()]
    assert taken.json == {"observed": 351}
    assert {row.id: row for row in found} == {row.id: row for row in rows}
    assert fitted["rows"] == 351
    assert [(it["model"], it["encoder"]) for it in profiles] == [
        ("small", ""),
        ("small", "hashed/4"),
    ]
    assert 'lockgate_routing_observations_total{result="kept"} 351.0' in metrics
    assert "lockgate_routing_rows_learnt 351.0" in metrics


def test_what_is_no_observation_is_told_by_its_line_and_what_stood_before_is_kept(
    router: RouterProcess,
) -> None:
    good = lines(*(observation(f"before-{number}") for number in range(100)))
    bad = b'{"id": "x", "text": "a prompt"}\n'

    reply = router.ask("POST", "/v1/observations", good + bad)

    assert reply.status == 400
    assert reply.json["error"]["observed"] == 100
    assert reply.json["error"]["message"].startswith("line 101: ")
    assert "a prompt" not in reply.body.decode()


def test_what_cannot_be_kept_is_refused(router: RouterProcess) -> None:
    vector = b'{"encoder":"e","values":[1e30]}'
    line = b'{"id":"x","request_id":"r","at":1,"model":"m","arm":"none","vector":%b}' % vector

    reply = router.ask("POST", "/v1/observations", line)

    assert (reply.status, reply.json["error"]["observed"]) == (400, 0)


def test_a_line_has_its_bounds(router: RouterProcess) -> None:
    reply = router.ask("POST", "/v1/observations", b"x" * 400_000)

    assert reply.status == 413


def test_feedback_reaches_the_row_of_its_request(router: RouterProcess) -> None:
    router.ask("POST", "/v1/observations", lines(observation("fed")))

    known = router.post("/v1/feedback", {"request_id": "r-fed", "quality": 0.5})
    unknown = router.post("/v1/feedback", {"request_id": "r-none", "quality": 0.5})
    wrong = router.post("/v1/feedback", {"request_id": "r-fed", "quality": 1.5})

    assert (known.status, known.json) == (200, {"known": True})
    assert (unknown.status, unknown.json["error"]["code"]) == (404, "unknown_request")
    assert (wrong.status, wrong.json["error"]["param"]) == (400, "quality")
    given = router.ask("GET", "/v1/observations").body
    assert {row["id"]: row for row in map(orjson.loads, given.splitlines())}["fed"][
        "quality"
    ] == 0.5


def test_a_model_whose_plain_answers_have_shifted_is_counted(tmp_path: Path) -> None:
    def shown(router: RouterProcess) -> bool:
        return "lockgate_routing_drifts 1.0" in router.ask("GET", "/metrics").body.decode()

    rows = [
        observation(str(n), at=float(n + 1), quality=it, plain_quality=it, source="judge")
        for n, it in enumerate([0.9] * 100 + [0.5] * 60)
    ]
    with RouterProcess(tmp_path) as router:
        before = shown(router)
        router.ask("POST", "/v1/observations", lines(*rows))
        router.ask("POST", "/v1/fit")
        after = shown(router)

    assert (before, after) == (False, True)


def test_a_caller_is_forgotten_in_memory_too(tmp_path: Path) -> None:
    with RouterProcess(tmp_path) as router:
        router.ask(
            "POST", "/v1/observations", lines(observation("a"), observation("b", caller="x"))
        )
        router.ask("POST", "/v1/fit")

        gone = router.ask("DELETE", "/v1/observations?caller=app")
        learnt = router.ask("POST", "/v1/fit").json["rows"]
        given = router.ask("GET", "/v1/observations").body

    assert gone.json == {"forgotten": 1}
    assert learnt == 1
    assert [orjson.loads(line)["id"] for line in given.splitlines()] == ["b"]


@pytest.mark.parametrize("query", ["", "?caller=", "?key=app", "?caller=a&caller=b", "?caller=%00"])
def test_who_is_to_be_forgotten_must_be_said(router: RouterProcess, query: str) -> None:
    assert router.ask("DELETE", f"/v1/observations{query}").status == 400


def test_what_another_process_writes_is_learnt_and_what_it_forgets_forgotten(
    tmp_path: Path, database_url: str
) -> None:
    # neither looks by itself, so that what is learnt is learnt when it is asked to
    variables = {"LOCKGATE_DATABASE__URL": database_url, "LOCKGATE_DATABASE__REFRESH_S": "3600"}
    with (
        RouterProcess(tmp_path, variables) as one,
        RouterProcess(tmp_path / "other", variables) as other,
    ):
        one.ask("POST", "/v1/observations", lines(*(observation(str(n)) for n in range(5))))
        learnt = other.ask("POST", "/v1/fit").json["rows"]
        one.ask("DELETE", "/v1/observations?caller=app")
        left = other.ask("POST", "/v1/fit").json["rows"]

    assert (learnt, left) == (5, 0)


@pytest.mark.parametrize("path", sorted(PATHS - OPEN))
def test_only_the_bearer_of_the_token_is_served(closed: RouterProcess, path: str) -> None:
    for token in (None, "wrong", TOKEN[:-1]):
        reply = closed.ask("GET", path, token=token)
        assert (reply.status, reply.json["error"]["code"]) == (401, "invalid_token")
        assert reply.headers["www-authenticate"] == "Bearer"
    assert closed.ask("GET", path, token=TOKEN).status in (200, 404, 405)


def test_how_it_is_anybody_may_ask(closed: RouterProcess) -> None:
    assert closed.ask("GET", "/healthz").json == {"status": "ok"}
    assert closed.ask("GET", "/readyz").json == {"status": "ready"}
    assert closed.ask("GET", "/metrics").status == 200
    assert TOKEN not in closed.log


def test_metrics_may_have_a_token_of_their_own(tmp_path: Path) -> None:
    variables = {"LOCKGATE_ROUTER_TOKEN": TOKEN, "LOCKGATE_SERVER__METRICS_TOKEN": "other"}
    with RouterProcess(tmp_path, variables) as router:
        told = [router.ask("GET", "/metrics", token=it).status for it in (None, TOKEN, "other")]

    assert told == [401, 401, 200]


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}])
def test_without_a_token_no_page_from_elsewhere_is_served(
    router: RouterProcess, headers: dict[str, str]
) -> None:
    asked = request("/v1/observations", None, headers, "GET")

    reply = Exchange(router.port, asked).whole()

    assert (reply.status, reply.json["error"]["code"]) == (403, "not_from_here")


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/x", 404), ("GET", "/v1/route", 405)]
)
def test_an_unknown_path_is_told_in_json(
    router: RouterProcess, method: str, path: str, status: int
) -> None:
    reply = router.ask(method, path)

    assert (reply.status, reply.json["error"]["code"]) == (status, "unknown_path")


def test_who_asks_for_anything_makes_no_series(router: RouterProcess) -> None:
    def series() -> set[str]:
        text = router.ask("GET", "/metrics").body.decode()
        return {line.rpartition(" ")[0] for line in text.splitlines()}

    series()
    router.ask("GET", "/other")
    router.post("/v1/route", {**QUERY, "model": "m"})
    before = series()
    for number in range(5):
        router.ask("GET", f"/router-canary-{number}")
        router.post("/v1/route", {"model": f"m{number}", "offers": [{"arm": f"a{number}"}]})

    assert series() == before
    assert "router-canary" not in router.ask("GET", "/metrics").body.decode()


def test_every_path_is_counted_by_its_name() -> None:
    source = (ROOT / "router_service/app.py").read_text("utf-8")
    served = set(re.findall(r'\("(?:GET|POST|DELETE)", "(/[^"]*)"', source))

    assert served == PATHS


def test_told_to_stop_it_ends_well_and_says_nothing_of_what_it_served(tmp_path: Path) -> None:
    with RouterProcess(tmp_path) as router:
        router.ask("POST", "/v1/observations", lines(observation("canary", caller="canary")))
        code = router.stop()

    assert code in (0, -15)
    assert "canary" not in router.log


def test_it_does_not_start_where_it_cannot_work(tmp_path: Path) -> None:
    def ended(file: str) -> tuple[int, str]:
        path = tmp_path / "router.yaml"
        path.write_text(file)
        done = subprocess.run(
            [sys.executable, "-m", "router_service", "-c", str(path)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PATH": ""},
            timeout=PATIENCE_S,
            check=False,
        )
        return done.returncode, done.stderr

    for file, told in (
        ("server: {host: 0.0.0.0}", "error: server.host: without a token the router is open"),
        ("database: {url: 'sqlite:////no/such/x.db'}", "error: database.url: sqlite"),
        ("router: {type: none}", "error: router.type"),
    ):
        code, said = ended(file)
        assert (code, said.startswith(told)) == (2, True), said


@pytest.mark.parametrize(("enabled", "tries"), [("true", True), ("false", False)])
def test_it_tries_arms_out_of_what_requests_cost_where_it_is_to_learn(
    tmp_path: Path, *, enabled: str, tries: bool
) -> None:
    variables = {
        "LOCKGATE_ROUTER__LEARNING__ENABLED": enabled,
        "LOCKGATE_ROUTER__LEARNING__EXPLORATION__RATE": "1",
    }
    recent = datetime.now(UTC).timestamp()
    old = [observation(f"old-{n}", at=recent - 90_000, cost_usd=5.0) for n in range(100)]
    new = [observation(f"new-{n}", at=recent, cost_usd=5.0) for n in range(100)]
    query = {**QUERY, "plain_usd": 0.0001, "lambda": 0.1}
    with RouterProcess(tmp_path, variables) as router:
        explored = []
        for rows in (old, new):
            router.ask("POST", "/v1/observations", lines(*rows))
            told = [router.post("/v1/route", query).json for _ in range(20)]
            explored.append(any(one["explored"] for one in told))

    assert explored == [False, tries]
