"""Which models think, and how each is told: the one table, by the provider's id of the model.

The first row whose pattern is found in the id holds. A host that has its own way of asking for
thinking puts it in the place of the family's. What an operator states wins over both.

Sources, read in October 2026: developers.openai.com/api/docs/guides/reasoning and the model pages;
platform.claude.com/docs/en/build-with-claude (adaptive-thinking, effort) and its migration guides;
ai.google.dev/gemini-api/docs (thinking, openai); openrouter.ai/docs (reasoning-tokens);
docs.vllm.ai (features/reasoning_outputs); docs.sglang.io (separate_reasoning);
api-docs.deepseek.com/guides/thinking_mode; docs.z.ai; platform.kimi.ai/docs;
alibabacloud.com/help/en/model-studio/deep-thinking; docs.ollama.com (openai-compatibility);
console.groq.com/docs/reasoning; docs.together.ai (reasoning); docs.x.ai (reasoning);
docs.mistral.ai (reasoning); inference-docs.cerebras.ai (reasoning); the models' own chat templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from gateway.config.thinking import Style
from gateway.upstream.thinking import ALL_TAGS, Thinks


class Family(NamedTuple):
    """Models that think alike; ``pattern`` is looked for in the id, in lower case."""

    name: str
    pattern: re.Pattern[str]
    thinks: Thinks


def _row(name: str, pattern: str, thinks: Thinks) -> Family:
    return Family(name, re.compile(rf"(?:^|[^a-z0-9])(?:{pattern})"), thinks)


_LMH: Final = ("low", "medium", "high")
_THINK: Final = ("think",)

_NEVER: Final = Thinks("none")
_ALWAYS: Final = Thinks("none", unasked=True, tags=_THINK, opened=True)
_O_SERIES: Final = Thinks(levels=_LMH, unasked=True, sampling="never", newer_limit=True)
_GPT: Final = replace(_O_SERIES, off="none", sampling="off")
_CLAUDE: Final = Thinks("anthropic_budget", off="omit", sampling="off")
_ADAPTIVE: Final = Thinks(
    "anthropic_adaptive", (*_LMH, "xhigh", "max"), "disabled", unasked=True, sampling="never"
)
_GEMINI: Final = Thinks("gemini", off="0", unasked=True, tags=("thought",))
_TEMPLATE: Final = Thinks("chat_template", off="false", unasked=True, tags=_THINK)

FAMILIES: Final = (
    _row("gpt-oss", r"gpt-oss", Thinks(levels=_LMH, unasked=True)),
    # OpenAI: before GPT-5.1 nothing switches reasoning off; the least is `minimal` or `low`.
    _row("GPT-5 chat", r"gpt-5(\.\d+)?-chat|chatgpt", _NEVER),
    _row("GPT-5 pro", r"gpt-5-pro", replace(_O_SERIES, levels=("high",))),
    _row(
        "GPT-5.2 pro and later", r"gpt-5\.\d+-pro", replace(_O_SERIES, levels=(*_LMH[1:], "xhigh"))
    ),
    _row(
        "Codex from GPT-5.1 max on",
        r"gpt-5\.(1-codex-max|([2-9]|\d\d)-codex)",
        replace(_O_SERIES, levels=(*_LMH, "xhigh")),
    ),
    _row("Codex", r"codex|gpt-5(\.1)?-codex", _O_SERIES),
    _row("GPT-5.1", r"gpt-5\.1(?!\d)", _GPT),
    _row("GPT-5.2 to 5.5", r"gpt-5\.[2-5](?!\d)", replace(_GPT, levels=(*_LMH, "xhigh"))),
    _row("GPT-5.6 and later", r"gpt-(5\.|[6-9])", replace(_GPT, levels=(*_LMH, "xhigh", "max"))),
    _row(
        "GPT-5",
        r"gpt-5",
        replace(_O_SERIES, levels=("minimal", *_LMH), off="minimal"),
    ),
    _row("o1-mini, o1-preview", r"o1-(mini|preview)", replace(_O_SERIES, style="none", levels=())),
    _row("o1, o3, o4", r"o[134](?![a-z0-9])", _O_SERIES),
    _row("GPT-3.5, GPT-4", r"gpt-[34]", _NEVER),
    # Anthropic: budgets up to 4.5, both in 4.6, efforts alone from 4.7 on, where sampling
    # parameters are gone as well. What keeps it from thinking is another word almost each time.
    _row("Claude Sonnet 5.5", r"claude-sonnet-5[.-]5", replace(_ADAPTIVE, off="between_tools")),
    _row("Claude Haiku 5.5", r"claude-haiku-5[.-]5", _ADAPTIVE),
    _row("Claude Opus 5, Sonnet 5", r"claude-(opus|sonnet|haiku)-5(?![.-]\d(?!\d))", _ADAPTIVE),
    _row(
        "Claude Opus 4.7, 4.8",
        r"claude-(opus|sonnet)-4[.-][789]",
        replace(_ADAPTIVE, off="omit", unasked=False),
    ),
    _row(
        "Claude Opus 4.6, Sonnet 4.6",
        r"claude-((opus|sonnet)-4[.-]6|4\.6-(opus|sonnet))",
        replace(_ADAPTIVE, levels=(*_LMH, "max"), off="omit", unasked=False, sampling="off"),
    ),
    _row("Claude 3.7 to 4.5", r"claude-((opus|sonnet|haiku)-4|4|3[.-]7)", _CLAUDE),
    _row("Claude before 3.7", r"claude-([23](?!\d)|instant)", _NEVER),
    _row(
        "Claude Fable, Mythos, Opus 5.5 and later",
        r"claude-(fable|mythos|[a-z]+-([5-9]|\d\d)(?!\d))",
        replace(_ADAPTIVE, off=""),
    ),
    _row("Gemini 2.5 Pro", r"gemini-2\.5-pro", replace(_GEMINI, off="")),
    _row("Gemini 2.5 Flash Lite", r"gemini-2\.5-flash-lite", replace(_GEMINI, unasked=False)),
    _row("Gemini 2.5 Flash", r"gemini-2\.5", _GEMINI),
    _row("Gemini before 2.5", r"gemini-(1|2)", _NEVER),
    _row("Gemini 3 Pro", r"gemini-3-pro", replace(_GEMINI, levels=("low", "high"), off="")),
    _row("Gemini 3 Pro, later", r"gemini-[^/]*pro", replace(_GEMINI, levels=_LMH, off="")),
    _row("Gemini 3 Flash", r"gemini", replace(_GEMINI, levels=("minimal", *_LMH), off="minimal")),
    # Models with open weights, as vLLM, SGLang and llama.cpp serve them.
    _row("DeepSeek R1, QwQ", r"deepseek-(r1|reasoner)|qwq|[^/]*-r1-distill", _ALWAYS),
    _row(
        "DeepSeek V3.1, V3.2",
        r"deepseek-(chat|v3\.[12])",
        replace(_TEMPLATE, flag="thinking", unasked=False),
    ),
    _row(
        "DeepSeek V4",
        r"deepseek-(v[4-9]|flash|pro)",
        replace(_TEMPLATE, flag="thinking"),
    ),
    _row("DeepSeek before V3.1", r"deepseek", _NEVER),
    _row("Qwen3 Thinking", r"qwen-?3[^/]*-thinking", _ALWAYS),
    _row("Qwen3 Instruct, Coder", r"qwen-?3[^/]*-(instruct|coder)|qwen(1|2)", _NEVER),
    _row("Qwen3", r"qwen-?3(?![.])", _TEMPLATE),
    _row("Qwen3.5 and later", r"qwen-?(3\.|[4-9])", replace(_TEMPLATE, opened=True)),
    _row(
        "Qwen Plus, Flash, Turbo, Max",
        r"qwen-(plus|flash|turbo|max)",
        replace(_TEMPLATE, unasked=False),
    ),
    _row("GLM-4.5 and later", r"glm-(4\.[5-9]|[5-9])", _TEMPLATE),
    _row(
        "Kimi K2.5, K2.6", r"kimi-k2\.[56]", replace(_TEMPLATE, flag="thinking", sampling="never")
    ),
    _row(
        "Kimi K3",
        r"kimi-k[3-9]",
        Thinks(levels=("low", "high", "max"), unasked=True, sampling="never"),
    ),
    _row("Kimi K2 Thinking, K2.7", r"kimi-k2(-thinking|\.7)", replace(_ALWAYS, opened=False)),
    _row("Kimi, others", r"kimi|moonshot", _NEVER),
    _row("MiniMax M2", r"minimax-m[12]", _ALWAYS),
    _row("Granite", r"granite-(3\.[23]|4)", replace(_TEMPLATE, flag="thinking", unasked=False)),
    _row("Gemma 4", r"gemma-?4", replace(_TEMPLATE, unasked=False)),
    _row(
        "Nemotron, SmolLM3, Hunyuan, EXAONE", r"[^/]*(nemotron|smollm3|hunyuan|exaone)", _TEMPLATE
    ),
    _row(
        "Magistral, Phi reasoning", r"magistral|phi-4[^/]*reasoning", replace(_ALWAYS, opened=False)
    ),
    _row(
        "Mistral Small 4, Medium 3.5",
        r"mistral-(small-(latest|2[6-9]|4)|medium-(latest|3[.-]5))",
        Thinks(levels=("high",), off="none"),
    ),
    _row("Grok 3 Mini", r"grok-3-mini", Thinks(levels=("low", "high"), unasked=True)),
    _row("Grok 4.3", r"grok-4\.3", Thinks(levels=_LMH, off="none", unasked=True)),
    _row("Grok 4.5 and later", r"grok-(4\.[5-9]|[5-9])", Thinks(levels=_LMH, unasked=True)),
    _row("Grok without reasoning", r"grok[^/]*-non-reasoning|grok-[23]", _NEVER),
    _row("Grok 4", r"grok-4", Thinks("none", unasked=True)),
)


class Host(NamedTuple):
    """A host that has one way for all its models; ``address`` is looked for in its base URL.

    ``off`` keeps a model from thinking that can be kept from it; with ``lenient`` it may be said
    of any model, also of one that does not think. ``levels`` are those of models that have none
    elsewhere. Models that take an effort elsewhere keep that with ``efforts``.
    """

    address: str
    style: Style
    off: str
    lenient: bool = False
    levels: tuple[str, ...] = ()
    efforts: bool = True


HOSTS: Final = (
    Host("openrouter.ai", "openrouter", "none", lenient=True, efforts=False),
    Host("together.", "openrouter", "none"),
    Host("deepseek.com", "switch", "disabled", levels=("low", "high", "max")),
    Host("api.z.ai", "switch", "disabled"),
    Host("bigmodel.cn", "switch", "disabled"),
    Host("moonshot.", "switch", "disabled"),
    Host("volces.com", "switch", "disabled"),
    Host("dashscope", "dashscope", "false"),
    Host("siliconflow", "dashscope", "false"),
    Host("googleapis.com", "gemini", ""),
    Host("ollama.com", "ollama", "none", lenient=True, levels=_LMH),
    Host(":11434", "ollama", "none", lenient=True, levels=_LMH),
    Host("groq.com", "effort", "none", levels=("default",)),
    Host("cerebras.ai", "effort", "none", levels=_LMH),
    Host("fireworks.ai", "effort", "none", levels=_LMH),
    Host("deepinfra.com", "effort", "none", levels=_LMH),
)
_TRANSLATING: Final = Host("", "effort", "none", levels=_LMH)
"""An unknown host that has models of Google's or Anthropic's: it translates efforts."""
OFF: Final[Mapping[Style, str]] = {
    "effort": "none",
    "anthropic_budget": "omit",
    "anthropic_adaptive": "disabled",
    "gemini": "0",
    "openrouter": "none",
    "chat_template": "false",
    "switch": "disabled",
    "dashscope": "false",
    "ollama": "none",
    "directive": "/no_think",
    "none": "",
}
"""What keeps a model from thinking in a style that an operator states, where no row says."""

_ELSEWHERE: Final = frozenset({"gemini", "anthropic_budget", "anthropic_adaptive"})
_STRANGER: Final = Thinks(tags=ALL_TAGS, known=False)


def thinks_of(model: str, dialect: str, address: str, stated: Style | None = None) -> Thinks:
    """Return how the provider's *model* at the base URL *address* thinks.

    *stated* is the style that the operator says it takes, None to go by the tables.
    """
    model = model.lower()
    family = next((row.thinks for row in FAMILIES if row.pattern.search(model)), None)
    if stated is not None:
        return _stated(family, stated, model)
    if dialect == "anthropic":
        return _at_anthropic(family)
    if dialect == "openai_responses":
        return _at_responses(family)
    host = _host_at(address)
    if host is None and family is not None and family.style in _ELSEWHERE:
        host = _TRANSLATING
    return (family or _STRANGER) if host is None else _hosted(family, host)


@lru_cache(256)
def _host_at(address: str) -> Host | None:
    return next((host for host in HOSTS if host.address in address.lower()), None)


def _stated(family: Thinks | None, style: Style, model: str) -> Thinks:
    """Return *family* as the operator says that it is told; who says so says that it thinks."""
    own = family if family is not None and family.able else Thinks(unasked=True, tags=ALL_TAGS)
    if own is family and own.style == style:
        return own
    off = "/nothink" if style == "directive" and "glm" in model else OFF[style]
    return replace(own, style=style, off=off)


def _at_anthropic(family: Thinks | None) -> Thinks:
    """Return how a model of *family* is told in Anthropic's dialect, by whichever host."""
    if family is None:
        return Thinks("anthropic_budget", off="disabled", sampling="off", known=False)
    if family.style.startswith("anthropic_") or family.style == "none":
        return family
    return replace(family, style="anthropic_budget", off="disabled" if family.off else "")


def _at_responses(family: Thinks | None) -> Thinks:
    """Return how a model of *family* is told in OpenAI's Responses API, by whichever host.

    It knows efforts alone; a host that has other models there translates them.
    """
    if family is None:
        return Thinks(known=False)
    if family.style in {"effort", "none"}:
        return replace(family, tags=())
    off = family.off if family.off in family.levels else "none"
    own = replace(family, style="effort", levels=family.levels or _LMH, tags=())
    return replace(own, off=off if family.off else "")


def _hosted(family: Thinks | None, host: Host) -> Thinks:
    """Return how a model of *family* is told at *host*."""
    if family is None:
        off = host.off if host.lenient else ""
        return replace(_STRANGER, style=host.style, off=off, levels=host.levels)
    if family.style in {"none", host.style} or (family.style == "effort" and host.efforts):
        return family
    off = family.off if family.off in family.levels else host.off
    own = replace(family, levels=family.levels or host.levels, newer_limit=False)
    return replace(own, style=host.style, off=off if family.off else "")
