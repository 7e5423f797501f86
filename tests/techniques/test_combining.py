from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence

from pydantic import BaseModel

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.engines.attempt import begin
from techniques.engines.combining import Combining, combined
from techniques.parts.candidates import Candidate
from tests.techniques.scene import (
    Answer,
    Played,
    Setting,
    asks,
    channels,
    play,
    scripted,
)

CHEAP = Combining(guard="cheap")
SEA = asks("Tell me of the sea.")
DEEP = "The sea is deep. It covers most of the earth. Nobody knows all that lives in it."
SALT = "The sea is salt. It is deep in most places. Few know all that lives in it."
BOTH = "The sea is deep and salt. It covers most of the earth. Few know what lives in it."


class NoOptions(BaseModel, frozen=True):
    pass


def drawn(*texts: str | Reply, weights: Sequence[float] = ()) -> list[Candidate]:
    replies = [replied(text) if isinstance(text, str) else text for text in texts]
    weighing = weights or [1.0] * len(replies)
    return [
        Candidate(place, reply, f"text|{place}", weight=weight)
        for place, (reply, weight) in enumerate(zip(replies, weighing, strict=True))
    ]


async def run(
    candidates: Sequence[Candidate],
    written: Answer | Callable[[Request], Answer] = BOTH,
    request: Request = SEA,
    settings: Combining = CHEAP,
) -> Played:
    async def technique(task: Task[NoOptions], models: Channels) -> AsyncGenerator[Event, None]:
        async for event in combined(begin(task, models, "test"), candidates, settings):
            yield event

    answer = written if callable(written) else (lambda _request: written)
    return await play(technique, channels(scripted(answer)), request, Setting(NoOptions()))


async def test_one_answer_is_written_from_several() -> None:
    played = await run(drawn(DEEP, SALT))
    assert played.text == BOTH
    assert played.roles() == ["synthesis"]
    assert played.note("combined")["by"] == "writing"


async def test_number_that_nobody_gave_keeps_the_answer_back() -> None:
    played = await run(drawn(DEEP, SALT), "The sea is 11 km deep. It is salt. It is old.")
    assert played.text == DEEP
    assert played.note("synthesis")["broke"] == "novelty"
