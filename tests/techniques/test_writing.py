from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import anyio
import pytest

from techniques.core.channel import TechniqueChannel
from techniques.core.errors import DeadlinePassed, GatewayError, StreamBroken, UpstreamFailed
from techniques.core.events import Event, TextDelta
from techniques.core.reply import Reply, replied
from techniques.core.request import Request, Text, Thinking, ToolCall
from techniques.core.task import Task
from techniques.phases.combining import Combining
from techniques.testing import Line
from tests.techniques.drafts import (
    BOTH,
    CHEAP,
    DEEP,
    SALT,
    SEA,
    Dictated,
    NoOptions,
    combine,
    combining,
    dictating,
    drawn,
)
from tests.techniques.scene import (
    Answer,
    Cap,
    Setting,
    channels,
    play,
    prefers,
    scripted,
    shown,
)

DRAFTS = drawn(DEEP, SALT)
DOWN = UpstreamFailed("down", retryable=True)
NEWS = "The sea is 11 km deep. It is salt. It is old."
LATE_NEWS = "The sea is deep. It is salt. It is 11 km deep. It is old."
FULL, POST, OFF = Combining(guard="full"), Combining(guard="post"), Combining(guard="off")
LIVE = (CHEAP, POST, OFF)
EVERY = (FULL, *LIVE)


def liking(liked: str, written: Answer = BOTH) -> Callable[[Request], Answer]:
    """Write *written*, and prefer the answer that is *liked*, or neither if none is."""

    def answer(request: Request) -> Answer:
        if request.role != "judge":
            return written
        text = shown(request)
        if liked not in text:
            return prefers("tie")
        return prefers("1" if f"answer 1>>\n{liked}" in text else "2")

    return answer


@dataclass
class Watched:
    """What a client saw of an answer, each piece of text with its second."""

    events: list[Event] = field(default_factory=list)
    texts: list[tuple[float, str]] = field(default_factory=list)
    error: GatewayError | None = None

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.texts)


async def watch(
    channel: Dictated, settings: Combining = CHEAP, deadline: float | None = None
) -> Watched:
    watched, start = Watched(), anyio.current_time()
    until = None if deadline is None else start + deadline
    task = Task(SEA, NoOptions(), deadline=until)
    technique = TechniqueChannel(combining(DRAFTS, settings), task, dictating(channel))
    try:
        async with technique.open(replace(SEA, stream=True)) as events:
            async for event in events:
                watched.events.append(event)
                if isinstance(event, TextDelta):
                    watched.texts.append((anyio.current_time() - start, event.text))
    except GatewayError as error:
        watched.error = error
    return watched


async def test_an_answer_is_seen_sentence_by_sentence_once_two_have_passed() -> None:
    watched = await watch(Dictated(["One is ", "here. Two is", " here. Three", " is here. Four."]))
    assert watched.texts == [
        (3, "One is here."),
        (3, " Two is here."),
        (4, " Three is here."),
        (4, " Four."),
    ]


@pytest.mark.parametrize("settings", [POST, OFF])
async def test_what_is_not_guarded_before_is_seen_as_it_comes(settings: Combining) -> None:
    watched = await watch(Dictated(["One is ", "here. Two"]), settings)
    assert watched.texts == [(1, "One is "), (2, "here. Two")]


async def test_nothing_is_seen_before_the_end_where_a_judge_has_to_agree() -> None:
    watched = await watch(Dictated(["One is here. Two is here. Three is here. ", "Four."]), FULL)
    assert watched.text == DEEP


@pytest.mark.parametrize("settings", EVERY)
async def test_what_was_seen_is_what_the_answer_is(settings: Combining) -> None:
    whole = await combine(DRAFTS, liking(BOTH), settings=settings)
    streamed = await combine(DRAFTS, liking(BOTH), replace(SEA, stream=True), settings)
    assert whole.reply == streamed.reply
    assert whole.text == BOTH
    assert [one.stream for one in streamed.asked if one.role == "synthesis"] == [settings != FULL]


@pytest.mark.parametrize("settings", EVERY)
@pytest.mark.parametrize("nothing", [DOWN, "", "   ", Line(Reply((Thinking("hm"),)), breaks=DOWN)])
async def test_where_nothing_is_written_the_best_is_the_answer(
    settings: Combining, nothing: Answer
) -> None:
    played = await combine(DRAFTS, nothing, settings=settings)
    assert played.reply == DRAFTS[0].reply


@pytest.mark.parametrize("settings", LIVE)
async def test_what_breaks_off_after_it_was_seen_is_an_error(settings: Combining) -> None:
    channel = Dictated(["One is here. Two is here. ", "Three"], DOWN)
    watched = await watch(channel, settings)
    assert watched.error is DOWN
    assert watched.text.startswith("One is here. Two is here.")
    assert DEEP not in watched.text
    assert channel.closed_at is not None


async def test_what_breaks_off_before_it_was_seen_is_replaced() -> None:
    watched = await watch(Dictated(["One is here. Two"], DOWN))
    assert (watched.text, watched.error) == (DEEP, None)


async def test_what_stops_without_an_end_has_broken_off() -> None:
    silent = Dictated(["One is here. Two is here. Three"], ends=False)
    assert isinstance((await watch(silent)).error, StreamBroken)
    silent = Dictated(["One is here. Two"], ends=False)
    assert (await watch(silent)).text == DEEP


async def test_at_the_deadline_the_best_is_the_answer() -> None:
    watched = await watch(Dictated(["One", " is", " here"]), deadline=2.5)
    assert (watched.text, watched.error) == (DEEP, None)
    assert watched.texts[0][0] == 2.5
    assert "deadline_reached" in str(watched.events)


async def test_a_deadline_after_some_was_seen_is_an_error() -> None:
    watched = await watch(Dictated(["One", " is", " here"]), POST, deadline=2.5)
    assert watched.text == "One is"
    assert isinstance(watched.error, DeadlinePassed)


async def test_an_answer_that_fails_at_its_beginning_is_never_seen_and_not_read_on() -> None:
    channel = Dictated(["It is 11 km deep. It", " is salt. It", " is old."])
    watched = await watch(channel)
    assert watched.text == DEEP
    assert channel.closed_at == watched.texts[0][0] == 1


async def test_an_answer_that_fails_later_is_told_to_have_failed() -> None:
    played = await combine(DRAFTS, LATE_NEWS)
    assert played.text == LATE_NEWS
    assert played.warnings["synthesis_doubtful"] == "novelty"
    assert played.note("synthesis")["broke"] == "novelty"


async def test_a_writer_that_declines_is_not_heard() -> None:
    played = await combine(DRAFTS, "I can't help with that. Ask someone else. They may know.")
    assert (played.text, played.note("synthesis")["broke"]) == (DEEP, "form")


async def test_a_short_answer_is_looked_at_to_its_end() -> None:
    played = await combine(DRAFTS, "The sea is deep. It is 11 km")
    assert (played.text, played.warnings) == (DEEP, {})


async def test_a_guard_after_the_fact_only_warns() -> None:
    played = await combine(DRAFTS, NEWS, settings=POST)
    assert (played.text, played.warnings) == (NEWS, {"synthesis_doubtful": "novelty"})


async def test_without_a_guard_nobody_looks() -> None:
    played = await combine(DRAFTS, NEWS, settings=OFF)
    assert (played.text, played.warnings) == (NEWS, {})


@pytest.mark.parametrize(
    ("written", "broke"),
    [
        (NEWS, "novelty"),
        (LATE_NEWS, "novelty"),
        (f"{BOTH} " * 3, "length"),
        ("I can't help with that.", "form"),
        (replied("The sea is", "length"), "form"),
    ],
)
async def test_every_guard_can_keep_an_answer_back(written: Answer, broke: str) -> None:
    played = await combine(DRAFTS, written, settings=FULL)
    assert played.text == DEEP
    assert played.note("synthesis")["broke"] == broke
    assert played.roles() == ["synthesis"]


async def test_an_answer_must_conclude_what_most_do() -> None:
    texts = ("It is deep.\nAnswer: no", "It is salt.\nAnswer: no", "Well.\nAnswer: yes")
    other = "It is deep and salt.\nAnswer: yes"
    for settings in (FULL, CHEAP):
        played = await combine(drawn(*texts), other, settings=settings)
        assert played.text == texts[0]
        assert played.note("synthesis")["broke"] == "key"


@pytest.mark.parametrize(
    ("liked", "answer"), [(BOTH, BOTH), (DEEP, DEEP), ("neither of them", DEEP)]
)
async def test_a_judge_must_prefer_what_was_written(liked: str, answer: str) -> None:
    played = await combine(DRAFTS, liking(liked), settings=FULL)
    assert played.text == answer
    assert sorted(one.step for one in played.asked) == ["ps0a", "ps0b", "s0"]
    assert (played.note("synthesis")["broke"] is None) == (answer == BOTH)


async def test_a_judge_that_cannot_be_paid_is_not_asked() -> None:
    channel = scripted(liking(DEEP))
    setting = Setting(NoOptions(), cap=Cap(channel, 2))
    played = await play(combining(DRAFTS, FULL), channels(channel), SEA, setting)
    assert (played.text, played.roles()) == (BOTH, ["synthesis"])
    assert "cap_reached" in played.warnings


@pytest.mark.parametrize("settings", LIVE)
async def test_a_call_of_a_tool_is_no_part_of_what_is_written(settings: Combining) -> None:
    acts = Reply((Text(BOTH), ToolCall("1", "dive", "{}")), "tool_calls")
    played = await combine(DRAFTS, acts, settings=settings)
    assert played.reply == replied(BOTH)
    assert played.warnings == {"synthesis_doubtful": "form"}


async def test_an_answer_that_is_cut_off_says_so() -> None:
    played = await combine(DRAFTS, replied(BOTH, "length"))
    assert played.reply.finish_reason == "length"
    assert played.warnings["synthesis_doubtful"] == "form"


async def test_the_thoughts_of_a_writer_are_seen_with_its_answer_only() -> None:
    kept = await combine(DRAFTS, Reply((Thinking("hm"), Text(BOTH))))
    assert (kept.reply.thinking, kept.text) == ("hm", BOTH)
    replaced = await combine(DRAFTS, Reply((Thinking("hm"), Text(NEWS))))
    assert (replaced.reply.thinking, replaced.text) == ("", DEEP)
    for settings in (POST, OFF):
        empty = await combine(DRAFTS, Reply((Thinking("hm"),)), settings=settings)
        assert (empty.reply.thinking, empty.text) == ("", DEEP)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("text", [BOTH, NEWS, LATE_NEWS])
async def test_the_answer_does_not_depend_on_how_it_comes(text: str, size: int) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert (await watch(Dictated(pieces))).text == (await combine(DRAFTS, text)).text


async def test_a_client_that_leaves_closes_the_writing() -> None:
    channel = Dictated(["One is here. Two is here. ", *["Three is here. "] * 100])
    task = Task(SEA, NoOptions())
    technique = TechniqueChannel(combining(DRAFTS), task, dictating(channel))
    async with technique.open(SEA) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert channel.closed_at == anyio.current_time()
