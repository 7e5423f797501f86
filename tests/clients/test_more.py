"""What single clients do besides: thoughts, partial objects, handing over, counting, wishes."""

from __future__ import annotations

import pytest

from techniques.core.json import Json
from tests.clients.conftest import Stage
from tests.clients.playing import formed, speaks
from tests.clients.table import who
from tests.clients.test_matrix import GREETING, SPOT
from tests.e2e.turns import MODELS, Called, Turn
from tests.fakes import script
from tests.fakes.embeddings import answer_to, vector_of

each = pytest.mark.parametrize
models = each("model", MODELS)
THOUGHT = Turn(parts=("Now ", "this."), thought="Let me see.")
NEXT = Turn(parts=("Then ", "that."))
BLIND = {"langchain/chat", "vercel/chat"}
"""Who has no eyes for thoughts that chat completions tell."""
WISH: Json = {
    "x-lockgate-technique": "self_consistency",
    "x-lockgate-params": '{"num_samples": 3}',
}


@models
@each("client", who("reasoning"))
def test_thoughts_are_seen_and_sent_back(stage: Stage, client: str, model: str) -> None:
    stage.upstream.chooses(speaks(THOUGHT, NEXT))

    said = stage.asks(client, "reasoning", model)

    assert "failed" not in said, said
    assert said["text"] == NEXT.text
    assert said["thought"] == ("" if client in BLIND else THOUGHT.thought)
    _, second = stage.upstream.asked
    if not client.startswith("vercel/responses") or not model.startswith("rs"):
        assert "Now this." in second.raw.decode()
    else:
        assert '"item_reference"' in second.raw.decode(), "the provider keeps what was said"
    if client.endswith("/messages") and model.startswith("an"):
        assert THOUGHT.signature in second.raw.decode()


@models
@each("client", who("partial"))
def test_an_object_is_read_while_it_is_written(stage: Stage, client: str, model: str) -> None:
    stage.upstream.chooses(speaks(formed(SPOT)))

    said = stage.asks(client, "partial", model)

    assert said["last"] == SPOT
    assert said["seen"] > 1


@models
@each("client", who("again"))
def test_an_object_that_does_not_fit_is_asked_for_again(
    stage: Stage, client: str, model: str
) -> None:
    stage.upstream.chooses(speaks(formed({"city": "Zürich"}), formed(SPOT)))

    assert stage.asks(client, "again", model) == SPOT
    first, second = stage.upstream.asked
    assert "degrees" in second.raw.decode().replace(first.raw.decode()[1:-1], "")


@models
@each("mode", ["JSON", "JSON_SCHEMA", "MD_JSON", "TOOLS_STRICT", "RESPONSES_TOOLS"])
def test_instructor_asks_in_other_ways(stage: Stage, mode: str, model: str) -> None:
    stage.upstream.chooses(speaks(formed(SPOT)))

    assert stage.asks("instructor/chat", "as_json", model, more={"mode": mode}) == SPOT


@models
def test_an_agent_hands_over(stage: Stage, model: str) -> None:
    over = Turn(calls=[Called("call_h", "transfer_to_other", "{}")])
    stage.upstream.chooses(speaks(over, GREETING))

    said = stage.asks("openai-agents/chat", "handoff", model)

    assert said == {"text": GREETING.text, "by": "other"}


@each("client", [one for one in who("embed") if one.endswith(("/chat", "/ollama"))])
def test_vectors_come_as_they_were_made(stage: Stage, client: str) -> None:
    stage.upstream.chooses(lambda asked: script.body(answer_to(asked.body)))

    said = stage.asks(client, "embed", "org/embed")

    assert "failed" not in said, said
    assert said["vectors"] == [vector_of("one"), vector_of("two")]
    assert {asked.path for asked in stage.upstream.asked} == {"/v1/embeddings"}


@each("client", who("listed"))
def test_models_are_listed(stage: Stage, client: str) -> None:
    said = stage.asks(client, "listed", "an-model")

    assert said["one"] == "an-model"
    assert {"oa-model", "an-model"} <= set(said["all"])


@each("client", who("counted"))
def test_tokens_are_counted_by_who_can(stage: Stage, client: str) -> None:
    stage.upstream.plays(script.body({"input_tokens": 31}))

    assert stage.asks(client, "counted", "an-model") == {"tokens": 31}
    assert stage.asks(client, "counted", "oa-model")["tokens"] > 0


@models
@each("client", who("wishing"))
def test_a_technique_is_wished_for_by_header(stage: Stage, client: str, model: str) -> None:
    stage.upstream.chooses(speaks(*[GREETING] * 3))

    said = stage.asks(client, "whole", model, headers=WISH)

    assert said["text"] == GREETING.text
    assert len(stage.upstream.asked) in {2, 3}, "two that agree of three are enough"


@models
@each("client", who("wishing"))
def test_a_technique_is_wished_for_by_the_name_of_the_model(
    stage: Stage, client: str, model: str
) -> None:
    stage.upstream.chooses(speaks(*[GREETING] * 9))

    said = stage.asks(client, "whole", f"self_consistency/{model}")

    assert said["text"] == GREETING.text
    assert len(stage.upstream.asked) > 1
