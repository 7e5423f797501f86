"""From what was found out by a full trace, and what its calls took, to what can be replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gateway.learning.studies import HARDER, STRONGER, Findings
from gateway.metering.ledger import CallFinished
from pricing.price import PICO
from router_service.learning.trace import FREE, Sample, Spent, Trace

_TOKEN = 1e-6  # what stands for a dollar where nobody knows a price: so many tokens
_WRITTEN = 4.0  # what is written counts as so many that are read


@dataclass(frozen=True, slots=True)
class Others:
    """Who answered beside the model itself: other models by arm's channel, and its efforts."""

    models: Sequence[str] = ()
    efforts: Sequence[str] = ()


def trace_of(
    found: Findings, rows: Sequence[CallFinished], others: Others, grades: Mapping[int, float]
) -> Trace | None:
    """Return the trace, None where it tells nothing: the plain call failed, or hardly any came.

    An answer whose worth nobody told is left out, as if it had been lost.

    *grades* are what answers are worth by place, where something better than a judge told that.
    """
    values: Mapping[int, float | None] = grades or found.values
    own = {one.place: one for one in found.candidates if one.place < STRONGER}
    if found.expected is None:
        return None
    spent = took(rows)

    sample = partial(_sample, found, values, spent)
    drawn = [one for place in sorted(own) if (one := sample(place)) is not None]
    samples = [one for one in drawn if one.value is not None]
    if not samples or samples[0].candidate.place or len(samples) < 2:
        return None
    told = any(one.sure is not None for one in samples)
    judged = [one.judged for one in samples if one.judged != FREE]
    return Trace(
        found.expected,
        tuple(samples),
        stronger=_named(others.models, STRONGER, sample),
        harder=_named(others.efforts, HARDER, sample),
        sure_by="p_true" if told else "none",
        compared=max(judged, default=FREE),
    )


def _sample(
    found: Findings,
    values: Mapping[int, float | None],
    spent: Mapping[str, Spent],
    place: int,
) -> Sample | None:
    candidate = next((one for one in found.candidates if one.place == place), None)
    if candidate is None:
        return None
    return Sample(
        candidate,
        spent.get(f"c{place}", FREE),
        0.0 if candidate.refusal else values.get(place),
        found.scores.get(place),
        spent.get(f"j{place}", FREE),
        found.sure.get(place),
        spent.get(f"t{place}", FREE),
    )


def _named(
    names: Sequence[str], first: int, sample: Callable[[int], Sample | None]
) -> dict[str, Sample]:
    found = {name: sample(at) for at, name in enumerate(names, first)}
    return {name: one for name, one in found.items() if one is not None}


def took(rows: Iterable[CallFinished]) -> dict[str, Spent]:
    """Return what each step took: all its attempts cost, the last one's time.

    Where a price is not known, tokens stand for dollars.
    """
    rows = list(rows)
    priced = all(row.cost is not None for row in rows)
    found: dict[str, Spent] = {}
    for row in rows:
        already = found.get(row.step, FREE).usd
        found[row.step] = Spent(already + _cost(row, priced=priced), row.seconds * 1000)
    return found


def priced(rows: Iterable[CallFinished]) -> bool:
    """Tell whether the price of all calls is known."""
    return all(row.cost is not None for row in rows)


def usd(rows: Iterable[CallFinished]) -> float:
    """Return the dollars that calls cost, as far as they are known."""
    return float(sum(row.cost or 0 for row in rows) / PICO)


def _cost(row: CallFinished, *, priced: bool) -> float:
    if priced:
        return float((row.cost or 0) / PICO)
    return _TOKEN * (row.usage.input_tokens + _WRITTEN * row.usage.output_tokens)
