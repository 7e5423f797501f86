"""What choosing among the samples of a trace would have come to.

An answer is chosen by the score that a technique would see, and is worth what something else says:
the greatest of several scores is too good to be true.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from router_service.learning.trace import Outcome, Sample, Trace
from techniques.parts.candidates import declined
from techniques.parts.stopping import SCORE_NOISE, enough
from techniques.parts.syntax import parses
from techniques.phases.contest import Terms


def winning(count: int, draws: int, first: int | None = None) -> list[float]:
    """Return how likely each of *count* answers, worst first, is the best of *draws* of them.

    Any *draws* of them are as likely as any others; those with the one at *first*, if that always
    is among them.
    """
    if first is None:
        all_ways = math.comb(count, draws)
        return [math.comb(below, draws - 1) / all_ways for below in range(count)]
    all_ways = math.comb(count - 1, draws - 1)
    beaten = [
        math.comb(below - 1, draws - 2) / all_ways if below > first and draws > 1 else 0.0
        for below in range(count)
    ]
    beaten[first] = math.comb(first, draws - 1) / all_ways
    return beaten


def best_of(trace: Trace, draws: int) -> Outcome | None:
    """Return what comes of the best of *draws* samples if all are drawn and scored.

    The mean over all that could have been drawn, in closed form. None where that is not known.
    """
    samples = trace.samples
    scores, values = [one.score for one in samples], [one.value for one in samples]
    if len(samples) < draws or None in scores or None in values:
        return None
    ranked = sorted(range(len(samples)), key=lambda place: _rank(trace, samples[place]))[::-1]
    chances = winning(len(samples), draws, None if trace.alike else ranked.index(0))
    mean = sum(
        chance * (samples[place].value or 0.0)
        for chance, place in zip(chances, ranked, strict=True)
    )
    square = sum(
        chance * (samples[place].value or 0.0) ** 2
        for chance, place in zip(chances, ranked, strict=True)
    )
    usd = _drawn_mean(trace, draws, [one.drawn.usd + one.judged.usd for one in samples])
    ms = max(one.drawn.ms for one in samples) + max(one.judged.ms for one in samples)
    return Outcome(mean, usd, 2 * draws, ms, math.sqrt(max(square - mean * mean, 0.0)))


def selected(trace: Trace, order: Sequence[Sample], terms: Terms) -> Outcome | None:
    """Return what comes of drawing in that *order* until an answer is good enough.

    A comparison of the best two, where they are nearly as good, is taken to end in a tie.
    """
    if len(order) < terms.samples:
        return None
    drawn, calls, usd, ms = 0, 0, 0.0, 0.0
    while count := _next_wave(order[:drawn], terms):
        wave = order[drawn : drawn + count]
        drawn += len(wave)
        judged = [one.judged for one in wave if not one.candidate.refusal]
        calls += len(wave) + len(judged)
        usd += sum(one.drawn.usd for one in wave) + sum(one.usd for one in judged)
        ms += max(one.drawn.ms for one in wave) + max((one.ms for one in judged), default=0.0)
    found = order[:drawn]
    if any(one.score is None and not one.candidate.refusal for one in found):
        return None
    refusal = declined([one.candidate for one in found])
    if refusal is not None:
        value = next(one.value for one in found if one.candidate.reply is refusal)
        return None if value is None else Outcome(value, usd, calls, ms)
    ranked = sorted(found, key=lambda one: _rank(trace, one))
    if _near(ranked):
        calls, usd, ms = calls + 2, usd + 2 * trace.compared.usd, ms + trace.compared.ms
    value = ranked[0].value
    return None if value is None else Outcome(value, usd, calls, ms)


def _next_wave(drawn: Sequence[Sample], terms: Terms) -> int:
    left = terms.samples - len(drawn)
    if not drawn:
        return min(terms.first, left)
    scores = [one.score for one in drawn if one.score is not None and not one.candidate.refusal]
    if scores and enough(scores, terms.stop_at, terms.price, terms.noise):
        return 0
    return min(terms.wave, left)


def _rank(trace: Trace, sample: Sample) -> tuple[bool, bool, float, int]:
    candidate = sample.candidate
    sound = trace.expected.text != "code" or parses(candidate.reply)
    score = 1.0 if sample.score is None else -sample.score
    return candidate.refusal, not sound, score, candidate.place


def _near(ranked: Sequence[Sample]) -> bool:
    if len(ranked) < 2 or ranked[1].score is None or ranked[0].score is None:
        return False
    alike = ranked[0].candidate.reply.parts == ranked[1].candidate.reply.parts
    return not alike and ranked[0].score - ranked[1].score < SCORE_NOISE


def _drawn_mean(trace: Trace, draws: int, each: Sequence[float]) -> float:
    """Return what *draws* of the samples are expected to sum up to."""
    if trace.alike:
        return draws * sum(each) / len(each)
    rest = each[1:]
    return each[0] + (draws - 1) * (sum(rest) / len(rest) if rest else 0.0)
