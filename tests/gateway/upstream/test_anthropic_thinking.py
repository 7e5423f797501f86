from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.upstream.families import thinks_of
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.thinking import ROOM
from techniques.core.capabilities import Capabilities
from techniques.core.channel import Member
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Message,
    Relay,
    Request,
    Sampling,
    Text,
    Thinking,
    ThinkingWish,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    said,
)
from techniques.parts.aside import Aside, Purpose
from techniques.parts.transcript import Fence
from techniques.testing import ScriptedChannel
from tests.gateway.upstream.anthropic_samples import ANTHROPIC, TARGET

HI = said("user", "hi")
PLAIN = Request("m", (HI,), dialect="openai_chat")
OWN = replace(PLAIN, dialect="anthropic")
SUMMARY = {"type": "adaptive", "display": "summarized"}


def model(name: str, **more: Json) -> Target:
    thinks = thinks_of(name, "anthropic", "https://api.anthropic.com")
    return replace(TARGET, model=name, thinks=thinks, **more)


SONNET_45, SONNET_46 = model("claude-sonnet-4-5"), model("claude-sonnet-4-6")
OPUS_48, OPUS_5, OPUS_55 = (model(f"claude-opus-{x}") for x in ("4-8", "5", "5-5"))


def encoded(request: Request, target: Target = TARGET) -> tuple[JsonObject, set[tuple[str, str]]]:
    call: HttpCall = ANTHROPIC.encode(request, target)
    return orjson.loads(call.body), {(warned.code, warned.detail) for warned in call.warnings}


def wished(wish: ThinkingWish, target: Target, *, own: bool = False) -> tuple[Json, Json, set[str]]:
    """Return the ``thinking`` object, the effort, and the codes of the warnings."""
    asked = replace(OWN if own else PLAIN, thinking=wish, sampling=Sampling(max_output_tokens=9000))
    body, warned = encoded(asked, target)
    return body.get("thinking"), body.get("output_config", {}).get("effort"), {w for w, _ in warned}


@pytest.mark.parametrize(
    ("effort", "thinking"),
    [
        ("none", {"type": "disabled"}),
        ("minimal", {"type": "disabled"}),
        ("low", {"type": "enabled", "budget_tokens": 1024}),
        ("medium", {"type": "enabled", "budget_tokens": 4096}),
        ("high", {"type": "enabled", "budget_tokens": 16384}),
    ],
)
def test_a_foreign_effort_becomes_a_budget(effort: str, thinking: JsonObject) -> None:
    body, _ = encoded(replace(PLAIN, thinking=ThinkingWish(effort=effort)))

    assert body["thinking"] == thinking


def test_the_operators_wish_counts_where_the_caller_has_none() -> None:
    target = replace(TARGET, thinking=ThinkingWish("on", budget_tokens=2000))

    assert encoded(PLAIN, target)[0]["thinking"]["budget_tokens"] == 2000
    assert encoded(replace(PLAIN, thinking=ThinkingWish("off")), target)[0]["thinking"] == {
        "type": "disabled"
    }


def test_the_limit_leaves_the_answer_its_room_beside_the_budget() -> None:
    request = replace(
        PLAIN, thinking=ThinkingWish("on", 2000), sampling=Sampling(max_output_tokens=500)
    )
    body, warned = encoded(request)

    assert body["max_tokens"] == 2500
    assert warned == {("max_tokens_raised", "max_tokens")}


def test_what_the_api_forbids_beside_thinking_is_cleared() -> None:
    request = replace(
        PLAIN,
        tools=(Tool("f"),),
        tool_choice=ToolChoice("named", "f", parallel=False),
        sampling=Sampling(temperature=0.2, top_k=5, top_p=0.96, max_output_tokens=9000),
        thinking=ThinkingWish("on", 100),
    )
    body, warned = encoded(request)

    assert body["thinking"]["budget_tokens"] == 1024
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body["top_p"] == 0.96
    assert not {"temperature", "top_k"} & body.keys()
    assert warned == {
        ("field_dropped", "temperature"),
        ("field_dropped", "top_k"),
        ("tool_choice_relaxed", "tool_choice"),
    }


def test_thinking_is_off_in_a_tool_loop_whose_thinking_did_not_come_along() -> None:
    called = Message("assistant", (ToolCall("t1", "f", "{}"),))
    answered = Message("tool", (ToolResult("t1", (Text("r"),)),))
    wish = ThinkingWish("on", 2000)
    loop = replace(PLAIN, messages=(HI, called, answered), tools=(Tool("f"),), thinking=wish)
    body, warned = encoded(loop)

    assert body["thinking"] == {"type": "disabled"}
    assert ("thinking_off", "thinking") in warned

    thought = replace(called, parts=(Thinking("", "c2ln"), *called.parts))
    kept, _ = encoded(replace(OWN, messages=(HI, thought, answered), thinking=wish))
    assert kept["thinking"]["type"] == "enabled"


@pytest.mark.parametrize(
    ("target", "thinking", "effort", "warned"),
    [
        (SONNET_45, None, None, set()),
        (SONNET_46, None, None, set()),
        (OPUS_48, None, None, set()),
        (OPUS_5, {"type": "disabled"}, None, set()),
        (model("claude-sonnet-5-5"), {"type": "between_tools"}, None, set()),
        (OPUS_55, {"type": "adaptive"}, "low", {"thinking_kept", "max_tokens_raised"}),
        (model("claude-3-5-haiku-latest"), None, None, set()),
    ],
    ids=lambda value: value.model if isinstance(value, Target) else "",
)
def test_off_is_said_in_the_words_of_each_generation(
    target: Target, thinking: Json, effort: Json, warned: set[str]
) -> None:
    assert wished(ThinkingWish("off"), target) == (thinking, effort, warned)


@pytest.mark.parametrize(
    ("target", "wish", "thinking", "effort", "warned"),
    [
        (SONNET_45, ThinkingWish("on"), {"type": "enabled", "budget_tokens": 4096}, None, set()),
        (
            SONNET_45,
            ThinkingWish("adaptive"),
            {"type": "enabled", "budget_tokens": 4096},
            None,
            set(),
        ),
        (SONNET_46, ThinkingWish("on"), {"type": "adaptive"}, None, set()),
        (SONNET_46, ThinkingWish("on", 3000), {"type": "adaptive"}, "medium", set()),
        (SONNET_46, ThinkingWish(effort="xhigh"), {"type": "adaptive"}, "max", {"effort_changed"}),
        (OPUS_48, ThinkingWish(effort="xhigh"), SUMMARY, "xhigh", set()),
        (OPUS_5, ThinkingWish("on", 1024), SUMMARY, "low", set()),
        (model("claude-3-5-haiku-latest"), ThinkingWish("on"), None, None, {"field_dropped"}),
    ],
)
def test_a_wish_is_said_in_the_words_of_each_generation(
    target: Target, wish: ThinkingWish, thinking: Json, effort: Json, warned: set[str]
) -> None:
    assert wished(wish, target) == (thinking, effort, warned)


def test_a_client_of_the_own_dialect_is_understood_by_models_of_another_generation() -> None:
    shown = ThinkingWish("adaptive", None, "low", {"display": "omitted"})

    assert wished(shown, OPUS_48, own=True) == ({**SUMMARY, "display": "omitted"}, "low", set())
    assert wished(ThinkingWish("on", 5000), OPUS_48, own=True) == (SUMMARY, "medium", set())
    assert wished(ThinkingWish(effort="low"), OPUS_48, own=True) == (None, "low", set())
    assert wished(ThinkingWish("off", None, "low"), OPUS_5, own=True) == (
        {"type": "disabled"},
        "low",
        set(),
    )


def test_words_of_another_dialect_are_no_loss() -> None:
    wish = ThinkingWish("off", extra={"enable_thinking": False})

    assert wished(wish, OPUS_5) == ({"type": "disabled"}, None, set())


def test_a_model_that_cannot_rest_has_room_for_it_and_is_not_forced_to_a_tool() -> None:
    request = replace(
        PLAIN,
        tools=(Tool("f"),),
        tool_choice=ToolChoice("required"),
        thinking=ThinkingWish("off"),
        sampling=Sampling(max_output_tokens=700),
    )
    body, warned = encoded(request, OPUS_55)

    assert (body["max_tokens"], body["tool_choice"]) == (700 + ROOM, {"type": "auto"})
    assert {code for code, _ in warned} == {
        "thinking_kept",
        "max_tokens_raised",
        "tool_choice_relaxed",
    }


@pytest.mark.parametrize(
    ("target", "thinking"),
    [
        (SONNET_45, None),
        (OPUS_48, None),
        (OPUS_5, {"type": "disabled"}),
        (TARGET, {"type": "disabled"}),
    ],
)
def test_a_techniques_own_question_keeps_the_model_from_thinking(
    target: Target, thinking: Json
) -> None:
    member = Member("judge", target.model, ScriptedChannel([]))
    aside = Aside(OWN, member, Fence("f"), "j0")
    body, _ = encoded(aside.request(Purpose("judge", 700, {"type": "object"}), "Score it."), target)

    assert body.get("thinking") == thinking
    assert body["max_tokens"] == 700


def relayed(
    body: JsonObject, target: Target, *, strict: bool = False
) -> tuple[JsonObject, set[str]]:
    whole = {
        "model": target.model,
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "hi"}],
    }
    whole |= body
    relay = Relay("anthropic", orjson.dumps(whole), whole, lambda: OWN)
    call = ANTHROPIC.encode(Request("an-model", relay=relay, strict=strict), target)
    sent = orjson.loads(call.body)
    assert sent.pop("messages") == whole["messages"]
    del sent["model"]
    return sent, {warned.code for warned in call.warnings}


def test_a_relayed_body_is_left_alone_where_the_operator_said_nothing() -> None:
    cold = Capabilities(temperature=False)
    target = replace(OPUS_5, thinking=ThinkingWish("off"), capabilities=cold, stated=Capabilities())

    assert relayed({"temperature": 0.2}, target) == ({"max_tokens": 500, "temperature": 0.2}, set())


def test_a_relayed_body_says_what_the_operator_says() -> None:
    steered = replace(SONNET_45, thinking=ThinkingWish("on", 2000), steered=True)
    body, warned = relayed({"temperature": 0.2}, steered)
    resting = replace(OPUS_5, thinking=ThinkingWish("off"), steered=True)

    assert body == {"max_tokens": 2500, "thinking": {"type": "enabled", "budget_tokens": 2000}}
    assert warned == {"field_dropped", "max_tokens_raised"}
    assert relayed({}, resting) == ({"max_tokens": 500, "thinking": {"type": "disabled"}}, set())


@pytest.mark.parametrize(
    "body", [{"thinking": {"type": "adaptive"}}, {"output_config": {"effort": "low"}}]
)
def test_what_the_client_says_itself_is_relayed(body: JsonObject) -> None:
    steered = replace(OPUS_5, thinking=ThinkingWish("off"), steered=True)

    assert relayed(body, steered) == ({"max_tokens": 500, **body}, set())


def test_the_clients_own_objects_are_not_written_into() -> None:
    steered = replace(OPUS_48, thinking=ThinkingWish("on", None, "low"), steered=True)
    config: JsonObject = {"format": {"type": "json_schema", "schema": {}}}
    body, _ = relayed({"output_config": config}, steered)

    assert body["output_config"] == {**config, "effort": "low"}
    assert "effort" not in config


def test_a_strict_request_is_not_steered_into_a_loss() -> None:
    steered = replace(SONNET_45, thinking=ThinkingWish("on", 2000), steered=True)

    with pytest.raises(RequestRejected):
        relayed({}, steered, strict=True)
