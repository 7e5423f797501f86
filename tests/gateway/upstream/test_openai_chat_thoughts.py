"""Reasoning of earlier turns goes to hosts that take it, and to no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from gateway.config import ModelConfig, ProviderConfig
from gateway.policy.targets import target_of
from gateway.upstream.provider import HttpCall, Target
from gateway.wire.openai_chat import OpenAIChat
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.request import Message, Request, Text, Thinking, said
from tests.gateway.upstream.openai_chat_calls import neutral, relayed, written

OPENAI = "https://api.openai.com/v1"
OWN = "http://10.0.0.7:8000/v1"
FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
DROPPED = (Warned("thinking_dropped", "messages"),)
TURN: dict[str, Any] = {
    "role": "assistant",
    "content": "4",
    "reasoning_content": "two and two",
    "reasoning": "two and two",
    "reasoning_details": [{"type": "reasoning.text", "text": "two and two"}],
}


def at(address: str, model: str) -> Target:
    account = ProviderConfig(dialect="openai_chat", base_url=address)
    return target_of(ModelConfig(name="m", provider="p"), account, model)


def conversation(turn: dict[str, Any]) -> dict[str, Any]:
    asked = {"role": "user", "content": "2 + 2?"}
    return {"model": "m", "messages": [asked, turn, {"role": "user", "content": "why?"}]}


@pytest.mark.parametrize(
    ("address", "model", "left"),
    [
        (OPENAI, "gpt-4o", ()),
        (OPENAI, "ft-of-mine", ()),
        (OWN, "gpt-5.2", ()),
        (OWN, "o3-mini", ()),
        (OWN, "chatgpt-4o-latest", ()),
        ("https://mine.openai.azure.com/openai/v1", "any-name", ()),
        ("https://api.groq.com/openai/v1", "openai/gpt-oss-120b", ("reasoning",)),
        ("https://api.cerebras.ai/v1", "gpt-oss-120b", ("reasoning",)),
        (OWN, "gpt-oss-120b", FIELDS),
        (OWN, "Qwen/Qwen3-8B", FIELDS),
        ("https://openrouter.ai/api/v1", "openai/gpt-5.2", FIELDS),
        ("https://api.deepseek.com", "deepseek-chat", FIELDS),
    ],
)
@pytest.mark.parametrize("field", FIELDS)
def test_a_relayed_body_keeps_the_reasoning_that_its_host_takes(
    address: str, model: str, left: tuple[str, ...], field: str
) -> None:
    body = conversation({"role": "assistant", "content": "4", field: TURN[field]})
    sent, call = written(relayed(body, model=model), at(address, model))

    kept = field in left
    assert (field in sent["messages"][1]) is kept
    assert call.warnings == (() if kept else DROPPED)
    assert sent["messages"][0] == body["messages"][0]
    assert sent["messages"][1]["content"] == "4"


def test_what_holds_no_reasoning_goes_out_in_the_bytes_that_came() -> None:
    body = conversation({"role": "assistant", "content": "4"}) | {"model": "gpt-4o"}
    request = relayed(body, model="gpt-4o")
    assert request.relay is not None

    assert written(request, at(OPENAI, "gpt-4o"))[1].body is request.relay.raw


def test_a_strict_request_is_told() -> None:
    request = replace(relayed(conversation(TURN)), strict=True)

    with pytest.raises(RequestRejected, match="messages"):
        written(request, at(OPENAI, "gpt-4o"))


def test_a_body_written_for_a_technique_keeps_to_the_same() -> None:
    thought = Message("assistant", (Thinking("two and two"), Text("4")))
    request = neutral(said("user", "2 + 2?"), thought, said("user", "why?"), dialect="openai_chat")

    assert "reasoning_content" not in written(request, at(OPENAI, "gpt-4o"))[0]["messages"][1]
    sent, _ = written(request, at(OWN, "Qwen/Qwen3-8B"))
    assert sent["messages"][1]["reasoning_content"] == "two and two"


WISHES: list[tuple[dict[str, Any], str]] = [
    ({"reasoning": {"effort": "low"}}, "low"),
    ({"reasoning": {"enabled": True, "max_tokens": 9000}}, "high"),
    ({"reasoning": {"enabled": False}}, "none"),
    ({"thinking": {"type": "enabled", "budget_tokens": 1500}}, "low"),
    ({"enable_thinking": True}, "medium"),
    ({"think": False}, "none"),
    ({"reasoning": {"effort": "high"}, "reasoning_effort": "low"}, "high"),
]


def wished(words: dict[str, Any], to: Target, *, strict: bool = False) -> tuple[Any, HttpCall]:
    body = {"model": "m", "messages": [{"role": "user", "content": "why?"}], **words}
    relay = OpenAIChat().decode(body, orjson.dumps(body)).relay
    return written(Request("m", strict=strict, dialect="openai_chat", relay=relay), to)


@pytest.mark.parametrize(("words", "effort"), WISHES)
@pytest.mark.parametrize("address", [OPENAI, OWN])
def test_a_wish_in_another_hosts_words_is_said_in_openais(
    words: dict[str, Any], effort: str, address: str
) -> None:
    sent, call = wished(words, at(address, "gpt-5.2"))

    assert sent["reasoning_effort"] == effort
    assert sent.keys() == {"model", "messages", "reasoning_effort"}
    assert call.warnings == ()


def test_words_that_wish_for_nothing_are_left_out_by_name() -> None:
    sent, call = wished({"reasoning": {"exclude": True}}, at(OPENAI, "gpt-5.2"))

    assert sent.keys() == {"model", "messages"}
    assert call.warnings == (Warned("field_dropped", "reasoning"),)


def test_a_model_that_cannot_think_is_not_told_to() -> None:
    sent, call = wished({"reasoning": {"effort": "low"}}, at(OPENAI, "gpt-4o"))

    assert sent.keys() == {"model", "messages"}
    assert call.warnings
    with pytest.raises(RequestRejected):
        wished({"reasoning": {"effort": "low"}}, at(OPENAI, "gpt-4o"), strict=True)


@pytest.mark.parametrize("words", [words for words, _ in WISHES] + [{"reasoning_effort": "low"}])
def test_a_host_that_may_know_the_words_gets_them_as_they_are(words: dict[str, Any]) -> None:
    sent, call = wished(words, at(OWN, "my-own-model"))

    assert {name: sent[name] for name in words} == words
    assert call.warnings == ()
