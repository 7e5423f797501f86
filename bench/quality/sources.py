"""Reads the sets of recorded answers; each has a form of its own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from bench.quality.faithful import faithful
from bench.quality.npz import read_npz
from bench.quality.reading import golds_of, rows, sampled
from bench.quality.recorded import Question, RecordedModel, RecordedSet, Sample, canonical
from techniques.core.json import JsonObject

_DRAWS: Final = 20
_DATE: Final = re.compile(r"\b\d{1,2}/\d{1,2}/\d{4}\b")
_TOOLS: Final = (
    ("gemini-1.5-flash", "gemini-1.5-flash-preview-0514", "0.075", "0.30"),
    ("gpt-4o-mini", "gpt-4o-mini-2024-07-18-FC", "0.15", "0.60"),
    ("gpt-4o", "gpt-4o-2024-08-06-FC", "2.50", "10.00"),
)


def _draws(folder: Path, run: str, model: RecordedModel, about: str) -> RecordedSet:
    """Return one run of at least 20 draws of one model on each question."""
    questions = []
    for row in rows(folder / "mot_cascade_answers.jsonl.gz"):
        if row["run"] != run or row["model"] != model.name or len(row["answers"]) < _DRAWS:
            continue
        golds = golds_of(row["gold"])
        samples = tuple(sampled(_stated(answer), golds) for answer in row["answers"])
        if golds:
            questions.append(
                Question(str(row["i"]), row["question"].strip(), golds, {model.name: samples})
            )
    return RecordedSet(run, about, (model,), tuple(questions))


def _stated(answer: object) -> str:
    """Return the last date in *answer*, which may be a sentence; the whole if it has none."""
    found = _DATE.findall(str(answer))
    return found[-1] if found else str(answer)


def gpt35_cot(folder: Path) -> RecordedSet:
    """Return 20 draws of gpt-3.5 on dates, reasoning in words, temperature 0.8."""
    model = RecordedModel("gpt-3.5-turbo", "0.5", "1.5")
    return _draws(folder, "date_cot1_t=0.8", model, "gpt-3.5, dates, in words, T 0.8")


def gpt35_pot(folder: Path) -> RecordedSet:
    """Return 20 draws of gpt-3.5 on dates, reasoning in programs."""
    model = RecordedModel("gpt-3.5-turbo", "0.5", "1.5")
    return _draws(folder, "date_pot2", model, "gpt-3.5, dates, by programs")


def llama_date(folder: Path) -> RecordedSet:
    """Return 20 draws of llama-2-13b on dates."""
    return _draws(folder, "date_cot1", RecordedModel("llama-2-13b"), "llama-2-13b, dates")


def llama_gsm(folder: Path) -> RecordedSet:
    """Return 20 to 24 draws of llama-2-13b on GSM8K, reasoning in programs."""
    model = RecordedModel("llama-2-13b")
    return _draws(folder, "gsm_pot1", model, "llama-2-13b, GSM8K, by programs")


def codex(folder: Path) -> RecordedSet:
    """Return 40 draws of code-davinci-002 on dates, which hardly differ."""
    model = RecordedModel("code-davinci-002", "20", "20")
    questions = []
    for row in rows(folder / "faithfulcot_codex_n40.jsonl.gz"):
        golds = golds_of(row["gold"])
        if row["set"] == "date" and golds:
            samples = tuple(sampled(answer, golds) for answer in row["answers"])
            questions.append(
                Question(str(row["id"]), row["question"], golds, {model.name: samples})
            )
    return RecordedSet("codex_n40", "code-davinci-002, dates, 40 draws", (model,), tuple(questions))


def gsm8k_texts(folder: Path) -> RecordedSet:
    """Return one whole answer of Mixtral-8x7B and of gpt-4-1106 to each question of GSM8K."""
    golds = {
        row["question"].strip(): golds_of(row["gold"].rpartition("A: ")[2])
        for row in rows(folder / "openai_gsm8k_solutions.jsonl.gz")
    }
    models = (RecordedModel("mixtral-8x7b", "0.6", "0.6"), RecordedModel("gpt-4-1106", "10", "30"))
    questions = []
    for row in rows(folder / "routellm_gsm8k.jsonl.gz"):
        prompt = row["prompt"].strip()
        if row["contaminated"] or not golds.get(prompt):
            continue
        samples = {
            model.name: (_whole(row[f"{side}_response"], right=row[f"{side}_ok"]),)
            for model, side in zip(models, ("weak", "strong"), strict=True)
        }
        questions.append(Question(str(row["id"]), prompt, golds[prompt], samples))
    return RecordedSet("gsm8k_texts", "whole answers, GSM8K", models, tuple(questions))


def _whole(text: str, *, right: bool) -> Sample:
    stated = re.findall(r"####\s*(\S+)", text)
    answer = canonical(stated[-1]) if stated else None
    return Sample(answer, right, text.strip(), tokens=max(1, len(text) // 4))


def small(name: str) -> Callable[[Path], RecordedSet]:
    """Return what reads five draws and a greedy answer of the small model *name* to arithmetic."""

    def load(folder: Path) -> RecordedSet:
        draws: defaultdict[str, list[Sample]] = defaultdict(list)
        greedy: dict[str, Sample] = {}
        golds: dict[str, frozenset[str]] = {}
        for row in rows(folder / "small_model_samples.jsonl"):
            if row["task"] != "arith" or row["model"] != name:
                continue
            golds[row["id"]] = golds_of(row["gold"])
            if row["temperature"] == 0:
                greedy[row["id"]] = _local(row)
            else:
                draws[row["id"]].append(_local(row))
        questions = tuple(
            Question(
                one,
                f"Calculate problem ({one}) of the list.",
                golds[one],
                {name: tuple(draws[one])},
                {name: greedy[one]},
            )
            for one in sorted(golds)
        )
        models = (RecordedModel(name, logprobs=True),)
        return RecordedSet(name, f"{name}, sums and products", models, questions, timed=True)

    return load


def _local(row: Mapping[str, Any]) -> Sample:
    return Sample(
        canonical(row["answer"]),
        row["correct"],
        row["text"].strip(),
        row["mean_logprob"],
        row["usage"]["completion_tokens"],
        row["usage"]["prompt_tokens"],
        row["sec"],
    )


def tools(folder: Path) -> RecordedSet:
    """Return whether the tool calls of three models were right, how long they took, their tokens.

    The calls themselves were not kept. A right one is replayed as one and the same call, a wrong
    one as one that is like no other: so two models agree where both are right, and only there.
    The same words stand with several choices of functions, so each question ends with its name.
    """
    kept = read_npz(folder / "bfcl_20240811.npz")
    places = {name: kept["models"].index(name) for _, name, _, _ in _TOOLS}
    asked = {row["j"]: row for row in rows(folder / "bfcl_20240811_prompts.jsonl.gz")}
    questions = []
    for at, row in sorted(asked.items()):
        samples = {}
        for model, name, _, _ in _TOOLS:
            right = bool(kept["correct"][places[name]][at])
            samples[model] = (_called(kept, (places[name], at), right=right, by=model),)
        prompt = f"{row['question']}\n\n[{row['id']}]"
        questions.append(Question(row["id"], prompt, frozenset({"right"}), samples, tool=_TOOL))
    models = tuple(RecordedModel(model, low, high) for model, _, low, high in _TOOLS)
    return RecordedSet("bfcl", "tool calls", models, tuple(questions), timed=True)


_TOOL: Final[JsonObject] = {
    "type": "function",
    "function": {
        "name": "act",
        "description": "Does what was asked for.",
        "parameters": {
            "type": "object",
            "properties": {"call": {"type": "string"}},
            "required": ["call"],
        },
    },
}
"""Stands for the functions of each question: which call was made is not known."""


def _called(kept: Mapping[str, Any], at: tuple[int, int], *, right: bool, by: str) -> Sample:
    row, column = at
    tokens, read, seconds = (
        kept[name][row][column] for name in ("output_tokens", "input_tokens", "latency_s")
    )
    return Sample(
        "right" if right else f"wrong by {by}",
        right,
        tokens=int(tokens) if tokens > 0 else None,
        read=int(read) if read > 0 else None,
        seconds=float(seconds) if seconds > 0 else None,
    )


SETS: Final[Mapping[str, Callable[[Path], RecordedSet]]] = {
    "date_cot": gpt35_cot,
    "date_pot": gpt35_pot,
    "llama_date": llama_date,
    "llama_gsm": llama_gsm,
    "codex_n40": codex,
    **{
        f"faithful_{name}": faithful(name)
        for name in (
            *("GSM8K", "MultiArith", "SVAMP", "ASDiv", "date", "CLUTRR", "AQUA", "sports"),
            "StrategyQA",
        )
    },
    "gsm8k_texts": gsm8k_texts,
    "small_05b": small("qwen2.5-coder-0.5b"),
    "small_15b": small("qwen2.5-coder-1.5b"),
    "bfcl": tools,
}
"""All sets by name."""


def limited(recorded: Iterable[Question], most: int | None) -> tuple[Question, ...]:
    """Return at most *most* questions, evenly from the whole; none is asked twice."""
    questions = tuple({one.prompt: one for one in recorded}.values())
    if most is None or len(questions) <= most:
        return questions
    return tuple(questions[at * len(questions) // most] for at in range(most))
