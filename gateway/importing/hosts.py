"""The providers of a LiteLLM configuration by their names, and where they are asked from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Host(NamedTuple):
    """Where a provider is asked, and the environment variable with its key, "" for none.

    ``address`` "" has to be given by the configuration; ``below`` is added to one that is.
    """

    address: str
    variable: str
    dialect: str = "openai_chat"
    below: str = ""


_COMPATIBLE: Final = Host("", "OPENAI_LIKE_API_KEY")

HOSTS: Final[Mapping[str, Host]] = {
    "anthropic": Host("https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"),
    "azure": Host("", "AZURE_API_KEY", below="/openai/v1"),
    "cerebras": Host("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "cohere_chat": Host("https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    "custom_openai": _COMPATIBLE,
    "dashscope": Host(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"
    ),
    "deepinfra": Host("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "deepseek": Host("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "fireworks_ai": Host("https://api.fireworks.ai/inference/v1", "FIREWORKS_AI_API_KEY"),
    "gemini": Host("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Host("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "hosted_vllm": Host("", ""),
    "litellm_proxy": Host("", "LITELLM_PROXY_API_KEY"),
    "llamafile": Host("http://127.0.0.1:8080/v1", ""),
    "lm_studio": Host("http://127.0.0.1:1234/v1", ""),
    "mistral": Host("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "moonshot": Host("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "nvidia_nim": Host("https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY"),
    "ollama": Host("http://127.0.0.1:11434/v1", "", below="/v1"),
    "ollama_chat": Host("http://127.0.0.1:11434/v1", "", below="/v1"),
    "openai": Host("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "openai_like": _COMPATIBLE,
    "openrouter": Host("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "perplexity": Host("https://api.perplexity.ai", "PERPLEXITYAI_API_KEY"),
    "sambanova": Host("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    "text-completion-openai": Host("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "together_ai": Host("https://api.together.xyz/v1", "TOGETHERAI_API_KEY"),
    "xai": Host("https://api.x.ai/v1", "XAI_API_KEY"),
}

_AMAZON: Final = "its calls are signed with Amazon's credentials, which is not done here"
_GOOGLE: Final = (
    "it takes tokens of a Google service account, which are not made here; gemini/ with a key is "
    "carried over"
)
ELSEWHERE: Final[Mapping[str, str]] = {
    "azure_ai": "its address differs by model; give its OpenAI-compatible one as openai/",
    "azure_text": "its deployments take prompts alone, by an older API",
    "bedrock": _AMAZON,
    "bedrock_converse": _AMAZON,
    "sagemaker": _AMAZON,
    "sagemaker_chat": _AMAZON,
    "vertex_ai": _GOOGLE,
    "vertex_ai_beta": _GOOGLE,
    "vllm": "it runs in LiteLLM's own process; serve it, and name it as hosted_vllm/",
}
"""Providers that cannot be asked from here, and why."""
UNKNOWN: Final = "its provider is not known here; with an OpenAI-compatible address it is openai/"

_FAMILIES: Final = {
    "openai": ("gpt-", "chatgpt-", "o1", "o3", "o4", "text-embedding-", "ft:"),
    "anthropic": ("claude-",),
}


def named(model: str, stated: str | None) -> tuple[str, str]:
    """Return the provider that *model* names, "" if it names none, and the rest of the name.

    *stated* is the provider that stands beside it.
    """
    first, slash, rest = model.partition("/")
    if stated is not None:
        return stated, rest if slash and first == stated else model
    if slash and (first in HOSTS or first in ELSEWHERE):
        return first, rest
    families = (host for host, begins in _FAMILIES.items() if model.startswith(begins))
    return next(families, ""), model
