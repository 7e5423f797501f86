"""A row says when it was observed; one that is yet to come would make all others too old."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from tests.fakes.router import RouterProcess
from tests.router_service.store.scene import observation


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RouterProcess]:
    folder: Path = tmp_path_factory.mktemp("router")
    with RouterProcess(folder) as running:
        yield running


@pytest.mark.parametrize(
    ("ahead_s", "times", "status"),
    [(0.0, 1, 200), (3_600.0, 1, 200), (172_800.0, 1, 400), (0.0, 1_000, 400)],
    ids=["now", "a clock that is fast", "days ahead", "milliseconds"],
)
def test_what_is_yet_to_come_was_not_observed(
    router: RouterProcess, ahead_s: float, times: int, status: int
) -> None:
    at = (datetime.now(UTC).timestamp() + ahead_s) * times
    line = orjson.dumps(observation("o", at=at).model_dump(exclude_defaults=True))
    told = router.ask("POST", "/v1/observations", line)

    assert told.status == status
    if status == 400:
        assert told.json["error"]["code"] == "invalid_observation"
        assert told.json["error"]["message"].startswith("line 1: at: ")
