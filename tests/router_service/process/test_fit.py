"""``/v1/fit`` of real processes: what is found is tried, served by all, kept and taken back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from router_service.contract import Observation
from router_service.learning import artifacts
from router_service.learning.training import train
from techniques.core.json import Json
from tests.fakes.router import RouterProcess
from tests.patience import eventually
from tests.router_service.fitting.scene import ARMS, SUMS, asks, traffic

LINEAR = {"LOCKGATE_ROUTER__TYPE": "acm_linear"}


def _lines(rows: list[Observation]) -> bytes:
    return b"".join(row.model_dump_json(exclude_defaults=True).encode() + b"\n" for row in rows)


def _fed(router: RouterProcess, rows: list[Observation]) -> None:
    assert router.ask("POST", "/v1/observations", _lines(rows)).status == 200


def _chosen(router: RouterProcess) -> str:
    reply = router.ask("POST", "/v1/route", asks(SUMS).model_dump_json(by_alias=True).encode())
    arm: str = reply.json["arm"]
    return arm


def _until(router: RouterProcess, arm: str) -> bool:
    return eventually(lambda: _chosen(router) == arm)


def _variables(database_url: str) -> Mapping[str, str]:
    return {**LINEAR, "LOCKGATE_DATABASE__URL": database_url}


def test_one_fits_the_other_serves_it_and_it_outlives_both(
    tmp_path: Path, database_url: str
) -> None:
    variables = _variables(database_url)
    with (
        RouterProcess(tmp_path / "a", variables) as one,
        RouterProcess(tmp_path / "b", variables) as other,
    ):
        _fed(one, traffic(600))
        before = _chosen(one)
        report = one.post("/v1/fit", {"by": "ana"}).json
        assert _until(other, ARMS[1])
        served = other.ask("GET", "/v1/fit").json["served"]
    with RouterProcess(tmp_path / "c", variables) as restarted:
        after = _chosen(restarted)
        gone = restarted.ask("DELETE", "/v1/fit?by=ben")
        back = _chosen(restarted)
        history = restarted.ask("GET", "/v1/fit").json["history"]
        nothing = restarted.ask("DELETE", "/v1/fit")

    assert (before, after, back) == ("none", ARMS[1], "none")
    assert (report["rows"], report["passed"], report["served"]) == (600, True, True)
    assert served["revision"] == report["revision"]
    assert served["by"] == "ana"
    assert served["report"]["gain"] == report["gain"]
    assert gone.json == {"withdrawn": report["revision"], "served": None}
    assert [(it["by"], it["withdrawn_by"]) for it in history] == [("ana", "ben")]
    assert (nothing.status, nothing.json["error"]["code"]) == (404, "nothing_to_withdraw")


def test_what_is_no_better_is_told_of_and_not_served_unless_somebody_says_so(
    tmp_path: Path,
) -> None:
    with RouterProcess(tmp_path, LINEAR) as router:
        _fed(router, traffic(200, gains=(-0.05, -0.05)))
        looked = router.post("/v1/fit", {"promote": "never"}).json
        checked = router.post("/v1/fit", {}).json
        kept = _chosen(router)
        unsigned = router.post("/v1/fit", {"promote": "force"})
        forced = router.post("/v1/fit", {"promote": "force", "by": "ana"}).json
        served = router.ask("GET", "/v1/fit").json["served"]

    assert (looked["served"], checked["served"], kept) == (False, False, "none")
    assert checked["why"]
    assert (unsigned.status, unsigned.json["error"]["code"]) == (400, "invalid_field")
    assert (forced["served"], forced["passed"]) == (True, False)
    assert (served["by"], served["revision"]) == ("ana", forced["revision"])


@pytest.mark.parametrize(
    "body", [{"promote": "maybe"}, {"by": 3}, {"by": "x" * 201}, {"by": "\0"}, {"x": 1}]
)
def test_what_is_asked_is_read_strictly(tmp_path: Path, body: Json) -> None:
    with RouterProcess(tmp_path, LINEAR) as router:
        assert router.post("/v1/fit", body).status == 400


FILE = "LOCKGATE_ROUTER__ACM_LINEAR__FILE"


def test_weights_of_a_file_are_served_where_no_fit_is(tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    artifacts.write(train(traffic(600)).artifact, file)

    config = tmp_path / "router.yaml"
    config.write_text("router: {type: acm_linear, acm_linear: {file: weights.json}}")

    with RouterProcess(tmp_path / "elsewhere", config=config) as router:
        assert _chosen(router) == ARMS[1]


def test_a_file_without_weights_is_told_at_the_start(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    with (
        pytest.raises(RuntimeError, match=r"router\.acm_linear\.file"),
        RouterProcess(tmp_path, {**LINEAR, FILE: str(broken)}),
    ):
        pass
