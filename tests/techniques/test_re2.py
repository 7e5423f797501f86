from __future__ import annotations

from dataclasses import replace

import pytest

from techniques.catalog.re2 import Options, re2
from techniques.core.events import Started, TextDelta
from techniques.core.request import Image, Message, Relay, Request, Text, ToolResult, said
from tests.techniques.scene import Played, Setting, asks, channels, play, scripted

PICTURE = Image(url="https://example.com/sea.png")


async def run(request: Request) -> Played:
    return await play(re2, channels(scripted(lambda _: "word " * 90)), request, Setting(Options()))


def last(played: Played) -> str:
    (asked,) = played.asked
    return asked.messages[-1].text


async def test_the_question_is_put_twice_and_nothing_before_it_is_changed() -> None:
    request = asks().with_turns(said("assistant", "42"), said("user", "And 7 * 7?"))
    played = await run(request)

    assert last(played) == "And 7 * 7?\n\nRead the question again: And 7 * 7?"
    assert played.asked[0].messages[:-1] == request.messages[:-1]


async def test_pictures_are_shown_once_and_first() -> None:
    turn = Message("user", (Text("What is this?"), PICTURE))
    (asked,) = (await run(replace(asks(), messages=(turn,)))).asked

    assert asked.messages[0].parts[:2] == turn.parts
    assert len(asked.messages[0].parts) == 3


@pytest.mark.parametrize(
    "turn",
    [
        Message("tool", (ToolResult("call_1", (Text("12 degrees"),)),)),
        said("assistant", "The answer is"),
        Message("user", (PICTURE,)),
    ],
)
async def test_what_is_no_question_is_not_put_twice(turn: Message) -> None:
    request = asks().with_turns(turn)

    assert (await run(request)).asked[0].messages == request.messages


async def test_the_answer_comes_as_it_is_given() -> None:
    played = await run(asks(stream=True))

    assert isinstance(played.events[0], Started)
    assert sum(isinstance(event, TextDelta) for event in played.events) > 1
    assert [(asked.step, asked.role) for asked in played.asked] == [("a0", "answer")]


async def test_a_request_in_the_clients_own_bytes_is_read() -> None:
    relay = Relay("openai_chat", b"{}", {}, decode=asks)

    assert last(await run(Request("m", relay=relay))).count("What is 6 * 7?") == 2
