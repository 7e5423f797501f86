"""What other arms would have come to for a request of which there is a full trace.

The rules by which answers are keyed, voted on, chosen, and drawn no more are those of the
techniques themselves. What was measured of models or judges is left out, as if it were not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from router_service.arms import PLAIN, Arm
from router_service.contract import Observation
from router_service.learning.selection import best_of, selected
from router_service.learning.trace import Outcome, Sample, Trace, mean, orders, plain, single
from router_service.learning.votes import Pace, voted
from techniques.catalog import best_of_n, cisc, fountain, self_consistency
from techniques.core.json import Json
from techniques.engines.vote import Voting
from techniques.parts.agree import clusters, representative
from techniques.parts.keys import keyed
from techniques.parts.options import JudgedVote, confidence_rule, judged_rule, threshold
from techniques.parts.stopping import forecast, majority
from techniques.phases.contest import Terms

_SIZES: Final = {"fountain": "max_samples"}
_JUDGED_PRICE: Final = 2.0

Options = Mapping[str, Mapping[str, Json]]
Replay = Callable[[Trace, Mapping[str, Any], Sequence[Sequence[Sample]]], Outcome | None]


def replayed(
    trace: Trace, arms: Iterable[Arm], options: Options, random: np.random.Generator
) -> dict[Arm, Outcome]:
    """Return what would have come of those of *arms* of which that can be told.

    *options* are the operator's, by technique. *random* is for the orders that are looked at,
    where there are more than can be.
    """
    plainly = plain(trace)
    if plainly is None:
        return {}
    ways = orders(trace, random)
    found = {arm: _outcome(trace, arm, options, ways) for arm in arms}
    return {PLAIN: plainly} | {arm: one for arm, one in found.items() if one is not None}


def observed(
    outcomes: Mapping[Arm, Outcome], plainly: Observation, source: str, reliability: float
) -> list[Observation]:
    """Return *outcomes* as observations that were not carried out, like the one of the plain call.

    *source* is what told the worth of the answers, *reliability* how far that is to be believed.
    """
    base = outcomes[PLAIN]
    return [
        plainly.model_copy(
            update={
                "id": f"{plainly.request_id}:{arm.name}",
                "arm": arm.name,
                "counterfactual": True,
                "propensity": 1.0,
                "explored": False,
                "quality": _share(one.quality),
                "plain_quality": _share(base.quality),
                "source": source,
                "reliability": reliability,
                "spread": one.spread,
                "cost_usd": one.usd,
                "cost": one.usd / base.usd if base.usd > 0 else None,
                "calls": round(one.calls),
                "latency_ms": one.ms,
                "first_token_ms": None,
                "outcome": "success",
            }
        )
        for arm, one in outcomes.items()
    ]


def _outcome(
    trace: Trace, arm: Arm, options: Options, ways: Sequence[Sequence[Sample]]
) -> Outcome | None:
    if arm.technique == PLAIN.technique:
        return _other(trace, arm)
    replay = _REPLAYS.get(arm.technique)
    if replay is None or arm.effort:
        return None
    if arm.channel != PLAIN.channel and arm.technique != "cascade":
        return None
    chosen = dict(options.get(arm.technique, {}))
    if arm.size is not None:
        chosen[_SIZES.get(arm.technique, "num_samples")] = arm.size
    if arm.technique == "cascade":
        chosen["channel"] = arm.channel
    return replay(trace, chosen, ways)


def _other(trace: Trace, arm: Arm) -> Outcome | None:
    """Return what comes of one call of another model, or of the same with another effort."""
    if arm.channel != PLAIN.channel and not arm.effort:
        sample = trace.stronger.get(arm.channel)
    else:
        sample = trace.harder.get(arm.effort) if arm.channel == PLAIN.channel else None
    return None if sample is None else single(sample)


def _over(
    ways: Sequence[Sequence[Sample]], replay: Callable[[Sequence[Sample]], Outcome | None]
) -> Outcome | None:
    """Return the mean of what *replay* makes of all *ways*; None if it can make nothing of one."""
    found = []
    for order in ways:
        one = replay(order)
        if one is None:
            return None
        found.append(one)
    return mean(found)


def _self_consistency(
    trace: Trace, chosen: Mapping[str, Any], ways: Sequence[Sequence[Sample]]
) -> Outcome | None:
    options = self_consistency.Options(**chosen)
    few = "num_samples" not in chosen and trace.expected.kind == "tool"
    voting = Voting(
        3 if few else options.num_samples,
        options.temperature,
        None if options.stop == "exact" else options.confidence,
        forecast if options.stop == "forecast" else majority,
    )
    if options.pool == "all":
        return None
    return _over(ways, lambda order: voted(trace, order, voting))


def _weighted_bon(
    trace: Trace, chosen: Mapping[str, Any], ways: Sequence[Sequence[Sample]]
) -> Outcome | None:
    if not _all_scored(trace):
        return None
    options = JudgedVote(**chosen)
    voting = Voting(
        options.num_samples,
        options.temperature,
        threshold(options.stop, options.confidence),
        evidence="judge",
        rule=judged_rule(options.weights),
    )
    return _over(ways, lambda order: voted(trace, order, voting))


def _cisc(
    trace: Trace, chosen: Mapping[str, Any], ways: Sequence[Sequence[Sample]]
) -> Outcome | None:
    options = cisc.Options(**chosen)
    if trace.sure_by == "none" or options.csi_source not in {"auto", trace.sure_by}:
        return None
    voting = Voting(
        options.num_samples,
        options.temperature,
        threshold(options.stop, options.confidence),
        evidence=trace.sure_by,
        rule=confidence_rule(trace.sure_by, options.softmax_temperature),
    )
    return _over(ways, lambda order: voted(trace, order, voting))


def _best_of_n(
    trace: Trace, chosen: Mapping[str, Any], ways: Sequence[Sequence[Sample]]
) -> Outcome | None:
    options = best_of_n.Options(**chosen)
    if options.score != "judge" or not _all_scored(trace):
        return None
    if not options.pairwise and not options.expected_improvement and _endless(trace, options):
        return best_of(trace, options.num_samples)
    terms = Terms(
        options.num_samples,
        options.temperature,
        options.stop_at,
        _JUDGED_PRICE if options.expected_improvement else None,
    )
    return _over(ways, lambda order: selected(trace, order, terms))


def _endless(trace: Trace, options: best_of_n.Options) -> bool:
    """Tell whether nothing in *trace* would end the drawing early, or the choosing otherwise."""
    return all(
        not one.candidate.refusal and one.score is not None and one.score < options.stop_at
        for one in trace.samples
    )


def _fountain(
    trace: Trace, chosen: Mapping[str, Any], ways: Sequence[Sequence[Sample]]
) -> Outcome | None:
    """Only where answers are voted on, and one model gives all of them."""
    options = fountain.Judged(**chosen)
    if not keyed(trace.expected.text) or trace.expected.kind == "tool":
        return None
    voting = Voting(options.max_samples, 0.7, threshold(options.stop, options.confidence))
    pace = Pace(options.min_samples, 2, sparing=True)
    return _over(ways, lambda order: voted(trace, order, voting, pace))


def _cascade(
    trace: Trace, chosen: Mapping[str, Any], ways: Sequence[Sequence[Sample]]
) -> Outcome | None:
    """The stronger model answers where the first one's answer cannot be trusted."""
    settings = dict(chosen)
    name = settings.pop("channel")
    stronger = trace.stronger
    last = stronger.get(name) if name in stronger else next(iter(stronger.values()), None)
    if last is None or last.value is None:
        return None
    tau = float(settings.get("tau", 0.7))
    if trace.sure_by == "p_true" and settings.get("agree", "off") == "off":
        return _over(ways, lambda order: _trusted(order[0], last, tau))
    return _over(ways, lambda order: _agreeing(order, last))


def _trusted(first: Sample, last: Sample, tau: float) -> Outcome | None:
    took = first.drawn.usd + first.checked.usd, first.drawn.ms + first.checked.ms
    if first.candidate.refusal or (first.sure is not None and first.sure >= tau):
        return None if first.value is None else Outcome(first.value, took[0], 2, took[1])
    assert last.value is not None
    return Outcome(last.value, took[0] + last.drawn.usd, 3, took[1] + last.drawn.ms)


def _agreeing(order: Sequence[Sample], last: Sample) -> Outcome | None:
    if len(order) < 2:
        return None
    two = order[:2]
    usd, ms = sum(one.drawn.usd for one in two), max(one.drawn.ms for one in two)
    found = clusters([one.candidate for one in two])
    if found and len(found[0].members) > 1:
        value = order[representative(found[0].members).place].value
        return None if value is None else Outcome(value, usd, 2, ms)
    assert last.value is not None
    return Outcome(last.value, usd + last.drawn.usd, 3, ms + last.drawn.ms)


def _all_scored(trace: Trace) -> bool:
    """Tell whether each answer has a score to be chosen by."""
    return all(one.score is not None or one.candidate.refusal for one in trace.samples)


def _share(quality: float) -> float:
    return min(max(quality, 0.0), 1.0)


_REPLAYS: Final[Mapping[str, Replay]] = {
    "self_consistency": _self_consistency,
    "weighted_bon": _weighted_bon,
    "cisc": _cisc,
    "best_of_n": _best_of_n,
    "fountain": _fountain,
    "cascade": _cascade,
}
