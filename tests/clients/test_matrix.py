"""What every client does, over each of its APIs, with a model behind either dialect."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.clients.conftest import Stage
from tests.clients.playing import dialect_of, formed, results, speaks
from tests.clients.programs.serving import IMAGE
from tests.clients.table import who
from tests.e2e.turns import MODELS, Called, Turn

GREETING = Turn(parts=("Hel", "lo, Z", "oë \u2028✓"))
CALLS = Turn(
    parts=("Let me ", "look."),
    calls=[
        Called("call_A1", "weather", '{"city": "Oslo"}'),
        Called("call_B2", "weather", '{"city": "Zürich"}'),
    ],
)
RESULTS = [("call_A1", "Oslo: 21"), ("call_B2", "Zürich: 21")]
WARM = Turn(parts=("Both are ", "warm."))
SPOT: Json = {"city": "Zürich", "degrees": 21}
MISCOUNTING = {"langchain-node/messages"}
"""Who adds up what an Anthropic stream tells at its start and again at its end."""

NAMELESS = {"ollama-python/ollama"}
"""Who sends calls back without their ids."""
LOOPS = ("tools", "tools_streamed", "graph", "runner")

each = pytest.mark.parametrize
models = each("model", MODELS)


@models
@each("client", who("whole"))
def test_a_whole_answer(stage: Stage, client: str, model: str) -> None:
    stage.upstream.chooses(speaks(GREETING))

    said = stage.asks(client, "whole", model)

    assert said == {"text": GREETING.text, "usage": [12, 4]}
    [asked] = stage.upstream.asked
    assert dialect_of(asked) == model[:2]
    assert "Be brief." in str(asked.body)
    assert "Hello?" in str(asked.body)


@models
@each("client", who("stream"))
def test_a_stream(stage: Stage, client: str, model: str) -> None:
    stage.upstream.chooses(speaks(GREETING))

    said = stage.asks(client, "stream", model)

    assert "failed" not in said, said
    assert said["pieces"] == list(GREETING.parts)
    if client not in MISCOUNTING:
        assert said["usage"] in (None, [12, 4])


@models
@each(("operation", "client"), [(how, client) for how in LOOPS for client in who(how)])
def test_a_loop_of_tools(stage: Stage, client: str, operation: str, model: str) -> None:
    stage.upstream.chooses(speaks(CALLS, WARM))

    said = stage.asks(client, operation, model)

    assert "failed" not in said, said
    assert said["text"].endswith(WARM.text)
    assert said["called"] == ["Oslo", "Zürich"]
    _, second = stage.upstream.asked
    if client in NAMELESS:
        assert [said for _, said in results(second)] == [said for _, said in RESULTS]
    else:
        assert results(second) == RESULTS


@models
@each("client", who("runner"))
def test_who_leaves_a_conversation_to_the_server_sends_it_whole_where_none_is_kept(
    stage: Stage, client: str, model: str
) -> None:
    stage.upstream.chooses(speaks(CALLS, WARM))

    said = stage.asks(client, "runner", model)

    assert "failed" not in said, said
    first, second = stage.upstream.asked
    if first.body.get("thread"):
        assert model.startswith("an"), "its provider is asked to keep it"
        assert second.body["thread"]["type"] == "continue"
    else:
        assert "Hello?" in second.raw.decode()
        assert "Oslo" in second.raw.decode().partition("Hello?")[2]


@models
@each("client", who("structured"))
def test_structured_output(stage: Stage, client: str, model: str) -> None:
    stage.upstream.chooses(speaks(formed(SPOT)))

    assert stage.asks(client, "structured", model) == SPOT


@models
@each("client", who("image"))
def test_an_image(stage: Stage, client: str, model: str) -> None:
    stage.upstream.chooses(speaks(GREETING))

    said = stage.asks(client, "image", model)

    assert said == {"text": GREETING.text}
    assert IMAGE in stage.upstream.asked[0].raw.decode()
