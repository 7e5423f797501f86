"""When what a client wants to see of a technique at work is sent, and what it costs to see it."""

from __future__ import annotations

from functools import partial

import anyio
import orjson
import pytest

from techniques.core.errors import UpstreamFailed
from techniques.core.json import Json
from tests.fakes import script
from tests.gateway.surfaces.scene import (
    ENDED,
    Client,
    Played,
    Stage,
    Step,
    chat,
    streamed,
    whole,
)
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
VOTE = {"technique": "self_consistency", "params": {"num_samples": 3, "answer_cue": "off"}}
PAUSE = 0.05
BROKEN = UpstreamFailed("The connection broke.", "transport", retryable=True)


def asking(expose: str, *, stream: bool = True, **wishes: Json) -> Json:
    return chat(stream=stream, reliability={**VOTE, "expose": expose, **wishes})


def slow(text: str, *before: Step) -> Played:
    return streamed(script.begin(), script.text(text), *before, PAUSE, script.finish(), *ENDED)


def saw_candidate(client: Client) -> bool:
    return b'"role":"candidate"' in client.content


async def test_a_trace_is_sent_while_it_is_written() -> None:
    sent: list[tuple[float, bytes]] = []
    client = Client(lambda body: sent.append((anyio.current_time(), body)))
    seen = partial(saw_candidate, client)
    stage = Stage(*(slow("4", seen) for _ in range(3)))

    await stage.serve(asking("trace"), client=client)

    shown = [at for at, body in sent if b'"lockgate":{"role":"candidate"' in body]
    answered = [at for at, body in sent if b'"delta":{"content":"4"}' in body]
    assert len(answered) == 1
    assert answered[0] - shown[0] > PAUSE * 0.9
    assert stage.finished.begun_s is not None
    assert stage.finished.begun_s > PAUSE * 0.9


async def test_calls_are_streamed_for_a_trace_and_only_then() -> None:
    asked = {}
    for view in ("final", "trace", "optimistic"):
        stage = Stage(*(streamed() for _ in range(3)))
        await stage.serve(asking(view))
        asked[view] = {
            orjson.loads(call.body).get("stream", False) for call in stage.upstream.calls
        }

    assert asked == {"final": {False}, "trace": {True}, "optimistic": {False}}


async def test_what_was_asked_by_default_is_the_same_to_the_byte_as_final() -> None:
    answers = []
    for view in ({}, {"expose": "final"}):
        stage = Stage(*(whole("4") for _ in range(3)))
        client = await stage.serve(chat(stream=True, reliability={**VOTE, **view}))
        own = client.headers["x-lockgate-request-id"].encode()
        answers.append(client.content.replace(own, b"ID"))

    assert answers[0] == answers[1]
    assert b'"lockgate":{"role"' not in answers[0]


async def test_a_whole_answer_brings_its_trace_along() -> None:
    stage = Stage(*(whole("4") for _ in range(3)))

    client = await stage.serve(asking("trace", stream=False))

    told = client.json["lockgate"]["trace"]
    assert sorted(piece["step"] for piece in told) == ["c0", "c1"]
    assert len(stage.upstream.calls) == 2
    assert {(piece["role"], piece["model"], piece["text"]) for piece in told} == {
        ("candidate", "fast", "4")
    }
    assert client.json["choices"][0]["message"]["content"] == "4"


async def test_a_failure_before_there_is_anything_to_see_has_its_own_status() -> None:
    stage = Stage(*(streamed(BROKEN) for _ in range(3)))

    client = await stage.serve(asking("trace", on_error="raise"))

    assert client.status == 502
    assert b"lockgate" not in client.content


async def test_a_failure_after_something_was_seen_ends_the_stream_in_an_error() -> None:
    stage = Stage(*(streamed(script.begin(), script.text("4"), BROKEN) for _ in range(3)))

    client = await stage.serve(asking("trace", on_error="raise"))

    assert client.status == 200
    assert b'"lockgate":{"role":"candidate"' in client.content
    assert b'"error"' in client.content
    assert b"[DONE]" not in client.content
    assert stage.finished.outcome == "truncated"


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
async def test_each_phase_is_told_once_something_is_seen(dialect: str) -> None:
    body = asking("optimistic", params={"num_samples": 5, "stop": "exact"})
    stage = Stage(*(slow(text) for text in "12342"), dialect=dialect)

    client = await stage.serve({**body, "max_tokens": 9})

    told = [line for line in client.content.split(b"\n") if line.startswith(b": progress ")]
    stages = [orjson.loads(line.removeprefix(b": progress "))["stage"] for line in told]
    assert stages == ["sampling", "sampled", "sampled"]


async def test_a_client_that_leaves_while_it_looks_on_ends_all_calls() -> None:
    stage = Stage(*(streamed(script.begin(), script.text("4"), 60.0) for _ in range(3)))
    client = Client()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(stage.serve, asking("trace"), None, client)
            await until(partial(saw_candidate, client))
            client.gone.set()

    assert b'"lockgate":{"role":"candidate"' in client.content
    assert all(answer.closed for answer in stage.upstream.given)
    assert {row.outcome for row in stage.finished.rows} == {"client_disconnect"}
