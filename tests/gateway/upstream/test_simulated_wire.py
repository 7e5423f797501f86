from __future__ import annotations

import math
from typing import Any

import anyio
import orjson
import pytest

from gateway.upstream.simulated.settings import ABOUT, FINGERPRINT, MODELS, Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from tests.gateway.upstream.simulated_calls import Got, ask, said, send

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def joined(got: Got, index: int = 0) -> str:
    choices = [c for event in got.events for c in event["choices"] if c["index"] == index]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def test_a_streamed_answer_is_the_whole_answer_in_pieces() -> None:
    transport = SimulatedTransport()

    whole = await ask(transport, seed=1, n=2)
    streamed = await ask(transport, seed=1, n=2, stream=True)

    for index in (0, 1):
        content = whole.body["choices"][index]["message"]["content"]
        assert joined(streamed, index) == content
    assert len(streamed.events) > 20
    assert streamed.chunks[-1] == b"data: [DONE]\n\n"
    assert streamed.headers["content-type"].startswith("text/event-stream")


async def test_every_answer_and_chunk_says_that_it_is_simulated() -> None:
    whole = await ask(SimulatedTransport())
    streamed = await ask(SimulatedTransport(), stream=True)

    assert whole.body["system_fingerprint"] == FINGERPRINT
    assert {event["system_fingerprint"] for event in streamed.events} == {FINGERPRINT}
    assert FINGERPRINT in ABOUT


async def test_usage_of_a_stream_comes_only_when_asked_for() -> None:
    options = {"include_usage": True}

    without = await ask(SimulatedTransport(), seed=1, stream=True)
    with_it = await ask(SimulatedTransport(), seed=1, stream=True, stream_options=options)
    whole = await ask(SimulatedTransport(), seed=1)

    assert not any("usage" in event for event in without.events)
    assert with_it.events[-1]["choices"] == []
    assert with_it.events[-1]["usage"] == whole.body["usage"]
    assert all(event["usage"] is None for event in with_it.events[:-1])


async def test_usage_counts_the_pieces_of_all_choices() -> None:
    one, three = (
        await ask(SimulatedTransport(), seed=1),
        await ask(SimulatedTransport(), seed=1, n=3),
    )

    usage = three.body["usage"]
    assert usage["completion_tokens"] > 2 * one.body["usage"]["completion_tokens"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0


async def test_a_limit_on_tokens_cuts_the_answer_short() -> None:
    got = await ask(SimulatedTransport(), max_tokens=4)

    assert got.body["choices"][0]["finish_reason"] == "length"
    assert got.body["usage"]["completion_tokens"] == 4


@pytest.mark.parametrize("more", [1, 9])  # Anthropic's clients may name any number
async def test_a_stop_text_ends_the_answer_before_it(more: int) -> None:
    got = await ask(SimulatedTransport(), stop=["never said"] * more + ["The answer"])

    assert "The answer" not in got.text
    assert got.body["choices"][0]["finish_reason"] == "stop"


async def test_logprobs_are_finite_and_belong_to_the_pieces() -> None:
    got = await ask(SimulatedTransport(), logprobs=True, top_logprobs=3)

    entries = got.body["choices"][0]["logprobs"]["content"]
    assert "".join(entry["token"] for entry in entries) == got.text
    for entry in entries:
        assert math.isfinite(entry["logprob"])
        assert entry["logprob"] < 0
        tops = {top["token"]: top["logprob"] for top in entry["top_logprobs"]}
        assert len(tops) == 3
        assert tops[entry["token"]] == entry["logprob"]
        assert sum(math.exp(value) for value in tops.values()) < 1.0001


async def test_logprobs_of_a_stream_are_those_of_the_whole_answer() -> None:
    whole = await ask(SimulatedTransport(), seed=1, logprobs=True)
    streamed = await ask(SimulatedTransport(), seed=1, logprobs=True, stream=True)

    pieces = [c["logprobs"] for event in streamed.events for c in event["choices"]]
    entries = [entry for piece in pieces if piece for entry in piece["content"]]
    assert entries == whole.body["choices"][0]["logprobs"]["content"]


async def test_a_wrong_answer_has_lower_logprobs_on_average() -> None:
    body = (await ask(SimulatedTransport(), n=60, seed=2, logprobs=True)).body
    means: dict[bool, list[float]] = {True: [], False: []}

    for choice in body["choices"]:
        values = [entry["logprob"] for entry in choice["logprobs"]["content"]]
        right = "answer is 391." in choice["message"]["content"]
        means[right].append(sum(values) / len(values))

    average = {right: sum(values) / len(values) for right, values in means.items()}
    assert average[True] > average[False]


async def test_streamed_tool_calls_are_the_whole_ones_in_pieces() -> None:
    question = "What's the weather in Paris and Oslo?"
    whole = await ask(SimulatedTransport(), question, tools=[WEATHER], seed=1)
    streamed = await ask(SimulatedTransport(), question, tools=[WEATHER], seed=1, stream=True)

    calls: dict[int, dict[str, Any]] = {}
    for event in streamed.events:
        for delta in event["choices"][0]["delta"].get("tool_calls", ()):
            call = calls.setdefault(delta["index"], {"arguments": ""})
            call |= {key: delta[key] for key in ("id", "type") if key in delta}
            call["name"] = delta["function"].get("name", call.get("name"))
            call["arguments"] += delta["function"]["arguments"]
    expected = whole.body["choices"][0]["message"]["tool_calls"]
    assert [calls[i]["id"] for i in sorted(calls)] == [call["id"] for call in expected]
    for index, call in enumerate(expected):
        assert calls[index]["arguments"] == call["function"]["arguments"]
        assert calls[index]["name"] == "get_weather"
    assert streamed.events[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_an_unknown_model_is_not_found() -> None:
    got = await ask(SimulatedTransport(), model="gpt-nothing")

    assert got.status == 404
    assert got.body["error"]["code"] == "model_not_found"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'{"model": "sim-small"}',
        b'{"model": "sim-small", "messages": []}',
        b'{"model": "sim-small", "messages": ["hi"]}',
        b'{"model": "sim-small", "messages": [{"role": "judge", "content": "hi"}]}',
        b'{"model": "sim-small", "messages": [{"role": "user", "content": 3}]}',
        b'{"messages": [{"role": "user", "content": "hi"}]}',
        b'{"model": "sim-small", "messages": [{"role": "user", "content": "hi"}], "n": 0}',
        b'{"model": "sim-small", "messages": [{"role": "user", "content": "hi"}], "stop": 3}',
        b'{"model": "sim-small", "messages": [{"role": "user", "content": "hi"}], "tools": {}}',
        b'{"model": "sim-small", "messages": [{"role": "user", "content": "hi"}], "tools": [{}]}',
        b'{"model": "sim-small", "messages": [{"role": "user", "content": "a"}], "temperature": 9}',
    ],
)
async def test_a_bad_body_is_rejected(raw: bytes) -> None:
    got = await send(SimulatedTransport(), raw)

    assert got.status == 400
    assert got.body["error"]["type"] == "invalid_request_error"


async def test_every_so_many_calls_one_fails_if_so_configured() -> None:
    transport = SimulatedTransport(Simulation(fail_every=3))

    statuses = [(await ask(transport)).status for _ in range(6)]

    assert statuses == [200, 200, 500, 200, 200, 500]


async def test_nothing_in_a_prompt_makes_a_call_fail() -> None:
    for text in ("fail_every=1", "return status 500", "simulate an error 429"):
        assert (await ask(SimulatedTransport(), text)).status == 200


async def test_delays_follow_the_stated_speed() -> None:
    transport = SimulatedTransport(Simulation(speed=2.0))
    model = MODELS["sim-small"]
    start = anyio.current_time()

    got = await ask(transport, seed=1, stream=True)

    tokens = sum("content" in e["choices"][0]["delta"] for e in got.events) - 1
    expected = (model.first_token_s + tokens / model.tokens_per_second) / 2
    assert anyio.current_time() - start == pytest.approx(expected)


async def test_without_a_speed_no_time_passes() -> None:
    start = anyio.current_time()

    await ask(SimulatedTransport())

    assert anyio.current_time() == start


async def test_leaving_early_ends_the_stream() -> None:
    transport = SimulatedTransport(Simulation(speed=1.0))
    with anyio.move_on_after(0.25) as scope:
        await ask(transport, stream=True, messages=said("Tell me about the sea"))

    assert scope.cancelled_caught
    assert (await ask(transport)).status == 200


def test_prices_are_dollars_per_million_tokens() -> None:
    assert MODELS["sim-small"].price.input == 100_000
    assert MODELS["sim-large"].price.output == 4_000_000


async def test_text_in_any_script_survives() -> None:
    got = await ask(SimulatedTransport(), "Schreibe über Zürich 東京 🙂 naïve", stream=True)

    assert "Zürich 東京" in joined(got)
    assert orjson.dumps(joined(got))
