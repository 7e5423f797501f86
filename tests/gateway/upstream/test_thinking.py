from __future__ import annotations

import pytest

from gateway.upstream.thinking import ROOM, Settled, Thinks, budget_of, nearest, settle
from techniques.core.events import Warned
from techniques.core.request import ThinkingWish

LMH = ("low", "medium", "high")
EFFORT = Thinks(levels=LMH, off="none", unasked=True)
ALWAYS = Thinks(levels=LMH, unasked=True)
SWITCH = Thinks("chat_template", off="false", unasked=True)
BUDGET = Thinks("anthropic_budget", off="omit")


@pytest.mark.parametrize(
    ("budget", "effort"),
    [(1, "low"), (2047, "low"), (2048, "medium"), (8191, "medium"), (8192, "high")],
)
def test_a_budget_becomes_an_effort(budget: int, effort: str) -> None:
    assert settle(ThinkingWish("on", budget), EFFORT) == Settled(
        on=True, effort=effort, budget=budget
    )


@pytest.mark.parametrize(
    ("effort", "levels", "found"),
    [
        ("high", LMH, "high"),
        ("xhigh", LMH, "high"),
        ("max", ("low", "high", "max"), "max"),
        ("minimal", LMH, "low"),
        ("medium", ("low", "high"), "high"),
        ("medium", ("default",), "default"),
        ("turbo", LMH, "medium"),
        ("turbo", (), "turbo"),
        (None, LMH, None),
    ],
)
def test_the_nearest_effort_is_taken_and_of_two_the_higher(
    effort: str | None, levels: tuple[str, ...], found: str | None
) -> None:
    assert nearest(effort, levels) == found


def test_an_effort_that_a_model_does_not_take_is_changed_with_a_warning() -> None:
    settled = settle(ThinkingWish(effort="xhigh"), EFFORT)

    assert settled.effort == "high"
    assert settled.losses == (Warned("effort_changed", "xhigh -> high"),)


@pytest.mark.parametrize(
    "wish", [ThinkingWish("off"), ThinkingWish(effort="none"), ThinkingWish(effort="minimal")]
)
@pytest.mark.parametrize("thinks", [EFFORT, SWITCH, BUDGET])
def test_a_model_that_can_rest_does(wish: ThinkingWish, thinks: Thinks) -> None:
    assert settle(wish, thinks) == Settled(on=False)


def test_minimal_is_an_effort_where_the_model_has_it() -> None:
    thinks = Thinks(levels=("minimal", *LMH), off="minimal", unasked=True)

    assert settle(ThinkingWish(effort="minimal"), thinks) == Settled(on=True, effort="minimal")


def test_a_model_that_cannot_rest_is_asked_for_the_least_and_given_room_for_it() -> None:
    assert settle(ThinkingWish("off"), ALWAYS) == Settled(
        on=True, effort="low", room=ROOM, losses=(Warned("thinking_kept"),)
    )


def test_a_model_that_does_not_think_by_itself_rests_without_a_word() -> None:
    assert settle(ThinkingWish("off"), Thinks()) == Settled(on=False)
    assert settle(ThinkingWish("off"), Thinks("none")) == Settled(on=False)


def test_a_model_that_cannot_think_is_not_asked_to() -> None:
    settled = settle(ThinkingWish("on", 2000), Thinks("none"))

    assert settled == Settled(on=False, losses=(Warned("field_dropped", "thinking"),))


@pytest.mark.parametrize(
    ("wish", "lost"),
    [
        (ThinkingWish("on"), []),
        (ThinkingWish("adaptive"), []),
        (ThinkingWish(effort="high"), ["effort"]),
        (ThinkingWish("on", 3000), ["budget_tokens"]),
        (ThinkingWish("on", 3000, "low"), ["effort", "budget_tokens"]),
    ],
)
def test_how_much_is_lost_where_only_yes_and_no_can_be_said(
    wish: ThinkingWish, lost: list[str]
) -> None:
    settled = settle(wish, SWITCH)

    assert (settled.on, settled.effort) == (True, None)
    assert settled.losses == tuple(Warned("field_dropped", name) for name in lost)


@pytest.mark.parametrize(("mode", "effort"), [("on", "medium"), ("adaptive", None)])
def test_thinking_without_a_measure_is_medium_where_a_word_is_needed(
    mode: str, effort: str | None
) -> None:
    wish = ThinkingWish("on") if mode == "on" else ThinkingWish("adaptive")

    assert settle(wish, EFFORT).effort == effort
    assert settle(wish, BUDGET).effort is None


@pytest.mark.parametrize(
    ("settled", "tokens"),
    [
        (Settled(on=True), 4096),
        (Settled(on=True, effort="low"), 1024),
        (Settled(on=True, effort="high"), 16384),
        (Settled(on=True, effort="default"), 4096),
        (Settled(on=True, effort="high", budget=2000), 2000),
    ],
)
def test_an_effort_becomes_a_budget(settled: Settled, tokens: int) -> None:
    assert budget_of(settled) == tokens
