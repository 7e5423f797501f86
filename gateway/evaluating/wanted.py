"""From what was typed to what is to be asked, of whom, and how it is marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast, get_args

import yaml

from gateway.config.environment import variable
from gateway.evaluating.calling import HttpCaller
from router_service.evaluation.configurations import (
    Configuration,
    UnusableConfiguration,
    configuration,
    family_of,
)
from router_service.evaluation.gate import GUARD_MARGIN, Mode, Rule
from router_service.evaluation.grading import Question, rules_of
from router_service.evaluation.prompts import Prompts, UnusablePrompts, read_prompts
from router_service.evaluation.samples import METRICS
from router_service.groundwork.strict import read_yaml
from techniques.core.errors import RequestRejected
from techniques.parts.scoring import Strategy

_MARGIN: Final = 0.02
_ALIASES: Final = {
    "errors": "error_rate",
    "refusals": "refusal_rate",
    "schema_valid": "schema_valid_rate",
    "ttft": "first_token",
    "cost_usd": "cost",
    "latency_ms": "latency",
    "p50": "latency",
}
_MOST_NAMED: Final = 5
_SANDBOXES: Final = ("process", "docker", "off")


class Unusable(Exception):
    """Something that was typed cannot be used; the message has a line for each fault."""


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed."""

    config: Sequence[str]
    prompts: Path
    output: Path
    judge: str | None = None
    baseline: str | None = None
    score: str | None = None
    gate_on: Sequence[str] | None = None
    max_regression: Sequence[str] | None = None
    gate_mode: str = "regression"
    repeats: int = 1
    seed: int = 0
    parallel: int = 4
    limit: int | None = None
    sandbox: str = "process"
    plot: str = "frontier.svg"
    observations: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be done. ``callers`` are in the order of the report, the baseline first."""

    callers: Sequence[HttpCaller]
    judge: HttpCaller | None
    questions: Sequence[Question]
    strategy: Strategy
    rules: Sequence[Rule]
    notes: Sequence[str]


def wanted(typed: Typed) -> Wanted:
    """Return what *typed* asks for.

    Raises:
        Unusable: It cannot be done.
    """
    if typed.sandbox not in _SANDBOXES:
        raise Unusable(f"--sandbox: it is one of {', '.join(_SANDBOXES)}")
    try:
        callers = [HttpCaller(one) for one in _configurations(typed)]
        judge = HttpCaller(_stated(f"judge={typed.judge}")) if typed.judge else None
        prompts = read_prompts(typed.prompts.read_text("utf-8-sig"))
    except (UnusableConfiguration, UnusablePrompts) as error:
        raise Unusable(str(error)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{typed.prompts}: {error}") from error
    strategy = _strategy(typed)
    problems = list(prompts.problems)
    questions = list(_questions(callers[0], prompts, strategy, problems))[: typed.limit]
    if not questions:
        raise Unusable("\n".join([*problems, "there is no prompt that can be used"]))
    _must_be_gradable(questions, judge)
    notes = [f"{typed.prompts}: {line}" for line in Prompts((), tuple(problems)).told()]
    if judge is not None and any(one.rules.scoring.judges for one in questions):
        notes += _kinship(judge.stated, [one.stated for one in callers])
    return Wanted(callers, judge, questions, strategy, list(_rules(typed)), notes)


def _configurations(typed: Typed) -> Sequence[Configuration]:
    found: dict[str, Configuration] = {}
    for one in map(_stated, typed.config):
        if one.name in found:
            raise Unusable(f"two configurations are called {one.name!r}")
        if same := next((name for name, other in found.items() if other.hash == one.hash), None):
            raise Unusable(f"{same} and {one.name} differ in nothing but their names")
        found[one.name] = one
    first = typed.baseline or next(iter(found))
    if first not in found:
        raise Unusable(f"--baseline: there is no configuration {first!r}")
    if typed.gate_on and len(found) == 1:
        raise Unusable("--gate-on: one configuration alone has nothing to be compared with")
    return [found.pop(first), *found.values()]


def _stated(text: str) -> Configuration:
    return configuration(text, variable, _read)


def _read(path: str) -> Any:
    try:
        return read_yaml(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{path}: {error}") from error


def _strategy(typed: Typed) -> Strategy:
    if typed.score is None:
        return "blended" if typed.judge else "exact"
    if typed.score not in get_args(Strategy):
        raise Unusable(f"--score: it is one of {', '.join(get_args(Strategy))}")
    return cast("Strategy", typed.score)


def _questions(
    caller: HttpCaller, prompts: Prompts, strategy: Strategy, problems: list[str]
) -> Iterator[Question]:
    for prompt in prompts.usable:
        try:
            request = caller.request(prompt)
            yield Question(prompt, request, rules_of(prompt, request, strategy))
        except RequestRejected as error:
            problems.append(f"{prompt.id}: {error.message}")
        except ValueError as error:
            problems.append(f"{prompt.id}: {error}")


def _must_be_gradable(questions: Sequence[Question], judge: HttpCaller | None) -> None:
    """Look whether all can be marked.

    Raises:
        Unusable: Some need a judge, and there is none.
    """
    if judge is not None:
        return
    judged = [one.prompt.id for one in questions if one.rules.scoring.judges]
    if judged:
        named = ", ".join(judged[:_MOST_NAMED]) + (" …" if len(judged) > _MOST_NAMED else "")
        raise Unusable(
            f"{len(judged)} of {len(questions)} prompts can be marked by a judge only: {named}\n"
            "name one with --judge, or give those prompts a reference and a score_mode"
        )


def _kinship(judge: Configuration, others: Sequence[Configuration]) -> Iterator[str]:
    """Yield a warning if models are of the judge's own family."""
    family = family_of(judge)
    kin = [
        one.name
        for one in others
        if one.model == judge.model or (family and family == family_of(one))
    ]
    if kin:
        yield f"The judge is of the family of {', '.join(kin)}, and may favour them."


def _rules(typed: Typed) -> Iterator[Rule]:
    if typed.gate_mode not in get_args(Mode):
        raise Unusable(f"--gate-mode: it is one of {', '.join(get_args(Mode))}")
    mode = cast("Mode", typed.gate_mode)
    names = [name.strip() for one in typed.gate_on or () for name in one.split(",") if name.strip()]
    if not names:
        if typed.max_regression:
            raise Unusable("--max-regression: say what it is of, with --gate-on")
        return
    names = list(dict.fromkeys(_metric("--gate-on", name) for name in names))
    margins = _margins(typed.max_regression or ())
    if unknown := [name for name in margins if name and name not in names]:
        raise Unusable(f"--max-regression: --gate-on does not name {', '.join(unknown)}")
    for name in names:
        yield Rule(METRICS[name], margins.get(name, margins.get("", _MARGIN)), mode)
    for metric in METRICS.values():
        if metric.guards and metric.name not in names:
            yield Rule(metric, GUARD_MARGIN, guard=True)


def _margins(stated: Sequence[str]) -> dict[str, float]:
    """Return the margins by metric, under "" the one of all others."""
    found = {}
    for one in (part for text in stated for part in text.split(",")):
        name, equals, value = one.rpartition("=")
        try:
            margin = float(value)
        except ValueError:
            margin = -1.0
        if not 0 <= margin < float("inf"):
            raise Unusable(f"--max-regression: {value!r} is no number of 0 or more")
        found[_metric("--max-regression", name.strip()) if equals else ""] = margin
    return found


def _metric(option: str, name: str) -> str:
    known = _ALIASES.get(name, name)
    if known not in METRICS:
        raise Unusable(f"{option}: there is no metric {name!r}; there are {', '.join(METRICS)}")
    return known
