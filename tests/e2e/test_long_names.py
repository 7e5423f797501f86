"""Names of tools that are too long for OpenAI's APIs, as servers of tools make them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Called, Turn, streamed, whole
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked

LONG = [f"mcp__plugin_{'forecasts_' * 6}__tell_{end}" for end in ("now", "then")]
TOOLS: list[Json] = [
    {"name": name, "input_schema": {"type": "object", "properties": {}}} for name in (*LONG, "look")
]
OTHERS = tuple(model for model in MODELS if model != "an-model")


def _offered(body: Json) -> list[str]:
    return [tool.get("function", tool)["name"] for tool in body["tools"]]


def _names(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["name"]] if isinstance(value.get("name"), str) else []
        for one in value.values():
            yield from _names(one)
    elif isinstance(value, list):
        for one in value:
            yield from _names(one)


def _calls(scene: Scene, model: str, *, stream: bool) -> None:
    """Have the model call the second tool of those that it is offered, and the last."""

    def choose(asked: Asked) -> Answer:
        names = _offered(asked.body)
        called = Turn(calls=[Called("call_1", names[1], "{}"), Called("call_2", names[2], "{}")])
        return (streamed if stream else whole)(model, called)

    scene.upstream.chooses(choose)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wish", ["", "self_consistency/"])
@pytest.mark.parametrize("model", MODELS)
def test_a_client_knows_the_calls_by_its_own_names(
    scene: Scene, model: str, wish: str, *, stream: bool
) -> None:
    _calls(scene, model, stream=stream)
    turns: list[Json] = [{"role": "user", "content": "Now?"}]
    asked: Json = {"model": wish + model, "max_tokens": 99, "messages": turns, "tools": TOOLS}

    if stream:
        with scene.messages.messages.stream(**asked) as answer:
            content: Json = answer.get_final_message().content
    else:
        content = scene.messages.messages.create(**asked).content

    assert [block.name for block in content if block.type == "tool_use"] == [LONG[1], "look"]


@pytest.mark.parametrize("model", OTHERS)
def test_no_name_is_sent_that_is_too_long_nor_two_that_are_one(scene: Scene, model: str) -> None:
    scene.upstream.plays(whole(model, Turn(parts=("So.",))))
    called = [
        {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": {}}
        for place, name in enumerate(LONG)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "so"} for call in called
    ]
    turns: list[Json] = [
        {"role": "user", "content": "Now?"},
        {"role": "assistant", "content": called},
        {"role": "user", "content": results},
    ]
    choice: Json = {"type": "tool", "name": LONG[0]}

    scene.messages.messages.create(
        model=model, max_tokens=99, messages=turns, tools=TOOLS, tool_choice=choice
    )

    [asked] = scene.upstream.asked
    offered = _offered(asked.body)
    assert offered[2] == "look"
    assert len(set(offered)) == 3
    assert all(len(name) <= 64 for name in _names(asked.body))
    history = asked.body.get("messages") or asked.body["input"]
    assert list(_names(history)) == offered[:2]
    assert list(_names(asked.body["tool_choice"])) == offered[:1]


def test_anthropics_models_get_the_names_as_they_are(scene: Scene) -> None:
    scene.upstream.chooses(lambda _: whole("an-model", Turn(parts=("So.",))))

    scene.messages.messages.create(
        model="self_consistency/an-model",
        max_tokens=99,
        messages=[{"role": "user", "content": "Now?"}],
        tools=TOOLS,
    )

    assert all(_offered(asked.body) == [*LONG, "look"] for asked in scene.upstream.asked)
