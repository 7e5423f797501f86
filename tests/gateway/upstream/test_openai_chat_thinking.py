from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from gateway.config.thinking import Style
from gateway.upstream.families import OFF
from gateway.upstream.provider import HttpCall, Target
from gateway.upstream.thinking import ROOM, Thinks
from gateway.wire.openai_chat import OpenAIChat
from techniques.core.capabilities import Capabilities
from techniques.core.channel import Member
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import Message, Request, Sampling, Text, ThinkingWish, said
from techniques.parts.aside import Aside, Purpose
from techniques.parts.transcript import Fence
from techniques.testing import ScriptedChannel
from tests.gateway.upstream.openai_chat_bytes import OPENAI, TARGET
from tests.gateway.upstream.openai_chat_calls import neutral, written

LMH = ("low", "medium", "high")
HYBRID: dict[Style, Thinks] = {
    "effort": Thinks(levels=LMH, off="none", unasked=True),
    "ollama": Thinks("ollama", LMH, "none", unasked=True),
    "openrouter": Thinks("openrouter", off="none", unasked=True),
    "gemini": Thinks("gemini", off="0", unasked=True),
    "chat_template": Thinks("chat_template", off="false", unasked=True),
    "switch": Thinks("switch", off="disabled", unasked=True),
    "dashscope": Thinks("dashscope", off="false", unasked=True),
    "directive": Thinks("directive", off="/no_think", unasked=True),
}
LEVELS = Thinks("gemini", ("minimal", *LMH), "minimal", unasked=True)
OFF_WISH, ON = ThinkingWish("off"), ThinkingWish("on")
FIELDS = (
    *("reasoning_effort", "reasoning", "extra_body", "chat_template_kwargs"),
    *("thinking", "enable_thinking", "thinking_budget"),
)


def at(thinks: Thinks, **more: Any) -> Target:
    return replace(TARGET, thinks=thinks, **more)


def google(**config: Json) -> dict[str, Json]:
    return {"extra_body": {"google": {"thinking_config": config}}}


def asked(thinks: Thinks, wish: ThinkingWish, **more: Any) -> tuple[dict[str, Any], set[str]]:
    """Return the fields that say *wish*, and the codes of the warnings."""
    body, call = written(neutral(thinking=wish, **more), at(thinks))
    return {name: body[name] for name in FIELDS if name in body}, codes(call)


def codes(call: HttpCall) -> set[str]:
    return {warned.code for warned in call.warnings}


QUIET: dict[Style, dict[str, Any]] = {
    "effort": {"reasoning_effort": "none"},
    "ollama": {"reasoning_effort": "none"},
    "openrouter": {"reasoning": {"enabled": False}},
    "gemini": google(thinking_budget=0),
    "chat_template": {"chat_template_kwargs": {"enable_thinking": False}},
    "switch": {"thinking": {"type": "disabled"}},
    "dashscope": {"enable_thinking": False},
    "directive": {},
}


@pytest.mark.parametrize("style", HYBRID)
def test_off_is_said_in_each_style(style: Style) -> None:
    assert asked(HYBRID[style], OFF_WISH) == (QUIET[style], set())


@pytest.mark.parametrize(
    ("style", "fields"),
    [
        ("effort", {"reasoning_effort": "medium"}),
        ("ollama", {"reasoning_effort": "medium"}),
        ("openrouter", {"reasoning": {"enabled": True}}),
        ("gemini", google(thinking_budget=-1, include_thoughts=True)),
        ("chat_template", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("switch", {"thinking": {"type": "enabled"}}),
        ("dashscope", {"enable_thinking": True}),
        ("directive", {}),
    ],
)
def test_on_is_said_in_each_style(style: Style, fields: dict[str, Any]) -> None:
    assert asked(HYBRID[style], ON) == (fields, set())


@pytest.mark.parametrize(
    ("style", "fields", "lost"),
    [
        ("effort", {"reasoning_effort": "medium"}, False),
        ("openrouter", {"reasoning": {"enabled": True, "max_tokens": 3000}}, False),
        ("gemini", google(thinking_budget=3000, include_thoughts=True), False),
        ("chat_template", {"chat_template_kwargs": {"enable_thinking": True}}, True),
        ("switch", {"thinking": {"type": "enabled"}}, True),
        ("dashscope", {"enable_thinking": True, "thinking_budget": 3000}, False),
    ],
)
def test_a_budget_is_said_or_named_as_lost(
    style: Style, fields: dict[str, Any], *, lost: bool
) -> None:
    warned = {"field_dropped"} if lost else set()

    assert asked(HYBRID[style], ThinkingWish("on", 3000)) == (fields, warned)


@pytest.mark.parametrize(
    ("style", "fields"),
    [
        ("openrouter", {"reasoning": {"enabled": True, "effort": "high"}}),
        ("gemini", google(thinking_budget=16384, include_thoughts=True)),
        ("dashscope", {"enable_thinking": True, "thinking_budget": 16384}),
    ],
)
def test_an_effort_is_said_in_each_style(style: Style, fields: dict[str, Any]) -> None:
    assert asked(HYBRID[style], ThinkingWish(effort="high")) == (fields, set())


def test_a_switch_takes_an_effort_beside_it_where_the_host_has_one() -> None:
    thinks = replace(HYBRID["switch"], levels=("low", "high", "max"))

    assert asked(thinks, ThinkingWish(effort="medium")) == (
        {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        {"effort_changed"},
    )


def test_gemini_takes_levels_from_its_third_generation_on() -> None:
    assert asked(LEVELS, OFF_WISH)[0] == google(thinking_level="minimal")
    assert asked(LEVELS, ThinkingWish(effort="high"))[0] == google(
        thinking_level="high", include_thoughts=True
    )
    assert asked(LEVELS, ThinkingWish("adaptive"))[0] == google(include_thoughts=True)


def test_a_template_may_call_its_switch_otherwise() -> None:
    thinks = replace(HYBRID["chat_template"], flag="thinking")

    assert asked(thinks, OFF_WISH)[0] == {"chat_template_kwargs": {"thinking": False}}


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ("Why?", "Why? /no_think"),
        ([{"type": "text", "text": "Why?"}, {"type": "text", "text": "How?"}], None),
    ],
)
def test_a_directive_stands_at_the_end_of_what_the_user_said_last(
    content: Json, sent: Json
) -> None:
    turns = [said("user", "First."), said("assistant", "Yes.")]
    parts = (Text("Why?"), Text("How?")) if isinstance(content, list) else (Text(content),)
    turns.append(Message("user", parts))
    turns.append(said("assistant", "Because"))
    body, _ = written(neutral(*turns, thinking=OFF_WISH), at(HYBRID["directive"]))

    directed = [*content, {"type": "text", "text": "/no_think"}] if sent is None else sent
    assert [turn["content"] for turn in body["messages"]] == [
        *("First.", "Yes."),
        directed,
        "Because",
    ]


@pytest.mark.parametrize(
    ("thinks", "fields"),
    [
        (Thinks(levels=LMH, unasked=True), {"reasoning_effort": "low"}),
        (
            Thinks("openrouter", LMH, unasked=True),
            {"reasoning": {"enabled": True, "effort": "low"}},
        ),
        (Thinks("gemini", unasked=True), google(thinking_budget=128)),
        (Thinks("gemini", ("low", "high"), unasked=True), google(thinking_level="low")),
        (Thinks("none", unasked=True), {}),
    ],
)
def test_a_model_that_cannot_rest_gets_the_least_and_room_for_it(
    thinks: Thinks, fields: dict[str, Any]
) -> None:
    limit = Sampling(max_output_tokens=700)
    body, call = written(neutral(thinking=OFF_WISH, sampling=limit), at(thinks))

    assert {name: body[name] for name in FIELDS if name in body} == fields
    assert body["max_tokens"] == 700 + ROOM
    assert codes(call) == {"thinking_kept", "max_tokens_raised"}


@pytest.mark.parametrize("style", ["openrouter", "gemini"])
def test_a_budget_leaves_the_answer_its_room(style: Style) -> None:
    limit = Sampling(max_output_tokens=2000)
    body, call = written(
        neutral(thinking=ThinkingWish("on", 3000), sampling=limit), at(HYBRID[style])
    )

    assert body["max_tokens"] == 5000
    assert codes(call) == {"max_tokens_raised"}


def test_what_cannot_be_set_while_thinking_is_left_out_and_kept_at_rest() -> None:
    sampling = Sampling(0.2, 1, seed=3, logprobs=True, top_logprobs=2)
    thinks = replace(HYBRID["effort"], sampling="off")
    thinking, call = written(neutral(thinking=ON, sampling=sampling), at(thinks))
    resting, _ = written(neutral(thinking=OFF_WISH, sampling=sampling), at(thinks))

    barred = {"temperature", "top_p", "logprobs", "top_logprobs"}
    assert barred.isdisjoint(thinking)
    assert thinking["seed"] == 3
    assert {warned.detail for warned in call.warnings} == barred - {"top_p"}
    assert barred < resting.keys()


def test_a_strict_request_is_refused_where_thinking_cannot_be_had_as_asked() -> None:
    with pytest.raises(RequestRejected) as caught:
        written(neutral(thinking=ThinkingWish(effort="xhigh"), strict=True), at(HYBRID["effort"]))

    assert caught.value.code == "effort_changed"


def test_the_operators_wish_counts_where_the_caller_has_none() -> None:
    target = at(HYBRID["chat_template"], thinking=OFF_WISH)

    assert written(neutral(), target)[0]["chat_template_kwargs"] == {"enable_thinking": False}
    wished, _ = written(neutral(thinking=ON), target)
    assert wished["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.parametrize("style", HYBRID)
def test_a_techniques_own_question_keeps_every_model_from_thinking(style: Style) -> None:
    member = Member("judge", "host-model-1", ScriptedChannel([]))
    aside = Aside(neutral(), member, Fence("f"), "j0")
    purpose = Purpose("judge", 700, {"type": "object"})
    body, call = written(aside.request(purpose, "Score it."), at(HYBRID[style]))

    assert {name: body[name] for name in FIELDS if name in body} == QUIET[style]
    assert body["messages"][-1]["content"].endswith("/no_think") == (style == "directive")
    assert codes(call) == set()


def test_every_style_of_this_dialect_has_a_word_for_off() -> None:
    assert {style for style, off in OFF.items() if off} == {
        *HYBRID,
        *("anthropic_budget", "anthropic_adaptive"),
    }


def client(body: dict[str, Any]) -> Request:
    """Return the request of a client that sent *body*, relayed."""
    whole = {"model": "fast", "messages": [{"role": "user", "content": "hi"}], **body}
    call = OpenAIChat().decode(whole, orjson.dumps(whole))
    return Request("fast", stream=call.streamed, relay=call.relay)


def relayed(body: dict[str, Any], target: Target) -> tuple[dict[str, Any], set[str]]:
    sent, call = written(client(body), target)
    del sent["model"], sent["messages"]
    return sent, codes(call)


@pytest.mark.parametrize(
    "body", [{}, {"reasoning_effort": "high"}, {"thinking": {"type": "enabled"}, "temperature": 0}]
)
def test_a_relayed_body_is_left_alone_where_the_operator_said_nothing(body: dict[str, Any]) -> None:
    thinks = replace(HYBRID["chat_template"], sampling="never")
    inferred = Capabilities(temperature=False)
    target = at(
        thinks, thinking=OFF_WISH, model="fast", capabilities=inferred, stated=Capabilities()
    )
    request = client(body)

    assert request.relay is not None
    assert OPENAI.encode(request, target).body is request.relay.raw


@pytest.mark.parametrize("style", HYBRID)
def test_a_relayed_body_says_what_the_operator_says(style: Style) -> None:
    target = at(HYBRID[style], thinking=OFF_WISH, steered=True)

    assert relayed({}, target) == (QUIET[style], set())


def test_without_a_wish_of_anyones_a_relayed_body_says_nothing() -> None:
    assert relayed({}, at(HYBRID["effort"], steered=True)) == ({}, set())


@pytest.mark.parametrize(
    ("style", "body"),
    [
        ("effort", {"reasoning_effort": "xhigh"}),
        ("openrouter", {"reasoning": {"effort": "turbo", "exclude": True}}),
        ("switch", {"thinking": {"type": "enabled", "clear_thinking": False}}),
        ("dashscope", {"enable_thinking": True}),
        ("chat_template", {"chat_template_kwargs": {"enable_thinking": True, "own": 1}}),
        ("gemini", google(thinking_budget=7)),
    ],
)
def test_a_client_that_speaks_the_backends_words_is_not_corrected(
    style: Style, body: dict[str, Any]
) -> None:
    target = at(HYBRID[style], thinking=OFF_WISH, steered=True)
    sent, warned = relayed(body, target)

    if style == "gemini":
        del sent["extra_body"]["google"]["thinking_config"]["include_thoughts"]
    assert (sent, warned) == (body, set())


@pytest.mark.parametrize(
    ("style", "body", "sent"),
    [
        (
            "chat_template",
            {"reasoning_effort": "none"},
            {"chat_template_kwargs": {"enable_thinking": False}},
        ),
        ("effort", {"reasoning": {"effort": "high"}}, {"reasoning_effort": "high"}),
        ("effort", {"chat_template_kwargs": {"enable_thinking": False}}, QUIET["effort"]),
        ("openrouter", {"enable_thinking": False}, QUIET["openrouter"]),
        ("switch", {"enable_thinking": False, "thinking_budget": 9}, QUIET["switch"]),
    ],
)
def test_a_client_that_speaks_anothers_words_is_translated(
    style: Style, body: dict[str, Any], sent: dict[str, Any]
) -> None:
    target = at(HYBRID[style], thinking=ON, steered=True)
    found, warned = relayed(body, target)

    found.pop("chat_template_kwargs" if style == "effort" else "", None)
    assert (found, warned) == (sent, set())


def test_other_words_for_the_template_survive() -> None:
    target = at(HYBRID["chat_template"], thinking=OFF_WISH, steered=True)

    assert relayed({"chat_template_kwargs": {"own": 1}}, target)[0] == {
        "chat_template_kwargs": {"own": 1, "enable_thinking": False}
    }


def test_with_the_operators_word_a_relayed_body_loses_what_the_model_does_not_take() -> None:
    inferred = Capabilities(temperature=False, max_completion_tokens=True)
    thinks = Thinks(levels=LMH, unasked=True, sampling="never", newer_limit=True)
    target = at(thinks, thinking=ON, steered=True, capabilities=inferred, stated=Capabilities())

    assert relayed({"temperature": 0.2, "max_tokens": 9}, target) == (
        {"max_completion_tokens": 9, "reasoning_effort": "medium"},
        {"field_dropped"},
    )


def through_a_technique(body: dict[str, Any], target: Target) -> tuple[dict[str, Any], set[str]]:
    """Return what is sent for a draw: the client's request in full, in its own dialect."""
    sent, call = written(client(body).decoded(), target)
    return {name: sent[name] for name in sent if name not in {"model", "messages"}}, codes(call)


@pytest.mark.parametrize(
    ("thinks", "body"),
    [
        (HYBRID["openrouter"], {"reasoning": {"effort": "high", "exclude": True}}),
        (HYBRID["chat_template"], {"chat_template_kwargs": {"enable_thinking": True, "own": 1}}),
        (HYBRID["switch"], {"thinking": {"type": "enabled", "clear_thinking": False}}),
        (Thinks(known=False), {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        (Thinks(known=False), {"enable_thinking": False}),
        (Thinks(known=False), {"think": "low"}),
    ],
)
def test_a_clients_own_words_for_the_backend_go_through_a_technique(
    thinks: Thinks, body: dict[str, Any]
) -> None:
    sent, _ = through_a_technique(body, at(thinks))

    assert {**sent, "reasoning": {**sent.get("reasoning", {}), "enabled": None}} == {
        **body,
        "reasoning": {**body.get("reasoning", {}), "enabled": None},
    }


def test_a_clients_effort_is_fitted_to_each_model_of_a_technique() -> None:
    assert through_a_technique({"reasoning_effort": "xhigh"}, at(HYBRID["effort"])) == (
        {"reasoning_effort": "high"},
        {"effort_changed"},
    )
