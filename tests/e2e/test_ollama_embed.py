"""Embeddings at Ollama's two paths, of a host of OpenAI's kind."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.test_embeddings import TEXTS, host
from tests.fakes import script
from tests.fakes.embeddings import vector_of
from tests.fakes.gateway import KEYS
from tests.patience import PATIENCE_S


@pytest.fixture
def client(scene: Scene) -> Iterator[httpx2.Client]:
    key = {"authorization": f"Bearer {KEYS['k1']}"}
    with httpx2.Client(base_url=scene.url, headers=key, timeout=PATIENCE_S) as client:
        yield client


def embed(client: httpx2.Client, **fields: Json) -> httpx2.Response:
    return client.post("/api/embed", json={"model": "oa-embed:latest", **fields})


@pytest.mark.parametrize("form", [None, "base64"], ids=["floats", "base64"])
def test_texts_have_their_vectors(scene: Scene, client: httpx2.Client, form: str | None) -> None:
    scene.upstream.chooses(host(form))

    several = embed(client, input=TEXTS, dimensions=3)
    one = embed(client, input="a text")
    old = client.post("/api/embeddings", json={"model": "oa-embed", "prompt": "a text"})

    assert several.json()["embeddings"] == [vector_of(text) for text in TEXTS]
    assert several.json()["model"] == "oa-embed:latest"
    assert several.json()["prompt_eval_count"] == 4
    assert several.json()["total_duration"] > 0
    assert one.json()["embeddings"] == [vector_of("a text")]
    assert old.json() == {"embedding": vector_of("a text")}
    assert [asked.path for asked in scene.upstream.asked] == ["/v1/embeddings"] * 3
    first, *_ = scene.upstream.asked
    assert first.body == {"model": "real-embed", "input": TEXTS, "dimensions": 3}


def test_what_is_too_much_for_one_call_is_several(scene: Scene, client: httpx2.Client) -> None:
    scene.upstream.chooses(host())
    texts = [f"text {'x' * n}" for n in range(1, 26)]

    answer = embed(client, model="oa-tight", input=texts)

    assert answer.json()["embeddings"] == [vector_of(text) for text in texts]
    assert answer.json()["prompt_eval_count"] == 50
    assert answer.json()["lockgate"]["calls"] == 3
    assert answer.headers["x-lockgate-calls"] == "3"
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize(
    ("model", "status", "text"),
    [
        ("nope", 404, "model 'nope' not found"),
        ("oa-chat", 400, "makes no embeddings"),
        ("an-model", 400, "has no embeddings"),
        ("self_consistency/oa-embed", 400, "techniques work on conversations only"),
    ],
)
@pytest.mark.parametrize("path", ["/api/embed", "/api/embeddings"])
def test_who_makes_none_says_so(
    client: httpx2.Client, path: str, model: str, status: int, text: str
) -> None:
    answer = client.post(path, json={"model": model, "input": "a", "prompt": "a"})

    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert text in answer.json()["error"]


def test_a_model_for_embeddings_answers_no_conversation(client: httpx2.Client) -> None:
    turns = [{"role": "user", "content": "hi"}]
    answer = client.post("/api/chat", json={"model": "oa-embed", "messages": turns})
    shown = client.post("/api/show", json={"model": "oa-embed"}).json()

    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    assert shown["capabilities"] == ["embedding"]


def test_a_refusal_of_the_provider_is_told(scene: Scene, client: httpx2.Client) -> None:
    scene.upstream.plays(script.error(429, "slow down"))

    answer = embed(client, input="a")

    assert (answer.status_code, answer.json()) == (429, {"error": "slow down"})


def test_nothing_to_embed_asks_nobody(client: httpx2.Client) -> None:
    assert embed(client, input=[]).json()["embeddings"] == []
    assert client.post("/api/embeddings", json={"model": "oa-embed"}).json() == {"embedding": []}
