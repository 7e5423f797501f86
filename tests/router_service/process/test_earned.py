"""What requests have cost is earned once, however often a row comes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from router_service.contract import Observation
from router_service.learning.explorer import Explorer
from router_service.learning.settings import ExplorationSettings
from router_service.process.earned import Earned
from tests.router_service.store.scene import observation

SHARE = 0.5


def _explorer() -> Explorer:
    return Explorer(ExplorationSettings(share=SHARE), lambda: 0.0, lambda: 0.5)


def _row(name: str, usd: float = 1.0, ago_s: float = 60.0) -> Observation:
    return observation(name, at=datetime.now(UTC).timestamp() - ago_s, cost_usd=usd)


def test_a_row_that_comes_again_earns_nothing_more() -> None:
    explorer = _explorer()
    earned = Earned(explorer)
    earned([_row("a"), _row("b"), _row("a")])
    for _ in range(50):
        earned([_row("a"), _row("b")])

    assert explorer.purse.allowance(0.0).total_usd == pytest.approx(2 * SHARE)


def test_what_is_older_than_a_day_earns_nothing() -> None:
    explorer = _explorer()
    Earned(explorer)([_row("old", ago_s=100_000.0), _row("new")])

    assert explorer.purse.allowance(0.0).total_usd == pytest.approx(SHARE)


def test_a_try_is_paid_for_once() -> None:
    explorer = _explorer()
    earned = Earned(explorer)
    earned([_row("a", usd=10.0)])
    row = _row("try").model_copy(update={"explored": True})
    for _ in range(2):
        explorer.purse.hold(f"{row.model} {row.arm}", 1.0, 0.0)
    for _ in range(5):
        earned([row])

    assert explorer.purse.spent(0.0) == pytest.approx(1.0)


def test_what_is_remembered_is_bounded_and_the_latest() -> None:
    explorer = _explorer()
    earned = Earned(explorer, most=2)
    earned([_row("a"), _row("b"), _row("c")])
    earned([_row("b"), _row("c")])

    assert explorer.purse.allowance(0.0).total_usd == pytest.approx(3 * SHARE)


def test_where_nothing_is_tried_nothing_is_counted() -> None:
    earned = Earned(None)

    earned([_row("a")])

    assert not earned._known
