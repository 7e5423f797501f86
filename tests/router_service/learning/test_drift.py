from __future__ import annotations

from random import Random

import pytest

from router_service.contract import Observation
from router_service.learning.drift import drifts


def rows(qualities: list[float], source: str = "judge", each: int = 1) -> list[Observation]:
    return [
        Observation(
            id=f"{source}{place}-{copy}",
            request_id=f"r{place}",
            at=float(place),
            model="m",
            arm="none" if not copy else f"best_of_n/{copy + 1}",
            quality=min(max(quality, 0.0), 1.0),
            plain_quality=min(max(quality, 0.0), 1.0),
            source=source,
        )
        for place, quality in enumerate(qualities)
        for copy in range(each)
    ]


def noisy(seed: int, mean: float, count: int) -> list[float]:
    random = Random(seed)
    return [random.gauss(mean, 0.1) for _ in range(count)]


def test_a_shift_of_the_plain_answers_is_told() -> None:
    (drift,) = drifts(rows(noisy(1, 0.7, 300) + noisy(2, 0.6, 100)))

    assert (drift.model, drift.source) == ("m", "judge")
    assert drift.sigmas < -3
    assert drift.before == pytest.approx(0.7, abs=0.02)
    assert drift.now == pytest.approx(0.6, abs=0.03)


def test_answers_that_only_vary_are_no_shift() -> None:
    told = [bool(drifts(rows(noisy(seed, 0.7, 400)))) for seed in range(100)]

    assert sum(told) <= 2


def test_one_request_counts_once_whatever_was_worked_out_of_it() -> None:
    qualities = noisy(1, 0.7, 300) + noisy(2, 0.6, 100)

    assert drifts(rows(qualities, each=5)) == drifts(rows(qualities))


def test_too_few_requests_tell_nothing() -> None:
    assert drifts(rows([0.9] * 60 + [0.1] * 29)) == []
    assert drifts(rows([0.9] * 60 + [0.1] * 30)) != []


def test_what_two_sources_say_is_not_compared() -> None:
    assert drifts([*rows([0.9] * 100), *rows([0.5] * 100, source="feedback")]) == []
