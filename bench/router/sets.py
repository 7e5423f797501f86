"""Reads the sets of prompts that several models answered: who was right, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.quality.reading import rows
from router_service.features import Prompt, prompt_of
from techniques.core.request import Request, Tool, said

Numbers: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]

_A_TOKEN: Final = 4  # characters
_LETTER: Final = 2  # tokens of an answer that is a letter
_MILLION: Final = 1e6
_THOUSAND: Final = 1000.0


@dataclass(frozen=True, slots=True)
class RoutedSet:
    """Prompts, a row each, that every one of ``models``, a column each, was asked.

    ``quality`` is 0 to 1, ``cost`` in dollars for a thousand such calls. ``prices`` are those of a
    million tokens, read and written, by model.
    """

    name: str
    about: str
    models: tuple[str, ...]
    prompts: tuple[Prompt, ...]
    quality: Numbers
    cost: Numbers

    def __len__(self) -> int:
        return len(self.prompts)

    def part(self, places: Sequence[int] | Places) -> RoutedSet:
        """Return just the prompts at *places*."""
        return RoutedSet(
            self.name,
            self.about,
            self.models,
            tuple(self.prompts[place] for place in places),
            self.quality[places],
            self.cost[places],
        )


def _asked(text: str, label: str = "", tools: Iterable[Mapping[str, Any]] = ()) -> Prompt:
    """Return what a router is told of a request with *text*, as the gateway tells it."""
    offered = tuple(
        Tool(tool["name"], tool.get("description"), tool.get("parameters")) for tool in tools
    )
    return prompt_of(Request("m", (said("user", text),), tools=offered), label)


def _pair(
    name: str, about: str, answered: Sequence[Mapping[str, Any]], *, labelled: bool = False
) -> RoutedSet:
    """Return a set of Mixtral-8x7B and gpt-4-1106 (prices of that time), without leaked rows."""
    kept = [row for row in answered if not row["contaminated"]]
    read = np.array([len(row["prompt"]) / _A_TOKEN for row in kept])
    cost = np.empty((len(kept), 2))
    for place, (side, taken, given) in enumerate((("weak", 0.6, 0.6), ("strong", 10.0, 30.0))):
        wrote = [len(row.get(f"{side}_response", "")) / _A_TOKEN or _LETTER for row in kept]
        cost[:, place] = (read * taken + np.array(wrote) * given) * _THOUSAND / _MILLION
    right = np.array([[row["weak_ok"], row["strong_ok"]] for row in kept], np.float64)
    return RoutedSet(
        name,
        about,
        ("mixtral-8x7b", "gpt-4-1106"),
        tuple(_asked(row["prompt"], row["domain"] if labelled else "") for row in kept),
        right.reshape(-1, 2),
        cost,
    )


def mmlu(folder: Path) -> RoutedSet:
    """Return MMLU, each question labelled with its subject."""
    found = list(rows(folder / "routellm_mmlu.jsonl.gz"))
    return _pair("mmlu", "MMLU, the subject told by the client", found, labelled=True)


def mmlu_unlabelled(folder: Path) -> RoutedSet:
    """Return MMLU, nothing known but the text."""
    found = list(rows(folder / "routellm_mmlu.jsonl.gz"))
    return _pair("mmlu_unlabelled", "MMLU, nothing told but the text", found)


def gsm8k(folder: Path) -> RoutedSet:
    """Return GSM8K."""
    found = list(rows(folder / "routellm_gsm8k.jsonl.gz"))
    return _pair("gsm8k", "GSM8K, problems in words", found)


TOOLS: Final[Mapping[str, tuple[float, float]]] = {
    "gpt-4o-2024-08-06-FC": (2.5, 10.0),
    "gpt-4o-mini-2024-07-18-FC": (0.15, 0.6),
    "gpt-4-turbo-2024-04-09-FC": (10.0, 30.0),
    "gpt-4-0125-preview-FC": (10.0, 30.0),
    "gpt-3.5-turbo-0125-FC": (0.5, 1.5),
    "claude-3-5-sonnet-20240620-FC": (3.0, 15.0),
    "claude-3-opus-20240229-FC": (15.0, 75.0),
    "claude-3-sonnet-20240229-FC": (3.0, 15.0),
    "claude-3-haiku-20240307-FC": (0.25, 1.25),
    "gemini-1.5-pro-preview-0514": (3.5, 10.5),
    "gemini-1.5-flash-preview-0514": (0.075, 0.3),
    "gemini-1.0-pro": (0.5, 1.5),
    "mistral-large-2407-FC-Auto": (3.0, 9.0),
    "open-mistral-nemo-2407-FC-Auto": (0.3, 0.3),
    "command-r-plus-FC": (3.0, 15.0),
}
"""Dollars for a million tokens read and written, of models that were given tools by their API.

Those that were shown the tools in the prompt instead are left out: a gateway does not do that.
"""


def bfcl(folder: Path) -> RoutedSet:
    """Return tool calls by fifteen models with list prices of August 2024."""
    with np.load(folder / "bfcl_20240811.npz") as archive:
        kept = dict(archive)
    asked = {row["j"]: row for row in rows(folder / "bfcl_20240811_prompts.jsonl.gz")}
    columns = np.array(sorted(asked), np.intp)
    names = kept["models"].tolist()
    cost, right = [], []
    for model, (taken, given) in TOOLS.items():
        place = names.index(model)
        read = _known(kept["input_tokens"][place, columns])
        wrote = _known(kept["output_tokens"][place, columns])
        cost.append((read * taken + wrote * given) * _THOUSAND / _MILLION)
        right.append(kept["correct"][place, columns].astype(np.float64))
    prompts = tuple(_with_tools(asked[int(column)]) for column in columns)
    return RoutedSet(
        "bfcl",
        "BFCL, tool calls",
        tuple(TOOLS),
        prompts,
        np.column_stack(right),
        np.column_stack(cost),
    )


def _known(tokens: NDArray[Any]) -> Numbers:
    """Return *tokens*; a call whose count was not kept has as many as the others' mean."""
    counts = tokens.astype(np.float64)
    there = counts > 0
    counts[~there] = counts[there].mean() if there.any() else 0.0
    return counts


def _with_tools(row: Mapping[str, Any]) -> Prompt:
    told = row["function"]
    return _asked(row["question"], tools=told if isinstance(told, list) else [told])


def arena(folder: Path) -> RoutedSet:
    """Return RouterArena: claude-3-haiku and gemini-2.0-flash, with the dollars they cost."""
    answered: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows(folder / "routerarena_2models.jsonl.gz"):
        answered.setdefault(row["id"], {})[row["model"]] = row
    models = sorted({model for each in answered.values() for model in each})
    both = [each for each in answered.values() if len(each) == len(models)]
    scores = [[float(each[model]["score"] or 0.0) for model in models] for each in both]
    dollars = [[float(each[model]["cost"] or 0.0) for model in models] for each in both]
    quality, cost = np.array(scores), np.array(dollars) * _THOUSAND
    order = np.argsort(quality.mean(axis=0), kind="stable")  # the weaker one first
    return RoutedSet(
        "arena",
        "RouterArena, two models",
        tuple(models[place] for place in order),
        tuple(_asked(each[models[0]]["question"]) for each in both),
        quality[:, order],
        cost[:, order],
    )


SETS: Final[Mapping[str, Callable[[Path], RoutedSet]]] = {
    "mmlu": mmlu,
    "mmlu_unlabelled": mmlu_unlabelled,
    "gsm8k": gsm8k,
    "bfcl": bfcl,
    "arena": arena,
}
"""All sets by name."""
