from __future__ import annotations

from dataclasses import replace

import pytest

from bench.pacing.account import Terms
from bench.pacing.agents import Agent, Lived, Target
from bench.pacing.report import bars_table, figures_table, late
from bench.pacing.running import Ran, Wanted, accounts, keys
from bench.pacing.statistics import Figures, allowance, figures, jain, middle, quantile

GOOD = Figures(0, 0, 0, 900, 99, 100, 0.99, 0, 0)
COUNTED = {"refused": 3, "unasked": 0, "resent": 9, "charged": 75_000, "drained": 0, "wasted": 5000}


def agents(*ends: float | None) -> list[Agent]:
    made = []
    for end in ends:
        agent = Agent(Target("", ""), 1, 10, streams=False)
        agent.lived = Lived(end, [1.0, 5.0])
        made.append(agent)
    return made


def test_jains_index_is_one_for_equals_and_one_over_all_where_one_has_everything() -> None:
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25)
    assert jain([0, 0]) == 1


def test_a_quantile_is_one_of_the_values() -> None:
    assert quantile(range(1, 101), 0.95) == 95
    assert quantile([7], 0.95) == 7
    assert quantile([], 0.95) == 0


def test_a_bucket_allows_what_it_holds_and_what_comes_in_less_what_others_took() -> None:
    assert allowance({**COUNTED, "drained": 10_000}, Terms("openai"), 120) == 80_000


def test_a_counter_allows_what_was_charged_and_what_was_left() -> None:
    assert allowance(COUNTED, Terms("azure"), 120) == 80_000


def test_goodput_is_what_was_charged_of_what_was_allowed() -> None:
    found = figures(agents(100, 110), COUNTED, Terms("azure"), 120)

    assert found.goodput == pytest.approx(93.75)
    assert (found.refused, found.resent, found.wait_s) == (3, 9, 5)


def test_an_agent_that_got_to_no_end_is_counted_as_failed_and_as_slow_as_the_run() -> None:
    found = figures(agents(60, None), COUNTED, Terms("openai"), 120)

    assert found.broken == 1
    assert found.jain == pytest.approx(jain([60, 120]))


def test_of_several_runs_the_median_is_told_but_the_mean_of_refusals() -> None:
    runs = [replace(GOOD, refused=count, makespan_s=count) for count in (0, 0, 3)]

    assert (middle(runs).refused, middle(runs).makespan_s) == (1, 0)


def ran(**changes: float) -> Ran:
    worse = replace(GOOD, **changes)
    return Ran({("paced", "openai", 0.0): [GOOD], ("paced", "groq", 0.0): [worse]})


def test_a_bar_is_held_against_the_vendor_that_is_worst() -> None:
    assert "**not met**" not in bars_table(ran())
    assert "| groq | 0.6 | ≤ 0.5 | **not met** |" in bars_table(ran(refused=0.6))
    assert "| groq | 94.9 | ≥ 95 | **not met** |" in bars_table(ran(goodput=94.9))


def test_what_was_not_measured_is_no_bar_that_was_met() -> None:
    assert bars_table(Ran()).count("not measured") == 7
    assert bars_table(ran()).count("not measured") == 2


def test_other_arms_are_in_the_table_and_not_in_the_bars() -> None:
    found = Ran({("reactive", "groq", 0.25): [replace(GOOD, refused=500)]})

    assert "| groq | 25 % | no gateway | 500 (500) |" in figures_table(found)
    assert "met" not in bars_table(found).replace("not measured", "")


def test_it_is_told_how_late_the_machine_was() -> None:
    assert late(Ran(late_s={"paced": 0.0123})).endswith("Lockgate, pacing: 12 ms.")


def test_a_busy_machine_can_tell_nothing() -> None:
    assert "too busy" in bars_table(Ran(late_s={"paced": 0.2}))
    assert "too busy" not in bars_table(Ran(late_s={"paced": 0.01}))


def test_every_run_has_an_account_of_its_own_and_every_agent_a_key() -> None:
    made = accounts(Wanted(runs=5))

    assert len(made) == 40
    assert len({key for name in made for key in keys(name)}) == 640
    assert len({terms.seed for terms in made.values()}) == 5
