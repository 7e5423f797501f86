"""Both SDKs raise when a stream is cut, wherever and however that happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Called, Turn, events
from tests.fakes import script
from tests.fakes.script import Answer, End

ASKED: list[Json] = [{"role": "user", "content": "hello"}]
TURN = Turn(
    parts=("Hel", "lo."),
    calls=(Called("call_a1", "look_up", '{"q": "tides"}'),),
    thought="They greet.",
)
FAILURES = (openai.APIError, anthropic.APIError)
Read = Callable[[Scene, str], None]


def iterate_chat(scene: Scene, model: str) -> None:
    """Read a chat stream to its end."""
    with scene.chat.chat.completions.create(model=model, messages=ASKED, stream=True) as stream:
        for _ in stream:
            pass


def fold_chat(scene: Scene, model: str) -> None:
    """Ask the chat helper for the whole answer."""
    with scene.chat.chat.completions.stream(model=model, messages=ASKED) as stream:
        stream.get_final_completion()


def iterate_message(scene: Scene, model: str) -> None:
    """Read a message's stream to its end."""
    with scene.messages.messages.create(
        model=model, max_tokens=9, messages=ASKED, stream=True
    ) as stream:
        for _ in stream:
            pass


def fold_message(scene: Scene, model: str) -> None:
    """Ask the messages helper for the whole answer."""
    with scene.messages.messages.stream(model=model, max_tokens=9, messages=ASKED) as stream:
        stream.get_final_message()


READERS: list[Read] = [iterate_chat, fold_chat, iterate_message, fold_message]


def cuts(model: str, end: End) -> Iterator[Answer]:
    """Yield the stream cut after every event but the last, and in the middle of each.

    A reset may overtake what was sent before it, so that where it falls in an event says little.
    """
    every = events(model, TURN)
    for place, event in enumerate(every):
        half = len(event) // 2
        if end != "reset":
            yield script.sse(*every[:place], event[:half], end=end)
        if place < len(every) - 1:
            yield script.sse(*every[: place + 1], end=end)


@pytest.mark.parametrize("end", ["fin", "reset"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("read", READERS)
def test_a_connection_that_breaks_anywhere_raises(
    scene: Scene, read: Read, model: str, end: End
) -> None:
    complete: list[int] = []

    for place, answer in enumerate(cuts(model, end)):
        scene.upstream.plays(answer)
        try:
            read(scene, model)
        except FAILURES:
            continue
        complete.append(place)

    assert complete == []


def told_the_end(model: str) -> bytes:
    """Return what is in the event that says why the model stopped."""
    return {
        "oa": b'"finish_reason":"tool_calls"',
        "an": b'"stop_reason":"tool',
        "rs": b'"status":"completed"',
    }[model[:2]]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("read", READERS)
def test_a_body_that_ends_early_in_good_order_raises(scene: Scene, read: Read, model: str) -> None:
    complete: list[int] = []
    places = 0

    for place, answer in enumerate(cuts(model, "whole")):
        if told_the_end(model) in b"".join(w for w in answer.writes if isinstance(w, bytes)):
            break
        places += 1
        scene.upstream.plays(answer)
        try:
            read(scene, model)
        except FAILURES:
            continue
        complete.append(place)

    assert complete == []
    assert places > 15


@pytest.mark.parametrize("model", ["oa-model", "an-model"])
def test_a_body_that_lacks_only_its_end_mark_is_whole(scene: Scene, model: str) -> None:
    """All was said, and a host that leaves the mark out is no reason to lose an answer.

    Of a Responses API the mark is what tells how the answer ended.
    """
    *all_but_mark, _mark = events(model, TURN)
    ended = replace(script.sse(*all_but_mark), framing="close")
    scene.upstream.plays(ended, ended)

    with scene.chat.chat.completions.stream(model=model, messages=ASKED) as chunks:
        chatted = chunks.get_final_completion().choices[0]
    with scene.messages.messages.stream(model=model, max_tokens=9, messages=ASKED) as told:
        messaged = told.get_final_message()

    assert (chatted.message.content, chatted.finish_reason) == (TURN.text, "tool_calls")
    assert [block.text for block in messaged.content if block.type == "text"] == [TURN.text]
    assert messaged.stop_reason == "tool_use"


def reported(model: str, words: str) -> bytes:
    """Return an error inside a stream, as the provider words it."""
    if model.startswith("oa"):
        return script.frame({"error": {"message": words, "type": "server_error", "code": None}})
    return script.event("error", error={"type": "overloaded_error", "message": words})


@pytest.mark.parametrize("model", MODELS)
def test_a_failure_told_inside_a_stream_raises_with_its_words(scene: Scene, model: str) -> None:
    begun = events(model, Turn(parts=("Hel", "lo.")))[:4]
    failing = script.sse(*begun, reported(model, "The engine is on fire."))
    scene.upstream.plays(failing, failing)

    with pytest.raises(openai.APIError, match="on fire") as chatted:
        iterate_chat(scene, model)
    with pytest.raises(anthropic.APIStatusError) as messaged:
        iterate_message(scene, model)

    assert chatted.value.body
    assert messaged.value.api_message == "The engine is on fire."
    expected = "api_error" if model.startswith("oa") else "overloaded_error"
    assert messaged.value.type == expected


@pytest.mark.parametrize("model", MODELS)
def test_a_provider_that_falls_silent_raises(scene: Scene, model: str) -> None:
    begun = events(model, Turn(parts=("Hel", "lo.")))[:4]
    scene.upstream.plays(script.sse(*begun, end="hold"), script.sse(*begun, end="hold"))

    with pytest.raises(openai.APIError):
        iterate_chat(scene, model)
    with pytest.raises(anthropic.APIError):
        iterate_message(scene, model)


@pytest.mark.parametrize("model", MODELS)
def test_a_deadline_that_passes_inside_a_stream_raises(scene: Scene, model: str) -> None:
    begun = events(model, Turn(parts=("Hel", "lo.")))[:4]
    scene.upstream.plays(script.sse(*begun, end="hold"), script.sse(*begun, end="hold"))
    soon = {"x-lockgate-deadline-ms": "250"}

    with (
        pytest.raises(openai.APIError, match="within") as chatted,
        scene.chat.chat.completions.create(
            model=model, messages=ASKED, stream=True, extra_headers=soon
        ) as chunks,
    ):
        list(chunks)
    with (
        pytest.raises(anthropic.APIStatusError) as messaged,
        scene.messages.messages.create(
            model=model, max_tokens=9, messages=ASKED, stream=True, extra_headers=soon
        ) as told,
    ):
        list(told)

    assert chatted.value.code == messaged.value.error_code == "deadline_passed"


async def test_the_asynchronous_clients_raise_too(scene: Scene) -> None:
    complete: list[tuple[str, str, int]] = []
    async with scene.async_chat() as chat, scene.async_messages() as messages:
        for model in MODELS:
            for place, answer in enumerate(cuts(model, "fin")):
                scene.upstream.plays(answer, answer)
                try:
                    await _iterate_chat(chat, model)
                    complete.append(("chat", model, place))
                except openai.APIError:
                    pass
                try:
                    await _iterate_message(messages, model)
                    complete.append(("messages", model, place))
                except anthropic.APIError:
                    pass

    assert complete == []


async def _iterate_chat(client: openai.AsyncOpenAI, model: str) -> None:
    stream = await client.chat.completions.create(model=model, messages=ASKED, stream=True)
    async with stream:
        async for _ in stream:
            pass


async def _iterate_message(client: anthropic.AsyncAnthropic, model: str) -> None:
    async with client.messages.stream(model=model, max_tokens=9, messages=ASKED) as stream:
        await stream.get_final_message()
