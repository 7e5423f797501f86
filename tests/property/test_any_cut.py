"""A-65: whatever is cut, no pair of call and result is broken, and what must stay does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.context.cut import Cut, applied, parted
from gateway.context.measure import Measure
from gateway.context.rules import OnWall
from gateway.context.turns import boundaries, grouped, is_rule, staying
from techniques.core.errors import RequestRejected
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Request,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.gateway.context.scene import Scene

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(["long " * 60, "pin"])
MEDIA: st.SearchStrategy[Part] = st.one_of(
    TEXTS.map(Text),
    st.builds(Image, data=st.just("aa" * 90)),
    st.builds(Document, text=TEXTS),
    st.just(Audio("bb" * 90, "wav")),
    st.builds(lambda text: Opaque("anthropic", {"type": "odd", "of": text}), TEXTS),
)
MANY = st.lists(MEDIA, max_size=3).map(tuple)


@st.composite
def steps(draw: st.DrawFn) -> list[Message]:
    """Draw one step of an agent: a word, or calls with their results, perhaps parted."""
    role: Role = draw(st.sampled_from(["user", "assistant", "system", "developer", "tool", "tool"]))
    if role != "tool":
        return [Message(role, draw(MANY))]
    count = draw(st.integers(1, 3))
    fresh = draw(st.booleans())  # ids that are used again later are legal in some clients
    names = [f"{draw(st.integers(0, 999)) if fresh else 'call'}_{n}" for n in range(count)]
    calls = tuple(ToolCall(name, "f", draw(TEXTS)) for name in names)
    answers = [Message("tool", (ToolResult(name, draw(MANY)),)) for name in names]
    if draw(st.booleans()):  # as the messages dialect has them
        answers = [Message("tool", tuple(part for one in answers for part in one.parts))]
    between = [Message("user", draw(MANY))] if draw(st.integers(0, 9)) == 0 else []
    thought = (Thinking("hm", "signed"),) if draw(st.booleans()) else ()
    return [Message("assistant", (*thought, *calls)), *between, *answers]


CONVERSATIONS = st.lists(steps(), max_size=12).map(lambda many: [m for step in many for m in step])


def pairs(messages: Sequence[Message]) -> Counter[tuple[str, str]]:
    """Return the calls that have a result; a result without a call is one of no arguments."""
    called: dict[str, str] = {}
    found: Counter[tuple[str, str]] = Counter()
    for part in parts_of(messages):
        if isinstance(part, ToolCall):
            called[part.id] = part.arguments
        elif isinstance(part, ToolResult):
            found[part.call_id, called.get(part.call_id, "no call")] += 1
    return found


def alone(messages: Sequence[Message]) -> Counter[tuple[str, str]]:
    """Return the calls that have no result."""
    calls = [part for part in parts_of(messages) if isinstance(part, ToolCall)]
    return Counter((call.id, call.arguments) for call in calls) - pairs(messages)


def parts_of(messages: Sequence[Message]) -> Iterator[Part]:
    return (part for message in messages for part in message.parts)


def tail(messages: list[Message], keep: int) -> list[Message]:
    return [messages[place] for group in grouped(messages)[-keep:] for place in group]


@given(CONVERSATIONS, st.integers(1, 4), st.integers(0, 99), st.integers(0, 99))
def test_a_cut_breaks_no_pair_and_leaves_the_end_the_rules_and_the_pinned(
    messages: list[Message], keep: int, first: int, second: int
) -> None:
    spoken = parted(messages)
    ends = [0, *boundaries(spoken, keep)]
    cut = Cut(ends[first % len(ends)], "note", ends[second % len(ends)])

    left = list(applied(cut, messages, staying(spoken, ("pin",))))

    assert pairs(left) <= pairs(messages)
    assert alone(left) <= alone(messages)
    assert tail(parted(left), keep) == tail(spoken, keep)
    assert list(filter(is_rule, left)) == list(filter(is_rule, messages))
    kept = [m for m in messages if any(isinstance(p, Text) and p.text == "pin" for p in m.parts)]
    assert all(message in left for message in kept)


@given(CONVERSATIONS)
def test_groups_cover_a_conversation_in_order(messages: list[Message]) -> None:
    assert [place for group in grouped(messages) for place in group] == [*range(len(messages))]


@settings(max_examples=60)
@given(
    CONVERSATIONS,
    st.sampled_from(["drop_tool_results", "summarise", "truncate"]),
    st.integers(150, 900),
    st.integers(1, 4),
)
async def test_whatever_is_done_fits_or_is_refused_and_never_grows(
    messages: list[Message], on_wall: OnWall, window: int, keep: int
) -> None:
    scene = Scene(on_wall, window=window, keep_last=keep)
    whole = tuple(messages)
    try:
        left = await scene.slim(*whole)
    except RequestRejected:
        return

    count = Measure(Request("m")).tokens
    assert count(left) * 0.8 <= window - 100 + 1
    assert left == whole or count(left) < count(whole)
    assert tail(parted(list(left)), keep) == tail(parted(messages), keep)
    assert pairs(left) <= pairs(messages)
    assert alone(left) <= alone(messages)
