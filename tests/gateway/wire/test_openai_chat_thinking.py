from __future__ import annotations

from typing import Any

import pytest

from gateway.wire.openai_chat import OpenAIChat
from techniques.core.errors import RequestRejected
from techniques.core.json import Json
from techniques.core.request import Request, ThinkingWish

OFF, ON, ADAPTIVE = ThinkingWish("off"), ThinkingWish("on"), ThinkingWish("adaptive")


def read(body: dict[str, Any]) -> Request:
    whole = {"model": "fast", "messages": [{"role": "user", "content": "hi"}], **body}
    return OpenAIChat().decode(whole, b"").relay.decode()


def wish(body: dict[str, Any]) -> ThinkingWish | None:
    """Return the wish that *body* spells, without the words it was spelled in."""
    found = read(body).thinking
    if found is None:
        return None
    return ThinkingWish(found.mode, found.budget_tokens, found.effort)


def google(**config: Json) -> dict[str, Json]:
    return {"extra_body": {"google": {"thinking_config": config}}}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({}, None),
        ({"reasoning_effort": "high"}, ThinkingWish(effort="high")),
        ({"reasoning_effort": "none"}, ThinkingWish(effort="none")),
        ({"reasoning": {"effort": "low"}}, ThinkingWish(effort="low")),
        ({"reasoning": {"effort": "none"}}, OFF),
        ({"reasoning": {"max_tokens": 2000}}, ThinkingWish("on", 2000)),
        ({"reasoning": {"enabled": True}}, ON),
        ({"reasoning": {"enabled": True, "effort": "low"}}, ThinkingWish("on", None, "low")),
        ({"reasoning": {"enabled": False, "effort": "high"}}, OFF),
        ({"thinking": {"type": "enabled"}}, ON),
        ({"thinking": {"type": "enabled", "budget_tokens": 1500}}, ThinkingWish("on", 1500)),
        ({"thinking": {"type": "disabled"}}, OFF),
        ({"thinking": {"type": "adaptive"}}, ADAPTIVE),
        ({"thinking": {"type": "auto"}}, ADAPTIVE),
        ({"thinking": False}, OFF),
        (
            {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
            ThinkingWish("on", None, "max"),
        ),
        ({"enable_thinking": True}, ON),
        ({"enable_thinking": False, "thinking_budget": 50}, OFF),
        ({"thinking_budget": 50}, ThinkingWish("on", 50)),
        ({"chat_template_kwargs": {"enable_thinking": False}}, OFF),
        ({"chat_template_kwargs": {"thinking": True}}, ON),
        ({"think": False}, OFF),
        ({"think": "low"}, ThinkingWish(effort="low")),
        (google(thinking_budget=0), OFF),
        (google(thinking_budget=-1), ADAPTIVE),
        (google(thinking_budget=900), ThinkingWish("on", 900)),
        (google(thinking_level="HIGH"), ThinkingWish(effort="high")),
    ],
)
def test_a_wish_to_think_is_read_in_every_hosts_words(
    body: dict[str, Any], found: ThinkingWish | None
) -> None:
    assert wish(body) == found


@pytest.mark.parametrize(
    "body",
    [
        {"reasoning": {"exclude": True}},
        {"reasoning": "high"},
        {"thinking": {"type": "tomorrow"}},
        {"thinking": {"type": ["enabled"]}},
        {"enable_thinking": "yes"},
        {"thinking_budget": True},
        {"chat_template_kwargs": {"own": 1}},
        {"chat_template_kwargs": {"thinking": "hard"}},
        {"think": 3},
        {"extra_body": {"google": {"cached_content": "c"}}},
        google(include_thoughts=True),
    ],
)
def test_words_that_say_nothing_we_know_stay_as_they_are(body: dict[str, Any]) -> None:
    request = read(body)

    assert request.thinking is None
    assert request.extra == body


def test_the_words_of_a_wish_stay_with_it_and_nowhere_else() -> None:
    body = {"thinking": {"type": "enabled", "clear_thinking": False}, "reasoning_effort": "high"}
    request = read({**body, "store": True})

    assert request.thinking == ThinkingWish("on", None, "high", body)
    assert request.extra == {"store": True}


def test_an_effort_of_another_type_is_wrong() -> None:
    with pytest.raises(RequestRejected) as caught:
        read({"reasoning_effort": 3})
    assert caught.value.param == "reasoning_effort"


def test_a_body_is_read_once_however_often_it_is_asked_for() -> None:
    body = {"model": "fast", "messages": [{"role": "user", "content": "hi"}]}
    relay = OpenAIChat().decode(body, b"").relay

    assert relay.decode() is relay.decode()
