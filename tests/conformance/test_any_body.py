"""Whatever a client sends, the mistake is its own, and the answer is strict JSON."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from techniques.core.json import Json
from tests.conformance.stage import CHAT, MESSAGES, Stage
from tests.fakes import script

WORDS = st.sampled_from(
    [
        *("role", "content", "type", "text", "user", "assistant", "tool", "system", "name"),
        *("image_url", "url", "tool_use", "tool_result", "tool_calls", "function", "arguments"),
        *("id", "input", "source", "thinking", "signature", "cache_control", "{}", "", "\u2028"),
    ]
)
ANY: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    [
        *("messages", "tools", "tool_choice", "system", "stop", "response_format", "thinking"),
        *("max_tokens", "temperature", "n", "stream_options", "reliability", "metadata", "model"),
        *("logprobs", "top_logprobs", "functions", "seed", "stop_sequences", "user"),
    ]
)


@pytest.mark.case("JSON-05")
@pytest.mark.parametrize("model", ["oa-model", "an-model"])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_no_body_is_the_gateways_mistake(stage: Stage, path: str, model: str) -> None:
    stage.uncounted()
    stage.upstream.chooses(
        lambda asked: script.message() if asked.path == MESSAGES else script.completion()
    )
    usual = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}

    @settings(
        max_examples=120,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.dictionaries(FIELDS, ANY, max_size=4))
    def holds(fields: dict[str, Json]) -> None:
        answer = stage.post(path, {**usual, **fields})
        assert answer.status < 500, answer.body
        assert isinstance(answer.json, dict)
        stage.received.clear()

    holds()
