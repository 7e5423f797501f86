"""The OpenAI SDK searches for tools itself, and the model calls what it found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from openai.types.responses import Response

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import Called, Turn, streamed, whole
from tests.fakes.script import Answer

MODELS = ("oa-model", "an-model")
LOOK = Called("call_2", "look", "{}")


def _ended(answer: Json) -> Response:
    """Return the response, which may come as a stream."""
    if isinstance(answer, Response):
        return answer
    ended: Response = [*answer][-1].response
    return ended


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("how", [whole, streamed])
def test_a_search_of_the_clients_finds_tools_that_are_called(
    scene: Scene, model: str, how: Callable[[str, Turn], Answer]
) -> None:
    look: Json = {"type": "function", "name": "look", "parameters": {}, "defer_loading": True}
    asked: Json = {
        "model": model,
        "tools": [{"type": "tool_search", "execution": "client"}],
        "stream": how is streamed,
    }
    search = Called("call_1", "tool_search", '{"query": "look"}')
    scene.upstream.plays(*(how(model, Turn(calls=(call,))) for call in (search, LOOK)))

    first = _ended(scene.chat.responses.create(**asked, input="a"))
    [called] = first.output
    assert called.type == "tool_search_call"
    assert (called.call_id, called.execution) == ("call_1", "client")
    assert called.arguments == {"query": "look"}
    found: Json = {"type": "tool_search_output", "call_id": "call_1", "execution": "client"}
    items: Json = [
        {"role": "user", "content": "a"},
        called.model_dump(),
        {**found, "tools": [look]},
    ]
    second = _ended(scene.chat.responses.create(**asked, input=items))

    [call] = second.output
    assert call.type == "function_call"
    assert call.name == "look"
    assert b"look" in scene.upstream.asked[1].raw
