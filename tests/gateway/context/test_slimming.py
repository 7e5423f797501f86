from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from gateway.context.rules import OnWall
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.errors import CapReached, DeadlinePassed, RequestRejected, UpstreamFailed
from techniques.core.reply import replied
from techniques.core.request import Request, Sampling, said
from techniques.testing import Line
from tests.gateway.context.scene import (
    FILLER,
    SYSTEM,
    Scene,
    called,
    gave,
    obedient,
    talk,
    worked,
)

ALL: tuple[OnWall, ...] = ("refuse", "drop_tool_results", "summarise", "truncate")


@pytest.mark.parametrize("on_wall", ["off", *ALL])
async def test_a_conversation_that_is_short_is_left_as_it_is(on_wall: OnWall) -> None:
    scene = Scene(on_wall)

    assert await scene.slim(*talk(3)) == talk(3)
    assert (scene.facts, scene.channel.asked) == ([], [])


async def test_what_is_off_touches_nothing() -> None:
    assert await Scene("off").slim(*talk(90)) == talk(90)


async def test_a_conversation_beyond_the_window_is_refused_where_nothing_may_be_cut() -> None:
    with pytest.raises(RequestRejected, match="900 of the model's window of 1000") as refused:
        await Scene("refuse").slim(*talk(30))

    assert (refused.value.code, refused.value.param) == ("context_length_exceeded", "messages")


async def test_what_may_yet_fit_is_left_to_a_provider_that_has_not_counted() -> None:
    scene = Scene("refuse", window=1000)
    doubtful = talk(9)

    assert await scene.slim(*doubtful) == doubtful
    scene.counts(talk(8), Usage(1200))
    with pytest.raises(RequestRejected):
        await scene.slim(*doubtful)


async def test_room_is_kept_for_the_answer_that_is_asked_for() -> None:
    request = Request("m", talk(5), sampling=Sampling(max_output_tokens=900))

    with pytest.raises(RequestRejected, match="100 of the model's window"):
        await Scene("refuse").slimming().slim(request)


async def test_results_of_tools_are_dropped_under_pressure_and_the_last_turns_stay() -> None:
    scene = Scene("drop_tool_results", window=2000)

    left = await scene.slim(*worked(8))

    assert len(left) == len(worked(8))
    assert left[-8:] == worked(8)[-8:]
    assert "left out" in str(left[3])
    assert scene.warnings == ["tool_results_dropped"]
    assert [(fact.method, fact.fresh) for fact in scene.slimmed] == [("drop_tool_results", True)]
    assert scene.slimmed[0].before > scene.slimmed[0].after


async def test_where_results_are_not_enough_it_is_refused_and_nothing_else_is_cut() -> None:
    with pytest.raises(RequestRejected):
        await Scene("drop_tool_results").slim(*talk(30))


async def test_results_stay_where_reading_the_rest_anew_would_cost_more() -> None:
    scene = Scene("drop_tool_results", window=2000)
    scene.counts(worked(8), Usage(1650, cache_read_tokens=1650))

    assert await scene.slim(*worked(8, 750)) == worked(8, 750)
    assert len(await scene.slim(*worked(9, 800))) == len(worked(9))
    assert scene.warnings == ["tool_results_dropped"]


async def test_the_earlier_part_is_summed_up_when_that_pays() -> None:
    scene = Scene("summarise")

    left = await scene.slim(*talk(8))

    assert left[0] == SYSTEM
    assert left[-4:] == talk(8)[-4:]
    assert left[1].role == "user"
    assert "They spoke of" in left[1].text
    assert "I have noted that with pleasure." in left[1].text
    assert len(left) == 6
    assert scene.warnings == ["context_summarised"]
    assert scene.summaries == ["used"]


async def test_the_summary_is_asked_for_as_a_call_of_its_own_with_what_must_be_in_it() -> None:
    scene = Scene("summarise")
    await scene.slim(*talk(8))

    (asked,) = scene.channel.asked
    assert (asked.role, asked.step, asked.model) == ("summary", "summary", "w")
    assert asked.sampling.max_output_tokens == 231
    text = asked.messages[0].text
    assert "<<fence conversation>>" in text
    assert "Item 100 must ship by May 1." in text.partition("sentences>>")[2]
    assert "105" in text.partition("values>>")[2].partition("<<end")[0]


async def test_a_summary_is_used_again_while_the_conversation_goes_on() -> None:
    scene = Scene("summarise")
    first = await scene.slim(*talk(8))
    more = (*talk(8), said("assistant", "Wait."), said("user", "How long?"))

    again = await scene.slim(*more)

    assert again == (*first, *more[-2:])
    assert len(scene.channel.asked) == 1
    assert [fact.fresh for fact in scene.slimmed] == [True, False]


async def test_a_conversation_is_summed_up_at_most_once_in_four_turns() -> None:
    scene = Scene("summarise", window=2000)
    asked_at: list[int] = []
    for turns in range(14, 27):
        await scene.slim(*talk(turns, words=60))
        if len(scene.channel.asked) > len(asked_at):
            asked_at.append(turns)

    assert len(asked_at) > 2
    assert min(b - a for a, b in pairwise(asked_at)) >= 4


async def test_a_later_summary_is_of_the_earlier_one_and_what_came_after() -> None:
    scene = Scene("summarise")
    await scene.slim(*talk(8))
    await scene.slim(*talk(20))

    later = scene.channel.asked[1].messages[0].text
    assert "They spoke of" in later
    assert "Item 100 must" not in later.partition("conversation>>")[2].partition("<<end")[0]
    assert "Item 110 must" in later


async def test_a_summary_that_loses_a_pin_is_not_used_nor_asked_for_again_at_once() -> None:
    scene = Scene("summarise", writes=lambda _request: "They talked.")

    assert await scene.slim(*talk(8)) == talk(8)
    assert scene.warnings == ["summary_rejected"]
    assert scene.summaries == ["pins_lost"]
    await scene.slim(*talk(9))
    assert len(scene.channel.asked) == 1


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        (Line(replied("  ")), "empty"),
        (Line(replied("It", "length")), "cut_off"),
        (Line(UpstreamFailed("down")), "failed"),
        (Line(CapReached("no more")), "failed"),
    ],
)
async def test_a_summary_that_is_none_changes_nothing(line: Line, outcome: str) -> None:
    scene = Scene("summarise", writes=lambda _request: line)

    assert await scene.slim(*talk(8)) == talk(8)
    assert scene.summaries == [outcome]


async def test_a_summary_that_is_longer_is_not_used() -> None:
    scene = Scene("summarise", writes=lambda request: obedient(request) + FILLER * 90)

    assert await scene.slim(*talk(8)) == talk(8)
    assert scene.summaries == ["longer"]


async def test_the_providers_own_counts_of_a_summary_must_fall_too() -> None:
    counted = Usage(input_tokens=300, output_tokens=310)
    scene = Scene(
        "summarise",
        writes=lambda request: Line(replied(obedient(request), usage=counted)),
    )

    assert await scene.slim(*talk(8)) == talk(8)
    assert scene.summaries == ["longer"]


async def test_no_summary_is_asked_for_that_does_not_pay() -> None:
    scene = Scene("summarise", window=4000)
    once = (SYSTEM, said("user", "word " * 3000), *(said("user", "and?") for _ in range(4)))

    assert await scene.slim(*once) == once
    assert scene.channel.asked == []
    assert scene.summaries == ["not_worth"]


async def test_what_a_cache_holds_keeps_a_summary_from_paying() -> None:
    scene = Scene("summarise", price=Price(1_000_000, 4_000_000, cache_read=0))
    scene.counts(talk(8), Usage(700, cache_read_tokens=700))

    assert await scene.slim(*talk(8)) == talk(8)
    assert scene.summaries == ["not_worth"]


async def test_a_writer_is_shown_no_more_than_it_can_read() -> None:
    scene = Scene("summarise", window=4000, reads=2000)
    await scene.slim(*worked(16))

    shown = scene.channel.asked[0].messages[0].text
    assert "result left out" in shown
    assert "calls look_3" in shown


async def test_no_summary_is_asked_for_of_what_its_writer_cannot_read() -> None:
    scene = Scene("summarise", reads=1000)

    assert await scene.slim(*talk(8)) == talk(8)
    assert scene.channel.asked == []


async def test_the_last_call_of_a_cap_is_not_spent_on_a_summary() -> None:
    scene = Scene("summarise", affordable=1)

    assert await scene.slim(*talk(8)) == talk(8)
    assert scene.channel.asked == []


async def test_the_end_of_the_time_is_the_end() -> None:
    scene = Scene("summarise", writes=lambda _request: Line(DeadlinePassed("over")))

    with pytest.raises(DeadlinePassed):
        await scene.slim(*talk(8))


async def test_the_beginning_is_left_out_as_the_last_resort_and_that_is_told() -> None:
    scene = Scene("truncate")

    left = await scene.slim(*talk(30))

    assert left[0] == SYSTEM
    assert left[-1] == talk(30)[-1]
    assert "earlier messages of this conversation were left out" in left[1].text
    assert scene.warnings == ["context_truncated"]
    assert scene.slimmed[0].after <= 600


@pytest.mark.parametrize("on_wall", ["refuse", "truncate"])
async def test_nothing_is_cut_of_what_fits_where_it_is_not_to_be_cut_early(on_wall: OnWall) -> None:
    scene = Scene(on_wall, window=2000)

    assert await scene.slim(*worked(8)) == worked(8)
    assert await Scene("drop_tool_results", window=2000).slim(*worked(8)) != worked(8)


async def test_no_more_is_left_out_than_must_be() -> None:
    scene = Scene("truncate")

    left = await scene.slim(*talk(30))

    longer = talk(30)[-len(left) + 1 :]
    assert scene.slimmed[0].after + len(longer[0].text) // 4 > 600


async def test_results_of_tools_go_before_anything_is_left_out() -> None:
    scene = Scene("truncate", window=2000)

    await scene.slim(*worked(12))

    assert scene.warnings == ["tool_results_dropped"]


async def test_where_a_summary_is_refused_at_the_wall_the_beginning_is_left_out() -> None:
    scene = Scene("summarise", writes=lambda _request: "They talked.")

    left = await scene.slim(*talk(30))

    assert scene.warnings == ["summary_rejected", "context_truncated"]
    assert len(left) < len(talk(30))


async def test_an_earlier_summary_outlives_a_truncation() -> None:
    scene = Scene("summarise")
    await scene.slim(*talk(8))
    scene.writes = lambda _request: "Lost."

    left = await scene.slim(*talk(30))

    assert "They spoke of" in left[1].text
    assert "left out" in left[1].text


async def test_the_last_turns_are_refused_rather_than_cut() -> None:
    huge = (SYSTEM, said("user", "?"), called("a"), gave("a", "x" * 9000), *talk(1)[1:])

    for on_wall in ALL:
        with pytest.raises(RequestRejected):
            await Scene(on_wall).slim(*huge)


async def test_a_pinned_message_is_never_cut() -> None:
    for on_wall in ("summarise", "truncate"):
        left = await Scene(on_wall, pins=("Item 103",)).slim(*talk(30))

        assert talk(30)[7] in left
        assert talk(30)[9] not in left


async def test_the_last_pinned_text_may_be_in_what_a_tool_gave() -> None:
    left = await Scene("truncate", pins=("needle",)).slim(
        SYSTEM, said("user", "?"), called("a"), gave("a", "needle"), *talk(30)[1:]
    )

    assert left[1:4] != talk(30)[1:4]
    assert called("a") in left
    assert gave("a", "needle") in left


async def test_lengths_are_judged_by_what_the_provider_counts() -> None:
    scene = Scene("truncate")
    scene.counts(talk(8), Usage(2 * 492))

    left = await scene.slim(*talk(12))

    assert len(left) < len(talk(12))


async def test_it_is_the_same_request_but_for_its_messages() -> None:
    request = Request("m", talk(30), user="u", sampling=Sampling(temperature=0.5), step="7")

    slim = await Scene("truncate").slimming().slim(request)

    assert replace(slim, messages=request.messages) == request
