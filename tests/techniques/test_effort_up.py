from __future__ import annotations

import pytest

from techniques.catalog.effort_up import Options, effort_up
from techniques.core.events import Started, TextDelta
from techniques.core.request import ThinkingWish
from techniques.parts.effort import Effort, raised
from tests.techniques.scene import Played, Setting, asks, channels, play, scripted


async def run(wish: ThinkingWish | None = None, effort: Effort | None = None) -> Played:
    channel = scripted(lambda _request: "word " * 90)
    request = asks(thinking=wish, stream=True)
    return await play(effort_up, channels(channel), request, Setting(Options(effort=effort)))


@pytest.mark.parametrize(
    ("wish", "harder"),
    [
        (None, ThinkingWish(effort="high")),
        (ThinkingWish("off"), ThinkingWish(effort="low")),
        (ThinkingWish(effort="none"), ThinkingWish(effort="low")),
        (ThinkingWish(effort="minimal"), ThinkingWish(effort="low")),
        (ThinkingWish(effort="low"), ThinkingWish(effort="medium")),
        (ThinkingWish(effort="medium"), ThinkingWish(effort="high")),
        (ThinkingWish("adaptive"), ThinkingWish("adaptive", effort="high")),
        (ThinkingWish("on", 2000), ThinkingWish("on", 4000)),
        (ThinkingWish("on", 20_000), ThinkingWish("on", 32_768)),
    ],
)
def test_thinking_goes_one_step_up(wish: ThinkingWish | None, harder: ThinkingWish) -> None:
    assert raised(wish) == harder


@pytest.mark.parametrize(
    "top",
    [
        ThinkingWish(effort="high"),
        ThinkingWish(effort="xhigh"),
        ThinkingWish(effort="max"),
        ThinkingWish(effort="of another kind"),
        ThinkingWish("on", 32_768),
        ThinkingWish("on", 50_000),
    ],
)
def test_what_is_at_its_top_stays(top: ThinkingWish) -> None:
    assert raised(top) == top


@pytest.mark.parametrize("wish", [None, ThinkingWish("off"), ThinkingWish(effort="low")])
def test_an_effort_that_is_said_holds(wish: ThinkingWish | None) -> None:
    assert raised(wish, "xhigh") == ThinkingWish(effort="xhigh")


def test_an_effort_that_is_said_replaces_a_budget() -> None:
    assert raised(ThinkingWish("on", 2000), "minimal") == ThinkingWish("on", None, "minimal")


async def test_one_call_is_made_that_thinks_harder() -> None:
    played = await run(ThinkingWish(effort="low"))

    (asked,) = played.asked
    assert asked.thinking == ThinkingWish(effort="medium")
    assert (asked.step, asked.role, asked.messages) == ("a0", "answer", asks().messages)


async def test_how_hard_can_be_said() -> None:
    (asked,) = (await run(effort="xhigh")).asked

    assert asked.thinking == ThinkingWish(effort="xhigh")


async def test_the_answer_comes_as_it_is_given() -> None:
    played = await run()

    assert isinstance(played.events[0], Started)
    assert sum(isinstance(event, TextDelta) for event in played.events) > 1
