"""One budget, many at once: techniques that make several calls, over several replicas."""

from __future__ import annotations

from bench.budgets import Size, crowded


def test_what_is_settled_never_passes_the_budget_and_no_row_is_missing() -> None:
    outcome = crowded(Size(requests=20, replicas=3, fan_out=3))

    outcome.check()
    assert outcome.statuses["200"] > 10
    assert outcome.statuses["402 budget_exhausted"] > 0
    assert outcome.calls == outcome.rows
