"""Ollama's own Python client: what it sends, and what it makes of the answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.test_embeddings import TEXTS, host
from tests.e2e.test_ollama import CALLING, GREETING, HI, PIXEL, TOOL, answered
from tests.e2e.turns import MODELS, streamed, whole
from tests.fakes import script
from tests.fakes.embeddings import vector_of
from tests.fakes.gateway import KEYS
from tests.patience import PATIENCE_S

ollama = pytest.importorskip("ollama")
EVERY = pytest.mark.parametrize("model", MODELS)


@pytest.fixture
def client(scene: Scene) -> Iterator[Any]:
    key = {"authorization": f"Bearer {KEYS['k1']}"}
    with ollama.Client(host=scene.url, headers=key, timeout=PATIENCE_S) as client:
        yield client


@EVERY
def test_it_reads_an_answer(scene: Scene, client: Any, model: str) -> None:
    scene.upstream.plays(whole(model, GREETING), streamed(model, GREETING))

    answer = client.chat(model, HI)
    parts = list(client.chat(model, HI, stream=True))

    assert (answer.message.content, answer.message.thinking) == (GREETING.text, GREETING.thought)
    assert "".join(part.message.content or "" for part in parts) == GREETING.text
    assert "".join(part.message.thinking or "" for part in parts) == GREETING.thought
    for last in (answer, parts[-1]):
        assert (last.done, last.done_reason, last.eval_count) == (True, "stop", 4)
        assert last.total_duration >= last.eval_duration >= 0


@EVERY
@pytest.mark.parametrize("stream", [True, False])
def test_it_runs_a_loop_of_tools(scene: Scene, client: Any, model: str, *, stream: bool) -> None:
    play = streamed if stream else whole
    scene.upstream.plays(play(model, CALLING), play(model, GREETING))
    talk: list[Any] = list(HI)

    answer = client.chat(model, talk, tools=[TOOL], stream=stream)
    for part in answer if stream else [answer]:
        talk.append(part.message)
        talk += [
            {"role": "tool", "content": str(call.function.arguments["x"]), "tool_name": "add"}
            for call in part.message.tool_calls or ()
        ]
    list(client.chat(model, talk, tools=[TOOL], stream=stream))

    sent = answered(scene.upstream.asked[1].body)
    assert sent == [({"x": 1}, "1"), ({"x": 2}, "2")]


@EVERY
def test_it_generates(scene: Scene, client: Any, model: str) -> None:
    scene.upstream.plays(whole(model, GREETING), streamed(model, GREETING))
    image = base64.b64decode(PIXEL)

    answer = client.generate(model, "Hello?", images=[image], options={"num_predict": 9})
    parts = list(client.generate(model, "Hello?", stream=True))

    assert answer.response == "".join(part.response for part in parts) == GREETING.text
    assert answer.thinking == "".join(part.thinking or "" for part in parts) == GREETING.thought
    assert PIXEL in str(scene.upstream.asked[0].body)


def test_it_finds_models(client: Any) -> None:
    names = [model.model for model in client.list().models]
    shown = client.show("oa-model")

    assert {"oa-model:latest", "an-model:latest"} <= set(names)
    assert "completion" in shown.capabilities
    assert shown.modelinfo["general.architecture"]
    assert client.ps().models == []
    assert client.pull("oa-model").status == "success"
    assert [part.status for part in client.pull("oa-model", stream=True)][-1] == "success"
    assert client.generate("oa-model:latest").done_reason == "load"


def test_it_raises_at_errors(scene: Scene, client: Any) -> None:
    scene.upstream.plays(script.sse(script.begin(), script.text("Hel"), end="fin"))
    asked: list[Json] = HI

    with pytest.raises(ollama.ResponseError, match="model 'nope' not found") as unknown:
        client.chat("nope", asked)
    with pytest.raises(ollama.ResponseError, match="not found"):
        list(client.chat("nope", asked, stream=True))
    with pytest.raises(ollama.ResponseError, match="connection"):
        list(client.chat("oa-model", asked, stream=True))
    with pytest.raises(ollama.ResponseError, match="configuration"):
        client.delete("oa-model")

    assert unknown.value.status_code == 404


def test_it_embeds(scene: Scene, client: Any) -> None:
    scene.upstream.chooses(host())

    answer = client.embed("oa-embed", TEXTS)
    old = client.embeddings("oa-embed", "a text")

    assert [list(vector) for vector in answer.embeddings] == [vector_of(text) for text in TEXTS]
    assert answer.prompt_eval_count == 4
    assert list(old.embedding) == vector_of("a text")
