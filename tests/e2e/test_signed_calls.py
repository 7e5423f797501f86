"""A host that refuses a tool loop without its signatures, behind clients of every API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx2
import pytest

from techniques.core.carried import LARGEST, MARK
from techniques.core.json import Json
from tests.e2e.conftest import Scene
from tests.fakes import script
from tests.fakes.gateway import KEYS
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked
from tests.patience import PATIENCE_S

SCHEMA: Final[Json] = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION: Final[Json] = {"name": "weather", "parameters": SCHEMA}
QUESTION: Final = "How is the weather?"
LONG: Final = "Eo8B+/= " * 700
TOO_LONG: Final = "A" * LARGEST
UNSIGNED: Final = "skip_thought_signature_validator"
STEPS: Final = (("Köln", "Bonn"), ("Ulm",))
"""The calls of each step of the loop; the first of a step is signed."""


class Google:
    """Plays a host that signs the first call of a step, and refuses a step without.

    ``seen`` are the signatures that came back, with the turns they came in.
    """

    def __init__(self, signature: str = LONG) -> None:
        self.signature = signature
        self.seen: list[list[str | None]] = []

    def __call__(self, asked: Asked) -> Answer:
        """Answer one call."""
        turns = [turn for turn in asked.body["messages"] if turn.get("tool_calls")]
        found = [_signature(turn["tool_calls"][0]) for turn in turns]
        own = [f"{self.signature}{step}" for step in range(len(turns))]
        if any(there not in {mine, UNSIGNED} for there, mine in zip(found, own, strict=True)):
            return script.error(400, "Function call is missing a thought_signature")
        self.seen.append(found)
        made = self._calls(len(turns))
        reason = "tool_calls" if made else "stop"
        if not asked.body.get("stream"):
            message: Json = {"role": "assistant", "content": None if made else "Fine."}
            message |= {"tool_calls": made} if made else {}
            return script.choices({"index": 0, "message": message, "finish_reason": reason})
        said = list(map(script.call_delta, made)) or [script.text("Fine.")]
        return script.sse(script.begin(), *said, script.finish(reason), script.done())

    def _calls(self, step: int) -> list[Json]:
        cities = STEPS[step] if step < len(STEPS) else ()
        signed = {"google": {"thought_signature": f"{self.signature}{step}"}}
        return [
            script.called(
                "weather",
                json.dumps({"city": city}),
                index=at,
                id=f"function-call-{step}{at}",
                **({} if at else {"extra_content": signed}),
            )
            for at, city in enumerate(cities)
        ]


def _signature(call: Json) -> str | None:
    found: str | None = call.get("extra_content", {}).get("google", {}).get("thought_signature")
    return found


@pytest.fixture
def http(scene: Scene) -> Iterator[httpx2.Client]:
    key = {"authorization": f"Bearer {KEYS['k1']}"}
    with httpx2.Client(base_url=scene.url, headers=key, timeout=PATIENCE_S) as client:
        yield client


def by_messages(scene: Scene, http: httpx2.Client, *, stream: bool, model: str) -> str:
    del http
    said: Any
    asked: Json = {"model": model, "max_tokens": 99}
    asked["tools"] = [{"name": "weather", "input_schema": SCHEMA}]
    turns: list[Json] = [{"role": "user", "content": QUESTION}]
    while True:
        if stream:
            with scene.messages.messages.stream(**asked, messages=turns) as told:
                said = told.get_final_message()
        else:
            said = scene.messages.messages.create(**asked, messages=turns)
        turns.append(said.to_dict(mode="json"))
        turns[-1] = {name: turns[-1][name] for name in ("role", "content")}
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in said.content if block.type == "text")
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": f"at {call.input['city']}"}
            for call in calls
        ]
        turns.append({"role": "user", "content": results})


def by_responses(scene: Scene, http: httpx2.Client, *, stream: bool, model: str) -> str:
    del http
    said: Any
    asked: Json = {"model": model, "tools": [{"type": "function", "strict": False, **FUNCTION}]}
    items: list[Json] = [{"role": "user", "content": QUESTION}]
    while True:
        if stream:
            with scene.chat.responses.stream(**asked, input=items) as told:
                said = told.get_final_response()
        else:
            said = scene.chat.responses.create(**asked, input=items)
        calls = [item for item in said.output if item.type == "function_call"]
        if not calls:
            return str(said.output_text)
        items += [call.to_dict(mode="json") for call in calls]
        items += [
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": f"at {json.loads(call.arguments)['city']}",
            }
            for call in calls
        ]


def by_ollama(scene: Scene, http: httpx2.Client, *, stream: bool, model: str) -> str:
    del scene
    turns: list[Json] = [{"role": "user", "content": QUESTION}]
    asked: Json = {"model": model, "tools": [{"type": "function", "function": FUNCTION}]}
    while True:
        answer = http.post("/api/chat", json={**asked, "messages": turns, "stream": stream})
        assert answer.status_code == 200, answer.text
        said = [json.loads(line)["message"] for line in answer.content.splitlines()]
        calls = [call for part in said for call in part.get("tool_calls", ())]
        if not calls:
            return "".join(part["content"] for part in said)
        turns.append({"role": "assistant", "content": "", "tool_calls": calls})
        turns += [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "tool_name": "weather",
                "content": f"at {call['function']['arguments']['city']}",
            }
            for call in calls
        ]


def by_chat(scene: Scene, http: httpx2.Client, *, stream: bool, model: str) -> str:
    """Go through the loop as a client that keeps of a call what it knows, and no more."""
    del http
    said: Any
    asked: Json = {"model": model, "tools": [{"type": "function", "function": FUNCTION}]}
    turns: list[Json] = [{"role": "user", "content": QUESTION}]
    while True:
        if stream:
            with scene.chat.chat.completions.stream(**asked, messages=turns) as told:
                said = told.get_final_completion().choices[0].message
        else:
            said = scene.chat.chat.completions.create(**asked, messages=turns).choices[0].message
        calls = [call for call in said.tool_calls or () if call.type == "function"]
        if not calls:
            return said.content or ""
        made = [
            script.called(call.function.name, call.function.arguments, id=call.id) for call in calls
        ]
        turns.append({"role": "assistant", "content": None, "tool_calls": made})
        turns += [
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": f"at {json.loads(call.function.arguments)['city']}",
            }
            for call in calls
        ]


CLIENTS: Final[dict[str, Callable[..., str]]] = {
    "anthropic": by_messages,
    "openai_responses": by_responses,
    "ollama": by_ollama,
    "openai_chat": by_chat,
}
CARRYING: Final = sorted(CLIENTS.keys() - {"openai_chat"})
STREAMED: Final = pytest.mark.parametrize("stream", [False, True])


def history(asked: Asked) -> list[Json]:
    """Return which calls were made with what and answered with what, as the host was told."""
    turns = asked.body["messages"]
    calls = {call["id"]: call for turn in turns for call in turn.get("tool_calls") or ()}
    results = [turn for turn in turns if turn["role"] == "tool"]
    made = [calls[result["tool_call_id"]]["function"]["arguments"] for result in results]
    return [
        (result["tool_call_id"], json.loads(given), result["content"])
        for result, given in zip(results, made, strict=True)
    ]


@STREAMED
@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_a_loop_comes_to_its_end_with_the_ids_that_the_host_gave(
    scene: Scene, http: httpx2.Client, client: str, *, stream: bool
) -> None:
    google = Google()
    scene.upstream.chooses(google)

    assert CLIENTS[client](scene, http, stream=stream, model="oa-gemini") == "Fine."

    signed = [f"{LONG}0", f"{LONG}1"] if client in CARRYING else [UNSIGNED, UNSIGNED]
    assert google.seen == [[], signed[:1], signed]
    assert history(scene.upstream.asked[-1]) == [
        ("function-call-00", {"city": "Köln"}, "at Köln"),
        ("function-call-01", {"city": "Bonn"}, "at Bonn"),
        ("function-call-10", {"city": "Ulm"}, "at Ulm"),
    ]


@STREAMED
@pytest.mark.parametrize("client", CARRYING)
def test_a_signature_too_long_to_be_carried_does_not_break_the_loop(
    scene: Scene, http: httpx2.Client, client: str, *, stream: bool
) -> None:
    google = Google(TOO_LONG)
    scene.upstream.chooses(google)

    assert CLIENTS[client](scene, http, stream=stream, model="oa-gemini") == "Fine."

    assert google.seen[-1] == [UNSIGNED, UNSIGNED]


@pytest.mark.parametrize("model", ["oa-model", "an-model", "rs-model"])
def test_another_model_gets_the_plain_ids_and_no_signature(scene: Scene, model: str) -> None:
    scene.upstream.chooses(Google())
    asked: Json = {"max_tokens": 99, "tools": [{"name": "weather", "input_schema": SCHEMA}]}
    turns: list[Json] = [{"role": "user", "content": QUESTION}]
    said = scene.messages.messages.create(**asked, model="oa-gemini", messages=turns)
    calls = [block for block in said.content if block.type == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "wet"} for call in calls]
    turns += [
        {"role": "assistant", "content": [block.to_dict(mode="json") for block in said.content]},
        {"role": "user", "content": results},
    ]
    assert MARK in calls[0].id
    assert MARK not in calls[1].id
    scene.upstream.chooses(lambda _: script.error(400, "no more"))

    with pytest.raises(Exception, match="no more"):
        scene.messages.messages.create(**asked, model=model, messages=turns)

    told = scene.upstream.asked[-1].raw.decode()
    assert "function-call-00" in told
    assert MARK not in told
    assert "thought_signature" not in told
    assert LONG[:8] not in told
