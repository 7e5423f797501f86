from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.report import Bar, bars_table, figures_table, speed_bars, write_between_markers
from bench.rig import CannotMeasure
from bench.scenarios import Figures

FIGURES = Figures(
    cpu_us=100.0,
    cpu_delta_us=10.0,
    waited=0.0,
    rps=2000.0,
    latency_p50=1,
    latency_p95=2,
    latency_p99=100,
    first_chunk_p50=1000,
    first_chunk_p99=2000,
    delta_delay_p50=100,
    delta_delay_p99=1000,
    deltas_per_s=3200.0,
    errors=0,
    cut=0,
    seconds=1.0,
)


def bar(rounds: dict[tuple[str, str], list[Figures]], beginning: str) -> Bar:
    return next(bar for bar in speed_bars(rounds) if bar.name.startswith(beginning))


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    ours = [replace(FIGURES, cpu_us=cpu) for cpu in (150.0, 900.0, 320.0)]
    floor = [replace(FIGURES, cpu_us=cpu) for cpu in (100.0, 300.0, 200.0)]

    found = bar({("c32", "gateway"): ours, ("c32", "floor"): floor}, "32 connections: CPU")

    assert found.value == pytest.approx(1.6)
    assert found.met


def test_the_added_time_to_the_first_chunk_leaves_out_the_upstreams_own() -> None:
    rounds = {
        ("s64", "gateway"): [replace(FIGURES, first_chunk_p50=4000)],
        ("s64", "floor"): [replace(FIGURES, first_chunk_p50=3000)],
        ("s64", "upstream"): [replace(FIGURES, first_chunk_p50=2000, cpu_us=None)],
    }

    found = bar(rounds, "64 streams: added time")

    assert found.value == pytest.approx(2.0)
    assert found.met is False


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert all(bar.met is None for bar in speed_bars({}))
    assert "not measured" in bars_table(speed_bars({}))


def test_one_error_in_any_round_misses_its_bar() -> None:
    rounds = {("d60c256", "gateway"): [FIGURES, replace(FIGURES, errors=1), FIGURES]}

    assert bar(rounds, "256 connections, 60 ms upstream: errors").met is False


def test_a_bar_may_be_a_minimum() -> None:
    assert Bar("rps", 1500, 1500, at_least=True).met
    assert not Bar("rps", 1499, 1500, at_least=True).met


def test_the_upstreams_own_cpu_is_left_blank() -> None:
    table = figures_table({("c1", "upstream"): [replace(FIGURES, cpu_us=None)]})

    assert table.splitlines()[-1].startswith("| c1 | upstream | - | 10 |")


def test_results_replace_only_what_stands_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n")

    write_between_markers(page, "new")

    assert page.read_text() == ("before\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\nafter\n")


def test_a_page_without_markers_is_not_touched(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing to replace\n")

    with pytest.raises(CannotMeasure, match="bench:begin"):
        write_between_markers(page, "new")

    assert page.read_text() == "nothing to replace\n"


def test_what_a_technique_costs_is_told_apart_from_its_sub_calls() -> None:
    cpu = {"c32": 500.0, "vote3": 1000.0 + 3 * 700.0, "vote9": 1000.0 + 9 * 700.0}
    rounds = {(name, "gateway"): [replace(FIGURES, cpu_us=value)] for name, value in cpu.items()}

    assert bar(rounds, "a technique's CPU per run").value == pytest.approx(1.0)
    assert bar(rounds, "a technique's CPU per sub-call").value == pytest.approx(0.2)


def test_the_time_of_parallel_draws_is_that_of_one_call() -> None:
    rounds = {
        ("d60c1", "gateway"): [replace(FIGURES, latency_p50=61_000)],
        ("d60 vote3", "gateway"): [replace(FIGURES, latency_p50=64_050)],
    }

    assert bar(rounds, "draws in parallel").value == pytest.approx(1.05)
