"""What the gateway writes itself is as the SDKs' own types have it, to the letter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Literal

import ollama
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.letter import faults
from tests.e2e.turns import MODELS, Called, Turn, streamed, whole
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import KEYS

CALLS: Final = (Called("call_1", "f", '{"q": "ö"}'), Called("call_2", "g", "{}"))
TURNS: Final = {
    "text": Turn(("Hel", "lo, Zoë.")),
    "calls": Turn(calls=CALLS),
    "text and calls": Turn(("I look.",), CALLS),
    "thought": Turn(("Yes.",), thought="Is it so?"),
    "thought and calls": Turn(calls=CALLS, thought="I ask."),
    "cut": Turn(("And th",), cut=True),
    "a custom tool's call": Turn(calls=[Called("call_3", "h", '{"input": "ls"}')]),
    "nothing": Turn(),
}
SURFACES: Final[dict[str, tuple[str, Any, Any]]] = {
    "chat": ("/v1/chat/completions", ChatCompletion, ChatCompletionChunk),
    "responses": ("/v1/responses", Response, ResponseStreamEvent),
    "messages": ("/v1/messages", Message, RawMessageStreamEvent),
    "ollama": ("/api/chat", ollama.ChatResponse, ollama.ChatResponse),
}
OWN: Final = {"chat": "oa-model", "responses": "rs-model", "messages": "an-model"}
TRANSLATED: Final = [
    (surface, model) for surface in SURFACES for model in MODELS if OWN.get(surface) != model
]
BESIDE: Final = {
    "ChatCompletionMessage": {"reasoning_content"},  # as other vendors have it
    "ChoiceDelta": {"reasoning_content"},
    "Function": {"index"},  # Ollama's server has it, and the id of a call
    "MessageDeltaUsage": {"service_tier", "cache_creation"},  # not known at a stream's begin
    "Response": {"store"},  # which the API has, and its types only in what is asked
    "ResponseCustomToolCall": {"status"},  # which the type of a listed one has
    "ResponseFunctionCallArgumentsDoneEvent": {"name"},  # in earlier versions
    "ToolCall": {"id"},
    "Usage": {"lockgate"},
}
"""What is told on purpose though the type does not have it."""
FUNCTIONS: Final = [
    {"name": name, "parameters": {"type": "object", "properties": {}}} for name in ("f", "g")
]


def _beside(kind: type, field: str) -> bool:
    return field in BESIDE.get(kind.__name__, ())


def _asked(surface: str, model: str, *, stream: bool) -> Json:
    """Return a body that asks with tools, and to think where the surface can say so."""
    said = [{"role": "user", "content": "Hi"}]
    common: Json = {"model": model, "stream": stream, "messages": said}
    nested = [{"type": "function", "function": one} for one in FUNCTIONS]
    match surface:
        case "messages":
            tools = [{"name": one["name"], "input_schema": one["parameters"]} for one in FUNCTIONS]
            thinking = {"type": "enabled", "budget_tokens": 1024}
            return {**common, "max_tokens": 2000, "tools": tools, "thinking": thinking}
        case "responses":
            flat = [{"type": "function", "strict": False, **one} for one in FUNCTIONS]
            own: Json = [{"type": "custom", "name": "h"}]
            return {"model": model, "stream": stream, "input": said, "tools": flat + own}
        case "chat":
            usage: Json = {"stream_options": {"include_usage": True}} if stream else {}
            return {**common, **usage, "tools": nested}
        case _:
            return {**common, "tools": nested}


def _told(scene: Scene, path: str, body: Json) -> Iterator[Json]:
    """Yield each object that the answer has."""
    headers = {"authorization": f"Bearer {KEYS['k1']}"}
    sent = request(path, json.dumps(body).encode(), headers)
    with Exchange(scene.gateway.port, sent) as exchange:
        assert exchange.status == 200
        if exchange.headers["content-type"].startswith("text/event-stream"):
            yield from (one.json for one in exchange.events() if one.data not in {None, "[DONE]"})
        else:
            yield from (json.loads(line) for line in exchange.whole().body.splitlines())


def _plays(scene: Scene, model: str, turn: Turn) -> None:
    scene.upstream.chooses(
        lambda asked: (streamed if asked.body.get("stream") else whole)(model, turn)
    )


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("form", ["whole", "stream"])
@pytest.mark.parametrize(("surface", "model"), TRANSLATED)
def test_an_answer_has_what_the_types_have_and_nothing_else(
    scene: Scene, surface: str, model: str, form: Literal["whole", "stream"], turn: str
) -> None:
    path, of_whole, of_stream = SURFACES[surface]
    _plays(scene, model, TURNS[turn])
    body = _asked(surface, model, stream=form == "stream")

    told = list(_told(scene, path, body))

    kind = of_stream if form == "stream" else of_whole
    told = [one for one in told if one != {"type": "ping"}]
    found = [fault for one in told for fault in faults(kind, one, _beside)]
    assert found == []


class Part(BaseModel):
    type: Literal["a"]
    size: int


class Other(BaseModel):
    type: Literal["b"]
    names: list[str] | None = None
    worth: float


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"type": "a", "size": 1}, ()),
        ({"type": "b", "names": None, "worth": 1}, ()),
        ({"type": "b", "names": ["x", 2], "worth": 1.5}, ("$.names[1]",)),
        ({"type": "a", "size": True}, ("$.size",)),
        ({"type": "a", "size": 1.0}, ("$.size",)),
        ({"type": "a"}, ("$.size",)),
        ({"type": "a", "size": 1, "more": 2}, ("$.more",)),
        ({"type": "b", "size": 1}, ("$.worth", "$.size")),
        ({"type": "c", "size": 1}, ("$.type",)),
        (None, ("$",)),
        ([], ("$",)),
    ],
)
def test_the_reading_is_strict(value: Json, wrong: tuple[str, ...]) -> None:
    assert [one.partition(":")[0] for one in faults(Part | Other, value)] == list(wrong)


def test_what_may_stand_beside_a_type_is_asked_for_by_its_name() -> None:
    seen: list[tuple[str, str]] = []

    def known(kind: type, field: str) -> bool:
        seen.append((kind.__name__, field))
        return field == "more"

    found = faults(Part, {"type": "a", "size": 1, "more": 2, "less": 1}, known)

    assert found == ["$.less: unknown to Part"]
    assert seen == [("Part", "more"), ("Part", "less")]
