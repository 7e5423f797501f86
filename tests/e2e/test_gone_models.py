"""A provider that has lost a model: its fallbacks answer, on every surface."""

from __future__ import annotations

from typing import Final

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.fakes import script
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import KEYS

SAID: Final = [{"role": "user", "content": "hi"}]
SURFACES: Final[dict[str, tuple[str, Json]]] = {
    "chat": ("/v1/chat/completions", {"messages": SAID}),
    "messages": ("/v1/messages", {"messages": SAID, "max_tokens": 50}),
    "responses": ("/v1/responses", {"input": "hi"}),
    "ollama": ("/api/chat", {"messages": SAID, "stream": False}),
}
GONE: Final = script.error(404, "The model `real-first` does not exist.", code="model_not_found")


@pytest.mark.parametrize("surface", SURFACES)
def test_the_next_model_answers_where_the_providers_is_gone(scene: Scene, surface: str) -> None:
    path, asked = SURFACES[surface]
    scene.upstream.plays(GONE, script.message("still here"))

    reply = _posted(scene, path, {"model": "oa-first", **asked})

    assert reply.status == 200
    assert b"still here" in reply.body
    assert reply.headers["x-lockgate-warnings"] == "fallback: an-cheap"
    assert [call.body["model"] for call in scene.upstream.asked] == ["real-first", "real-cheap"]


@pytest.mark.parametrize("surface", SURFACES)
def test_what_the_client_named_in_vain_is_told_at_once(scene: Scene, surface: str) -> None:
    path, asked = SURFACES[surface]
    scene.upstream.plays(script.error(404, "Item with id 'rs_1' not found."))

    reply = _posted(scene, path, {"model": "oa-first", **asked})

    assert reply.status == 404
    assert len(scene.upstream.asked) == 1


def test_embeddings_move_as_well(scene: Scene) -> None:
    scene.upstream.plays(GONE, GONE)

    reply = _posted(
        scene,
        "/v1/embeddings",
        {"model": "oa-embed", "input": "a", "fallbacks": ["org/embed"]},
    )

    assert reply.status == 404
    called = [call.body["model"] for call in scene.upstream.asked]
    assert called == ["real-embed", "org/embed"]


def _posted(scene: Scene, path: str, asked: Json) -> Reply:
    fields = {"authorization": f"Bearer {KEYS['k1']}"}
    with Exchange(scene.gateway.port, request(path, script.dumps(asked), fields)) as exchange:
        return exchange.whole()
