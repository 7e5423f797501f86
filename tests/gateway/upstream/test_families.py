from __future__ import annotations

from collections import Counter

import pytest

from gateway.config.thinking import Style
from gateway.upstream.families import FAMILIES, thinks_of
from gateway.upstream.thinking import Thinks

OPENAI = "https://api.openai.com/v1"
ROUTER = "https://openrouter.ai/api/v1"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai"
OWN = "http://10.0.0.7:8000/v1"


def thinks(model: str, address: str = OWN, *, stated: Style | None = None) -> Thinks:
    return thinks_of(model, "openai_chat", address, stated)


@pytest.mark.parametrize(
    ("model", "levels", "off"),
    [
        ("gpt-5-2025-08-07", "minimal low medium high", "minimal"),
        ("gpt-5-mini", "minimal low medium high", "minimal"),
        ("gpt-5.1", "low medium high", "none"),
        ("gpt-5.2-2025-12-11", "low medium high xhigh", "none"),
        ("gpt-5.6-sol", "low medium high xhigh max", "none"),
        ("gpt-5-pro", "high", ""),
        ("gpt-5.5-pro", "medium high xhigh", ""),
        ("gpt-5.1-codex", "low medium high", ""),
        ("gpt-5.1-codex-max", "low medium high xhigh", ""),
        ("gpt-5.3-codex", "low medium high xhigh", ""),
        ("o3-mini", "low medium high", ""),
        ("openai/o4-mini", "low medium high", ""),
    ],
)
def test_openais_models_take_the_efforts_of_their_generation(
    model: str, levels: str, off: str
) -> None:
    found = thinks(model, OPENAI)

    assert (found.style, " ".join(found.levels), found.off) == ("effort", levels, off)
    assert found.unasked
    assert found.newer_limit


@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-4.1-mini", "chatgpt-4o-latest", "gpt-5-chat-latest", "gpt-3.5-turbo"]
)
def test_models_that_do_not_think_are_known_for_it(model: str) -> None:
    found = thinks(model, OPENAI)

    assert (found.known, found.able) == (True, False)


@pytest.mark.parametrize(
    ("model", "style", "off", "sampling"),
    [
        ("claude-3-7-sonnet-latest", "anthropic_budget", "omit", "off"),
        ("claude-sonnet-4-20250514", "anthropic_budget", "omit", "off"),
        ("claude-opus-4-1", "anthropic_budget", "omit", "off"),
        ("claude-haiku-4-5-20251001", "anthropic_budget", "omit", "off"),
        ("claude-opus-4-6", "anthropic_adaptive", "omit", "off"),
        ("claude-sonnet-4-6", "anthropic_adaptive", "omit", "off"),
        ("claude-opus-4-7", "anthropic_adaptive", "omit", "never"),
        ("claude-opus-5", "anthropic_adaptive", "disabled", "never"),
        ("claude-sonnet-5-20260801", "anthropic_adaptive", "disabled", "never"),
        ("claude-haiku-5-5", "anthropic_adaptive", "disabled", "never"),
        ("claude-sonnet-5-5", "anthropic_adaptive", "between_tools", "never"),
        ("claude-opus-5-5", "anthropic_adaptive", "", "never"),
        ("claude-fable-5", "anthropic_adaptive", "", "never"),
        ("claude-opus-6", "anthropic_adaptive", "", "never"),
    ],
)
def test_claude_is_told_in_the_words_of_its_generation(
    model: str, style: str, off: str, sampling: str
) -> None:
    found = thinks_of(model, "anthropic", "https://api.anthropic.com")

    assert (found.style, found.off, found.sampling) == (style, off, sampling)


def test_an_older_claude_does_not_think() -> None:
    assert not thinks_of("claude-3-5-sonnet-latest", "anthropic", "").able


@pytest.mark.parametrize(
    ("model", "levels", "off"),
    [
        ("gemini-2.5-pro", "", ""),
        ("gemini-2.5-flash", "", "0"),
        ("gemini-3-pro-preview", "low high", ""),
        ("gemini-3.1-pro-preview", "low medium high", ""),
        ("gemini-3.5-flash", "minimal low medium high", "minimal"),
    ],
)
def test_gemini_has_budgets_and_then_levels(model: str, levels: str, off: str) -> None:
    found = thinks(model, GOOGLE)

    assert (found.style, " ".join(found.levels), found.off) == ("gemini", levels, off)


@pytest.mark.parametrize(
    ("model", "flag", "unasked"),
    [
        ("Qwen/Qwen3-8B", "enable_thinking", True),
        ("Qwen/Qwen3.6-27B", "enable_thinking", True),
        ("zai-org/GLM-4.6", "enable_thinking", True),
        ("deepseek-ai/DeepSeek-V3.1", "thinking", False),
        ("deepseek-ai/DeepSeek-V4-Pro", "thinking", True),
        ("moonshotai/Kimi-K2.5", "thinking", True),
        ("ibm-granite/granite-3.2-8b-instruct", "thinking", False),
    ],
)
def test_open_weights_are_told_through_their_chat_template(
    model: str, flag: str, *, unasked: bool
) -> None:
    found = thinks(model)

    assert (found.style, found.flag, found.unasked) == ("chat_template", flag, unasked)
    assert found.off
    assert found.tags == ("think",)


@pytest.mark.parametrize(
    "model", ["deepseek-ai/DeepSeek-R1", "Qwen/QwQ-32B", "Qwen/Qwen3-30B-A3B-Thinking-2507"]
)
def test_models_that_only_think_begin_inside_their_tags(model: str) -> None:
    found = thinks(model)

    assert (found.style, found.unasked, found.off, found.opened) == ("none", True, "", True)


@pytest.mark.parametrize(
    ("model", "address", "style", "off", "levels"),
    [
        ("qwen/qwen3-32b", "https://api.groq.com/openai/v1", "effort", "none", "default"),
        ("openai/gpt-oss-120b", "https://api.groq.com/openai/v1", "effort", "", "low medium high"),
        ("qwen-3.8-27b", "https://api.cerebras.ai/v1", "effort", "none", "low medium high"),
        ("deepseek-v4-flash", "https://api.deepseek.com/v1", "switch", "disabled", "low high max"),
        ("glm-5", "https://api.z.ai/api/paas/v4", "switch", "disabled", ""),
        ("kimi-k3", "https://api.moonshot.ai/v1", "effort", "", "low high max"),
        (
            "qwen-plus",
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "dashscope",
            "false",
            "",
        ),
        ("zai-org/GLM-5", "https://api.together.xyz/v1", "openrouter", "none", ""),
        ("openai/gpt-oss-20b", "https://api.together.xyz/v1", "effort", "", "low medium high"),
        ("qwen3:8b", "http://127.0.0.1:11434/v1", "ollama", "none", "low medium high"),
        ("openai/gpt-5", ROUTER, "openrouter", "minimal", "minimal low medium high"),
        ("openai/o3", ROUTER, "openrouter", "", "low medium high"),
        ("anthropic/claude-sonnet-4.5", ROUTER, "openrouter", "none", ""),
        ("anthropic/claude-opus-5.5", ROUTER, "openrouter", "", "low medium high xhigh max"),
        ("google/gemini-2.5-flash", OWN, "effort", "none", "low medium high"),
        ("deepseek/deepseek-r1", ROUTER, "none", "", ""),
    ],
)
def test_a_host_has_its_own_way(
    model: str, address: str, style: str, off: str, levels: str
) -> None:
    found = thinks(model, address)

    assert (found.style, found.off, " ".join(found.levels)) == (style, off, levels)


@pytest.mark.parametrize(
    ("address", "off"), [(OWN, ""), (ROUTER, "none"), ("https://api.groq.com/openai/v1", "")]
)
def test_of_a_model_that_is_not_known_little_is_assumed(address: str, off: str) -> None:
    found = thinks("my-own-model", address)

    assert (found.known, found.able, found.unasked, found.off) == (False, False, False, off)


def test_another_model_in_anthropics_dialect_is_told_by_a_budget() -> None:
    hybrid = thinks_of("glm-4.7", "anthropic", "https://api.z.ai/api/anthropic")
    unknown = thinks_of("my-own-model", "anthropic", OWN)

    assert (hybrid.style, hybrid.off, hybrid.known) == ("anthropic_budget", "disabled", True)
    assert (unknown.style, unknown.off, unknown.known) == ("anthropic_budget", "disabled", False)


def test_what_an_operator_states_holds() -> None:
    assert thinks("gpt-4o", OPENAI, stated="effort") == Thinks(
        "effort", off="none", unasked=True, tags=thinks("x").tags
    )
    assert thinks("qwen3:8b", OWN, stated="ollama").style == "ollama"
    assert thinks("Qwen/Qwen3-8B", stated="chat_template") == thinks("Qwen/Qwen3-8B")
    assert thinks("Qwen/Qwen3-8B", stated="directive").off == "/no_think"
    assert thinks("zai-org/GLM-4.5", stated="directive").off == "/nothink"


def test_every_family_has_a_name_of_its_own() -> None:
    counted = Counter(family.name for family in FAMILIES)

    assert [name for name, count in counted.items() if count > 1] == []
