from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.provider import Target
from gateway.upstream.providers.openai_chat import OpenAIChat as Upstream
from gateway.wire.openai_chat import OpenAIChat

MARK = {"type": "ephemeral"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALLING = {"type": "function", "function": {"name": "f", "arguments": "{}"}}


def talk(turns: list[Any]) -> list[Any]:
    """Return *turns*; each call among them has an id of its own, and its result behind it."""
    said: list[Any] = []
    for place, turn in enumerate(turns):
        if turn is not CALLING:
            said.append(turn)
            continue
        calls = [{"id": f"a{place}", **CALLING}]
        said.append({"role": "assistant", "content": None, "tool_calls": calls})
        said.append({"role": "tool", "tool_call_id": f"a{place}", "content": "r"})
    return said


TURNS = st.lists(
    st.sampled_from(
        [
            {"role": "system", "content": "S"},
            {
                "role": "developer",
                "content": [{"type": "text", "text": "a", "cache_control": MARK}],
            },
            {"role": "user", "content": "hi", "name": "n"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "new", "x": 1}]},
            {"role": "assistant", "content": "ok", "reasoning_content": "why", "x_new": [1]},
            {"role": "assistant", "content": "ok", "reasoning": "why"},
            {
                "role": "assistant",
                "content": "ok",
                "reasoning": "why",
                "reasoning_details": [{"type": "reasoning.text", "signature": "c2ln"}],
            },
            CALLING,
            {"role": "assistant", "content": None, "refusal": "no"},
        ]
    ),
    min_size=1,
    max_size=6,
).map(talk)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2),
        "max_tokens": st.integers(1, 99),
        "stop": st.lists(st.text(max_size=3), min_size=1, max_size=3),
        "seed": st.integers(0, 99),
        "logprobs": st.just(value=True),
        "tools": st.just([{**TOOL, "cache_control": MARK}, {"type": "custom", "custom": {}}]),
        "response_format": st.sampled_from(
            [{"type": "json_object"}, {"type": "grammar", "g": "x"}]
        ),
        "reasoning_effort": st.sampled_from(["low", "high"]),
        "metadata": st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
        "user": st.text(min_size=1, max_size=5),
    },
)


@given(turns=TURNS, fields=FIELDS)
def test_a_body_survives_the_way_through_the_neutral_form(
    turns: list[Any], fields: dict[str, Any]
) -> None:
    body = {"model": "fast", "messages": turns, **fields}
    neutral = OpenAIChat().decode(body, b"").relay.decode()

    sent = orjson.loads(Upstream().encode(neutral, Target("fast", "host", "fast")).body)

    assert sent == body
