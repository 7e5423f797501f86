"""Ollama's API in front of either kind of provider, as its clients write and read it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace

import httpx2
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Called, Turn, events, streamed, whole
from tests.fakes import script
from tests.fakes.gateway import KEYS
from tests.fakes.script import End
from tests.patience import PATIENCE_S

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 16).decode()
HI: list[Json] = [{"role": "user", "content": "hello"}]
GREETING = Turn(parts=("Hel", "lo, Z", "oë \u2028✓"), thought="They greet.")
CALLING = Turn(
    parts=("Let me see.",),
    calls=(Called("call_a1", "add", '{"x": 1}'), Called("call_b2", "add", '{"x": 2}')),
)
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}},
    },
}
ITEMS = ("function_call", "function_call_output")
EVERY = pytest.mark.parametrize("model", MODELS)


@pytest.fixture
def client(scene: Scene) -> Iterator[httpx2.Client]:
    key = {"authorization": f"Bearer {KEYS['k1']}"}
    with httpx2.Client(base_url=scene.url, headers=key, timeout=PATIENCE_S) as client:
        yield client


def lines(answer: httpx2.Response) -> list[Json]:
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text.endswith("\n")
    return [json.loads(line) for line in answer.content.split(b"\n")[:-1]]


def joined(said: list[Json], field: str = "content") -> str:
    return "".join(line["message"].get(field, "") for line in said)


def called(said: list[Json]) -> list[Json]:
    return [call["function"] for line in said for call in line["message"].get("tool_calls", ())]


def ask(client: httpx2.Client, model: str, **fields: Json) -> httpx2.Response:
    return client.post("/api/chat", json={"model": model, "messages": HI, **fields})


@EVERY
def test_an_answer_comes_in_lines(scene: Scene, client: httpx2.Client, model: str) -> None:
    scene.upstream.plays(streamed(model, GREETING))

    said = lines(ask(client, model))

    assert (joined(said), joined(said, "thinking")) == (GREETING.text, GREETING.thought)
    assert [line["done"] for line in said] == [False] * (len(said) - 1) + [True]
    assert (said[-1]["done_reason"], said[-1]["model"]) == ("stop", model)
    assert (said[-1]["prompt_eval_count"], said[-1]["eval_count"]) == (12, 4)


@EVERY
def test_an_answer_comes_in_one_object(scene: Scene, client: httpx2.Client, model: str) -> None:
    scene.upstream.plays(whole(model, GREETING))

    answer = ask(client, model, stream=False).json()

    message = {"role": "assistant", "content": GREETING.text, "thinking": GREETING.thought}
    assert answer["message"] == message
    assert (answer["done"], answer["prompt_eval_count"], answer["eval_count"]) == (True, 12, 4)


@EVERY
@pytest.mark.parametrize("stream", [True, False])
def test_tools_are_called_and_answered_by_clients_that_lose_ids(
    scene: Scene, client: httpx2.Client, model: str, *, stream: bool
) -> None:
    play = streamed if stream else whole
    scene.upstream.plays(play(model, CALLING), play(model, GREETING))

    answer = ask(client, model, tools=[TOOL], stream=stream)
    said = lines(answer) if stream else [answer.json()]
    calls = called(said)
    talk = [
        *HI,
        {"role": "assistant", "content": "", "tool_calls": [{"function": c} for c in calls]},
        {"role": "tool", "content": "one", "tool_name": "add"},
        {"role": "tool", "content": "two"},
    ]
    ask(client, model, tools=[TOOL], stream=stream, messages=talk)

    assert [(c["name"], c["arguments"]) for c in calls] == [("add", {"x": 1}), ("add", {"x": 2})]
    assert said[-1]["done_reason"] == "stop"
    assert answered(scene.upstream.asked[1].body) == [({"x": 1}, "one"), ({"x": 2}, "two")]


def answered(body: Json) -> list[tuple[Json, str]]:
    """Return the arguments of each call that a provider was sent, and the result it was told."""
    if "input" in body:
        items = {kind: [i for i in body["input"] if i.get("type") == kind] for kind in ITEMS}
        sent = {i["call_id"]: json.loads(i["arguments"]) for i in items["function_call"]}
        return [(sent[i["call_id"]], _text(i["output"])) for i in items["function_call_output"]]
    turns: list[Json] = body["messages"]
    if any("tool_calls" in turn for turn in turns):
        calls = [call for turn in turns for call in turn.get("tool_calls", ())]
        given = {c["id"]: json.loads(c["function"]["arguments"]) for c in calls}
        results = [turn for turn in turns if turn["role"] == "tool"]
        return [(given[turn["tool_call_id"]], turn["content"]) for turn in results]
    blocks = [b for turn in turns if isinstance(turn["content"], list) for b in turn["content"]]
    made = {b["id"]: b["input"] for b in blocks if b["type"] == "tool_use"}
    told = [b for b in blocks if b["type"] == "tool_result"]
    return [(made[block["tool_use_id"]], _text(block["content"])) for block in told]


def _text(content: Json) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_a_provider_of_openais_kind_is_asked_in_its_words(
    scene: Scene, client: httpx2.Client
) -> None:
    scene.upstream.plays(whole("oa-model", GREETING))
    options = {"num_predict": 77, "stop": ["END"], "temperature": 0.5, "seed": 7, "num_ctx": 4096}
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is it?", "images": [PIXEL]},
    ]

    answer = ask(
        client,
        "oa-model",
        stream=False,
        messages=turns,
        options=options,
        format={"type": "object", "properties": {"x": {"type": "integer"}}},
        tools=[TOOL],
        keep_alive="5m",
    )

    [asked] = scene.upstream.asked
    body = asked.body
    shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert body["messages"][1]["content"] == [shown, {"type": "text", "text": "What is it?"}]
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    assert (limit, body["stop"], body["temperature"], body["seed"]) == (77, ["END"], 0.5, 7)
    assert body["response_format"]["json_schema"]["schema"]["properties"]
    assert body["tools"] == [TOOL]
    assert not body.keys() & {"options", "format", "keep_alive", "num_ctx", "think"}
    assert answer.headers["x-lockgate-warnings"] == "field_dropped: options.num_ctx"


def test_a_provider_of_anthropics_kind_is_asked_in_its_words(
    scene: Scene, client: httpx2.Client
) -> None:
    scene.upstream.plays(whole("an-model", GREETING))

    prompt = {"model": "an-model", "prompt": "What is it?", "system": "Be brief."}
    answer = client.post(
        "/api/generate",
        json={**prompt, "images": [PIXEL], "stream": False, "options": {"num_predict": 77}},
    )

    [asked] = scene.upstream.asked
    assert (asked.path, asked.body["max_tokens"]) == ("/v1/messages", 77)
    assert "Be brief." in str(asked.body["system"])
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    shown, text = asked.body["messages"][0]["content"]
    assert shown == {"type": "image", "source": source}
    assert text == {"type": "text", "text": "What is it?"}
    assert answer.json()["response"] == GREETING.text
    assert answer.json()["thinking"] == GREETING.thought


@EVERY
@pytest.mark.parametrize("end", ["fin", "reset"])
@pytest.mark.parametrize("cut", [2, -3])
def test_a_stream_that_is_cut_ends_in_an_error(
    scene: Scene, client: httpx2.Client, model: str, end: End, cut: int
) -> None:
    scene.upstream.plays(script.sse(*events(model, GREETING)[:cut], end=end))

    answer = ask(client, model)

    if answer.status_code == 200:
        *before, last = lines(answer)
        assert not any(line["done"] for line in before)
    else:
        last = answer.json()
    assert list(last) == ["error"]
    assert last["error"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_refusal_of_the_provider_is_told_with_its_status(
    scene: Scene, client: httpx2.Client, *, stream: bool
) -> None:
    scene.upstream.plays(script.error(429, "slow down", headers={"retry-after": "7"}))

    answer = ask(client, "oa-model", stream=stream)

    assert (answer.status_code, answer.json()) == (429, {"error": "slow down"})
    assert answer.headers["retry-after"] == "7"


def test_a_wrong_key_and_none_are_refused(client: httpx2.Client) -> None:
    for key in ("Bearer wrong", ""):
        answer = client.post(
            "/api/chat", headers={"authorization": key}, json={"model": "oa-model", "messages": HI}
        )
        assert (answer.status_code, list(answer.json())) == (401, ["error"])


@EVERY
def test_a_cut_answer_says_so(scene: Scene, client: httpx2.Client, model: str) -> None:
    scene.upstream.plays(whole(model, replace(GREETING, cut=True)))

    assert ask(client, model, stream=False).json()["done_reason"] == "length"


def test_thinking_is_asked_for_and_kept_from(scene: Scene, client: httpx2.Client) -> None:
    scene.upstream.plays(*(whole("an-adapts", GREETING) for _ in range(3)))
    for think in (True, "high", False):
        ask(client, "an-adapts", stream=False, think=think)

    on, high, off = (asked.body for asked in scene.upstream.asked)
    assert on["thinking"]["type"] == high["thinking"]["type"] == "adaptive"
    assert high["output_config"]["effort"] == "high"
    assert off.get("thinking", {"type": "disabled"})["type"] == "disabled"
