"""What the official SDKs see where tools have quotas."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import anthropic
import openai
import pytest

from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.e2e.turns import MODELS, Called, Turn, streamed, whole
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.upstream import ScriptedUpstream, dead_port
from tests.patience import SOON_S

ASKED: list[Json] = [{"role": "user", "content": "Look it up."}]
SCHEMA: Json = {"type": "object", "properties": {}}
QUOTAS: dict[str, Json] = {
    **{f"hourly{n}": {"calls": 1, "period": "1h"} for n in range(16)},
    **{f"soon{n}": {"calls": 1, "period": "1500ms"} for n in range(8)},
}
_ids = count(1)


def quotas(action: str, folder: Path) -> Iterator[Scene]:
    held, dead = dead_port()
    changes: dict[str, Json] = {
        "tool_quota": {"action": action, "tools": QUOTAS},
        "upstream": {"retries": 0},
    }
    with (
        held,
        ScriptedUpstream() as upstream,
        Gateway(folder, settings(upstream.port, dead, changes)) as gateway,
    ):
        root, key = f"http://127.0.0.1:{gateway.port}", KEYS["k1"]
        with (
            openai.OpenAI(base_url=f"{root}/v1", api_key=key, max_retries=0) as chat,
            anthropic.Anthropic(base_url=root, api_key=key, max_retries=0) as messages,
        ):
            yield Scene(upstream, gateway, chat, messages)


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    yield from quotas("annotate", tmp_path_factory.mktemp("annotate"))


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    yield from quotas("refuse_turn", tmp_path_factory.mktemp("refuse"))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    yield from quotas("hold_result", tmp_path_factory.mktemp("hold"))


def calling(tool: str) -> Turn:
    return Turn(parts=("Let me ", "see."), calls=(Called(f"call_{next(_ids)}x9", tool, "{}"),))


def chat_streamed(scene: Scene, model: str, tool: str) -> list[str]:
    offered: Json = [{"type": "function", "function": {"name": tool, "parameters": SCHEMA}}]
    with scene.chat.chat.completions.stream(model=model, messages=ASKED, tools=offered) as stream:
        final = stream.get_final_completion()
    calls = final.choices[0].message.tool_calls or []
    return [call.function.name for call in calls]


def messages_streamed(scene: Scene, model: str, tool: str) -> list[str]:
    offered: Json = [{"name": tool, "input_schema": SCHEMA}]
    with scene.messages.messages.stream(
        model=model, max_tokens=99, messages=ASKED, tools=offered
    ) as stream:
        final = stream.get_final_message()
    return [block.name for block in final.content if block.type == "tool_use"]


STREAMED = pytest.mark.parametrize("asks", [chat_streamed, messages_streamed])
BY = {(m, asks): n for n, (m, asks) in enumerate((m, a) for m in MODELS for a in "cm")}


def numbered(model: str, asks: object) -> int:
    """Return the number of a tool that no other case uses."""
    return BY[model, "c" if asks is chat_streamed else "m"]


@STREAMED
@pytest.mark.parametrize("model", MODELS)
def test_a_stream_beyond_the_quota_reads_as_ever(annotated: Scene, model: str, asks: Json) -> None:
    tool = f"hourly{numbered(model, asks)}"
    for _ in range(2):
        annotated.upstream.plays(streamed(model, calling(tool)))

        assert asks(annotated, model, tool) == [tool]


@STREAMED
@pytest.mark.parametrize("model", MODELS)
def test_a_stream_that_is_held_reads_as_ever(held: Scene, model: str, asks: Json) -> None:
    tool = f"soon{numbered(model, asks)}"
    held.upstream.plays(streamed(model, calling(tool)), streamed(model, calling(tool)))

    began = time.monotonic()
    for _ in range(2):
        assert asks(held, model, tool) == [tool]

    assert time.monotonic() - began > 1.2


@STREAMED
@pytest.mark.parametrize("model", MODELS)
def test_a_stream_that_is_refused_raises(refused: Scene, model: str, asks: Json) -> None:
    tool = f"hourly{numbered(model, asks)}"
    refused.upstream.plays(streamed(model, calling(tool)), streamed(model, calling(tool)))
    asks(refused, model, tool)

    with pytest.raises((openai.APIError, anthropic.APIError), match="its quota is used up"):
        asks(refused, model, tool)


@pytest.mark.parametrize("model", MODELS)
def test_a_whole_turn_that_is_refused_is_a_rate_limit_to_both(refused: Scene, model: str) -> None:
    tool = f"hourly{len(BY) + MODELS.index(model)}"
    refused.upstream.plays(*(whole(model, calling(tool)) for _ in range(3)))
    offered: Json = [{"type": "function", "function": {"name": tool, "parameters": SCHEMA}}]
    refused.chat.chat.completions.create(model=model, messages=ASKED, tools=offered)

    with pytest.raises(openai.RateLimitError) as of_chat:
        refused.chat.chat.completions.create(model=model, messages=ASKED, tools=offered)
    with pytest.raises(anthropic.RateLimitError):
        refused.messages.messages.create(
            model=model,
            max_tokens=99,
            messages=ASKED,
            tools=[{"name": tool, "input_schema": SCHEMA}],
        )

    assert of_chat.value.code == "tool_quota_exhausted"


def test_an_sdk_that_tries_again_by_itself_acquires_when_it_can(annotated: Scene) -> None:
    client = annotated.chat.with_options(max_retries=3)
    path = "/tools/soon7/acquire"
    began = time.monotonic()

    first: Json = client.post(path, cast_to=object, body={})
    second: Json = client.post(path, cast_to=object, body={})
    took = time.monotonic() - began

    assert (first["granted"], second["granted"]) == (True, True)
    assert 1.4 < took < SOON_S
