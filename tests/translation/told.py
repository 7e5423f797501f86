"""The tables of docs/translation.md about answers, and what may go without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from tests.translation.answers import CLIENTS, MAKERS, Fate, Told, fates, told_of
from tests.translation.samples import CHAT, MESSAGES, RESPONSES, members

OLLAMA: Final = "ollama"
TITLES: Final = {
    CHAT: "chat completions",
    RESPONSES: "Responses",
    MESSAGES: "Messages",
    OLLAMA: "Ollama",
}
_ECHOED: Final = (
    *("access_programs", "background", "conversation", "image", "instructions", "metadata"),
    *("max_output_tokens", "max_tool_calls", "parallel_tool_calls", "previous_response_id"),
    *("prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
    *("reasoning", "safety_identifier", "temperature", "text", "tool_choice", "tools"),
    *("top_logprobs", "top_p", "truncation", "user"),
)
NATURAL: Final[Mapping[str, tuple[str, ...]]] = {
    "a name or a time, of which each answer has its own": (
        *("*.id", "*.created", "*.created_at", "*.completed_at", "*.created_by", "*.call_id"),
        *("*.model", "*.system_fingerprint"),
    ),
    "the same in each answer, or the usual": (
        *("*.object", "*.role", "*.type", "*.status", "*.choices.index", "*.finish_reason.stop"),
        *("*.stop_reason.end_turn", "*.stop_details.type"),
    ),
    "what was asked, said again": (
        *(f"{RESPONSES}.{name}" for name in _ECHOED),
        *(f"{CHAT}.metadata", "*.namespace"),
    ),
    "a part of a count that is told": (
        *("*.usage.total_tokens", "*.text_tokens", "*.audio_tokens", "*.image_tokens"),
        *("*.*_prediction_tokens", "*.cache_write_tokens_details", "*.cache_creation.*"),
    ),
    "told once, in one of two forms": ("*.output.reasoning.content",),
    "where it ran": ("*.inference_geo",),
}
"""By the reason, what is by its nature nothing for a client of another API to know."""
_CALLS: Final = "that there are calls tells it"
QUIET: Final[Mapping[str, Mapping[str, str]]] = {
    CHAT: {
        "*.encrypted_content": "such clients send no reasoning back",
        "*.redacted_thinking": "such clients send no reasoning back",
        "*.stop_reason.stop_sequence": "they are not told which text it was",
        "*.stop_sequence": "they are not told which text it was",
    },
    RESPONSES: {
        "*.finish_reason.*_call*": _CALLS,
        "*.stop_reason.tool_use": _CALLS,
        "*.stop_reason.stop_sequence": "they cannot ask for such an end",
        "*.stop_sequence": "they cannot ask for such an end",
    },
    MESSAGES: {
        "*.logprobs": "they cannot ask for it",
        "*.logprobs.content": "they cannot ask for it",
    },
    OLLAMA: {
        "*.finish_reason.*_call*": _CALLS,
        "*.stop_reason.tool_use": _CALLS,
        "*.stop_reason.stop_sequence": "they are not told which text it was",
        "*.stop_sequence": "they are not told which text it was",
        "*.encrypted_content": "such clients send no reasoning back",
        "*.redacted_thinking": "such clients send no reasoning back",
        "*.service_tier": "they know no tiers",
        "*.speed": "they know no tiers",
        "*.cache*_tokens": "they are told two counts",
        "*.reasoning_tokens": "they are told two counts",
        "*.thinking_tokens": "they are told two counts",
        "*.url_citation.*": "the whole of it is named",
    },
}
"""By client, what has no place there and need have none."""


def is_quiet(told: Told, client: str) -> bool:
    """Tell whether a *client* need not know of it."""
    patterns = [one for group in NATURAL.values() for one in group] + list(QUIET[client])
    return any(fnmatchcase(told.path, pattern) for pattern in patterns)


HEADS: Final[Mapping[str, tuple[str, ...]]] = {
    maker: ("told", *(TITLES[client] for client in CLIENTS if client != maker)) for maker in MAKERS
}


def rows(maker: str) -> Iterator[tuple[str, ...]]:
    """Yield what a *maker* tells and what becomes of it; what fares alike, in one row."""
    others = [client for client in CLIENTS if client != maker]
    alike: dict[tuple[str, ...], list[str]] = {}
    for told in (one for one in told_of() if one.spot.provider == maker):
        found = {client: fates(maker, client, stream=False)[told] for client in others}
        if not _is_told(told, found):
            continue
        cells = tuple(_cell(told, fate) for fate in found.values())
        alike.setdefault(cells, []).append(f"`{told.path.removeprefix(f'{maker}.')}`")
    for cells, names in alike.items():
        yield ", ".join(names), *cells


def _is_told(told: Told, found: Mapping[str, Fate]) -> bool:
    """Tell whether *told* is worth a place: in an object, if it fares otherwise than that."""
    if all(fate.silent for fate in found.values()):
        return False
    if told.spot.base is not None or not told.name:
        return told.path.rpartition(".")[2] not in {"id", "model"}
    wholes = {
        client: fates(told.spot.provider, client, stream=False)[replace(told, name="")]
        for client in found
    }
    return any(fate.lost != wholes[client].lost for client, fate in found.items())


def _cell(told: Told, fate: Fate) -> str:
    codes = [f"`{code}`" for code in fate.lost]
    if not fate.said:
        return ", ".join(codes) or "-"
    names = {told.name, told.path.rpartition(".")[2], told.path.split(".")[-2]}
    own = not names.isdisjoint(fate.said) or (
        not told.name and len(list(members(told.spot.kind))) > 1
    )
    said = "said" if own else "as " + ", ".join(f"`{name}`" for name in fate.said)
    return ", ".join([said, *codes])


def natural() -> Iterator[tuple[str, str]]:
    """Yield the reasons why something is nothing to know, and what that is."""
    for why, patterns in NATURAL.items():
        yield why, ", ".join(f"`{_plain(pattern)}`" for pattern in patterns)


def _plain(pattern: str) -> str:
    for maker in MAKERS:
        pattern = pattern.removeprefix(f"{maker}.")
    return pattern.removeprefix("*.").replace("*", "…")
