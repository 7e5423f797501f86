"""Clients that go on with what was said by its name, where the gateway keeps it and where not."""

from __future__ import annotations

import pytest

from techniques.core.json import JsonObject
from tests.clients.conftest import Stage
from tests.clients.playing import results, speaks
from tests.clients.test_failures import chain
from tests.clients.test_matrix import CALLS, RESULTS, WARM
from tests.clients.test_more import NEXT, THOUGHT
from tests.e2e.turns import MODELS

each = pytest.mark.parametrize
models = each("model", MODELS)
ON: dict[str, tuple[str, JsonObject]] = {
    "responses-python/responses": ("chained", {}),
    "responses-python-2/responses": ("chained", {}),
    "responses-node/responses": ("chained", {}),
    "openai-agents/responses": ("chained", {}),
    "langchain/responses": ("reasoning", {"use_previous_response_id": True}),
    "pydantic-ai/responses": ("reasoning", {"openai_previous_response_id": "auto"}),
    "vercel/responses": ("reasoning", {"providerOptions": {}}),
}
"""How each goes on by name: what it is asked to do, and with which settings."""
STATELESS: JsonObject = {"providerOptions": {"openai": {"store": False}}}


@models
@each("client", ON)
def test_a_conversation_goes_on_by_name(keeping: Stage, client: str, model: str) -> None:
    operation, more = ON[client]
    keeping.upstream.chooses(speaks(THOUGHT, NEXT))

    said = keeping.asks(client, operation, model, more=more)

    assert "failed" not in said, said
    assert said["text"] == NEXT.text
    _, second = keeping.upstream.asked
    sent = second.raw.decode()
    assert [text in sent for text in ("Hello?", THOUGHT.text, "And then?")] == [True] * 3


@models
@each("operation", ["tools", "tools_streamed"])
@each("more", [{"providerOptions": {}}, STATELESS], ids=["by name", "whole"])
@each("kept", [True, False], ids=["kept", "not kept"])
def test_a_loop_of_tools_goes_on(
    request: pytest.FixtureRequest, operation: str, model: str, more: JsonObject, *, kept: bool
) -> None:
    stage: Stage = request.getfixturevalue("keeping" if kept else "stage")
    stage.upstream.chooses(speaks(CALLS, WARM))

    said = stage.asks("vercel/responses", operation, model, more=more)

    assert said == {"text": said.get("text"), "called": ["Oslo", "Zürich"]}
    assert said["text"].endswith(WARM.text)
    assert results(stage.upstream.asked[1]) == RESULTS


@each("model", [model for model in MODELS if not model.startswith("rs")])
@each("client", [client for client in ON if client != "vercel/responses"])
def test_where_nothing_is_kept_it_is_said_how_to_have_it(
    stage: Stage, client: str, model: str
) -> None:
    operation, more = ON[client]
    stage.upstream.chooses(speaks(THOUGHT, NEXT))

    said = stage.asks(client, operation, model, more=more)

    seen = list(chain(said["failed"]))
    assert 400 in {one["status"] for one in seen}
    assert "responses.store" in " ".join(one["message"] for one in seen)
    assert len(stage.upstream.asked) == 1
