"""Runs of many techniques while replicas are killed, clients leave and the provider refuses."""

from __future__ import annotations

import anyio

from bench.runs.chaos import Size, chaos

TECHNIQUES = ("none", "self_consistency", "genselect", "self_moa", "chain_of_verification")


def test_whatever_dies_every_run_ends_and_no_settled_step_is_paid_twice() -> None:
    size = Size(12, 2, "sqlite", kills=2, every_s=0.6, patience_s=0.2)

    found = anyio.run(chaos, size, TECHNIQUES)

    assert not found.wrong
    assert (found.unended, found.unlike, found.twice, found.again, found.misread) == (0,) * 5
    assert found.kills == 2
    assert found.resumes > 0
    assert found.paid - found.lost == found.asked, "what is not lost is what was needed"
