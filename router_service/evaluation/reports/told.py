"""A report as JSON."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import orjson

from router_service.evaluation.comparing import Comparison
from router_service.evaluation.gate import Verdict
from router_service.evaluation.report import Report, Summary
from techniques.core.json import JsonObject


def as_json(report: Report) -> bytes:
    """Return *report*, all of it."""
    told: JsonObject = {
        "prompts": report.prompts,
        "planned": report.planned,
        "repeats": report.repeats,
        "seed": report.seed,
        "clusters": report.clusters,
        "graded": {"modes": report.modes, "strategy": report.strategy, "judge": report.judge},
        "missing": report.missing,
        "configurations": [_summary(one) for one in report.summaries],
        "comparisons": [_compared(one) for one in report.comparisons],
        "frontiers": [asdict(one) for one in report.frontiers],
        "judge": None if report.audit is None else asdict(report.audit),
        "gate": [_verdict(one) for one in report.verdicts],
        "exit_code": report.exit_code,
        "notes": list(report.notes),
    }
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(told, option=options, default=_other)


def _summary(one: Summary) -> JsonObject:
    return {
        "name": one.name,
        "hash": one.stated.hash,
        "stated": one.stated.shown(),
        "answers": one.answers,
        "means": {name: asdict(told) for name, told in one.means.items()},
        "quantiles_ms": {
            name: {"p50": middle, "p95": high} for name, (middle, high) in one.quantiles.items()
        },
        "cost_unknown": one.cost_unknown,
        "cost_sources": one.cost_sources,
        "cost_tiers": one.cost_tiers,
        "errors": one.errors,
        "warnings": one.warnings,
        "quality_by_category": one.by_category,
    }


def _compared(one: Comparison) -> JsonObject:
    effect = None if one.effect is None else {"d_z": one.effect[0], **asdict(one.effect[1])}
    return {
        "candidate": one.candidate,
        "metric": one.metric.name,
        "prompts": one.prompts,
        "known": one.known,
        "baseline": one.baseline_mean,
        "value": one.candidate_mean,
        "difference": asdict(one.difference),
        "change": None if one.change is None else asdict(one.change),
        "test": one.tested.test,
        "p": one.tested.p,
        "p_beside": dict(one.tested.beside),
        "p_adjusted": one.adjusted_p,
        "hodges_lehmann": one.shift,
        "effect": effect,
        "wins": {**asdict(one.wins), "rate": one.wins.rate},
        "detectable": one.detectable,
        "within": one.within,
    }


def _verdict(one: Verdict) -> JsonObject:
    return {
        "candidate": one.candidate,
        "metric": one.rule.metric.name,
        "margin": one.rule.margin,
        "mode": one.rule.mode,
        "guard": one.rule.guard,
        "outcome": one.outcome,
        "why": one.why,
        "gain": None if one.evidence.gain is None else asdict(one.evidence.gain),
        "p_harm_adjusted": one.evidence.harm_p,
        "detectable": one.evidence.detectable,
        "known": one.evidence.known,
    }


def _other(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    return dict(value)  # type: ignore[call-overload]
