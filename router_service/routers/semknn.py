"""What similar prompts gained by each arm over their plain calls, and what that cost.

Source: the kernel estimate is Nadaraya 1964 and Watson 1964; the shrinkage towards the mean of the
group is Efron and Morris 1975.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from router_service.arms import PLAIN
from router_service.contract import Match, NoExactProfile, Observation, Offer, RouteQuery
from router_service.estimating.experience import Experience, nothing
from router_service.estimating.fit import Terms, fit, weakened
from router_service.estimating.pools import closest, fingerprint
from router_service.estimating.priors import arm_called, prior_cost, prior_gain, sort_of
from router_service.estimating.view import Fit, View
from router_service.routers import router
from router_service.routers.settings import RoutersSettings, SemknnSettings
from router_service.scores import Score, Scorer, Scores

_OPTIMISM: Final = 1.5
_SECONDS: Final = 10.0
_OTHERS: Final = 0.3  # the weight of what is learnt of other models than just these
_DOUBT: Final = 2.0
_MOST_PROFILES: Final = 16


@dataclass(frozen=True, slots=True)
class Semknn:
    """The fits of every set of models that was seen, for just these and for ones like them.

    Of those that are ``judged`` somebody said of an answer what it was worth.
    """

    settings: SemknnSettings
    known: Experience
    fits: Mapping[str, tuple[Fit, Fit]]
    blank: Fit
    judged: frozenset[str]

    def __call__(self, query: RouteQuery) -> Scores:
        """Score the arms by what they gained for similar prompts.

        Raises:
            NoExactProfile: The query is strict, and nothing was learnt of its models.
        """
        want = fingerprint(query.model, query.pool)
        profile, match = closest(want, self.fits)
        if query.strict and want not in self.judged:
            raise NoExactProfile(query.model, sorted(self.judged), want)
        found = self.fits[profile][match != "exact"] if profile else self.blank
        view = found.look(query, self.settings.neighbours)
        if view.far:
            match = "default"
        doubt = 1.0 if match == "exact" else _DOUBT
        plain = view.plain_quality(doubt)
        scoring = _Scoring(self.settings, query, (view, doubt), _room(plain))
        free = [offer for offer in query.offers if not offer.masked]
        return Scores(
            {offer.arm: scoring.score(offer) for offer in free},
            _why(view, match),
            match,
            view.similarity,
            profile,
            None if plain is None else plain[0],
            {offer.arm: offer.masked for offer in query.offers if offer.masked},
            estimate=match != "exact",
        )

    def learnt(self, rows: Sequence[Observation], *, afresh: bool = False) -> Semknn:
        """Return this with *rows* learnt too, or with nothing but them."""
        known = (nothing() if afresh else self.known).grown(rows, self.settings.rows)
        return fitted(self.settings, known)

    def tuned(self, settings: RoutersSettings) -> Semknn:
        """Return what looks at the same by *settings*."""
        return fitted(settings.semknn, self.known)


def fitted(settings: SemknnSettings, known: Experience) -> Semknn:
    """Return the router that knows *known*."""
    columns = known.columns
    sizes = np.bincount(columns.pool, minlength=len(known.pools))
    told = np.bincount(columns.pool[~np.isnan(columns.quality)], minlength=len(known.pools))
    often = sorted(known.pools, key=lambda name: -int(sizes[known.pools[name]]))[:_MOST_PROFILES]
    terms = Terms(settings.neighbours, settings.kappa, settings.half_life_days)
    whole = {name: fit(known, name, terms) for name in often}
    fits = {name: (each, weakened(each, _OTHERS)) for name, each in whole.items()}
    judged = frozenset(name for name in often if told[known.pools[name]])
    return Semknn(settings, known, fits, fit(nothing(), "", terms), judged)


@router
def semknn(settings: RoutersSettings) -> Scorer:
    """Make the router of nearest neighbours, that knows nothing yet."""
    return fitted(settings.semknn, nothing())


def _room(plain: tuple[float, float] | None) -> float:
    """Return by how much an answer may well be better than the *plain* one: no more than right."""
    return 1.0 if plain is None else 1.0 - max(plain[0] - _OPTIMISM * plain[1], 0.0)


class _Scoring:
    """The scores of one query. *room* is how much better than the plain call's an answer may be."""

    def __init__(
        self, settings: SemknnSettings, query: RouteQuery, known: tuple[View, float], room: float
    ) -> None:
        self._query = query
        self._view, self._doubt = known
        self._room = room
        self._caution = settings.strict_caution if query.strict else settings.caution
        self._hurry = settings.latency_weight
        self._sort = sort_of(query.features.kind, query.features.category)

    def score(self, offer: Offer) -> Score:
        """Return the score of *offer*: 0 for the plain call."""
        if offer.arm == PLAIN.name:
            return Score(0.0, 0.0, expected=0.0)
        arm, code = arm_called(offer.arm), self._view.code(offer.arm)
        expected = prior_cost(arm) if offer.cost is None else offer.cost
        cost = self._view.cost(code, expected, self._doubt)
        above = prior_gain(arm, self._sort, self._view.usual(code) or offer.cost)
        gain, spread, rows = self._view.gain(code, above, self._doubt)
        gain = min(gain, self._room)
        took = self._query.lambda_ * (cost - 1)
        took += self._hurry * self._view.seconds(code) / _SECONDS
        mean = 100 * gain - took
        return Score(
            mean - 100 * self._caution * spread,
            min(mean + 100 * _OPTIMISM * spread, 100 * self._room - took),
            gain,
            spread,
            cost,
            rows,
            mean,
        )


def _why(view: View, match: Match) -> str:
    if view.similarity is None:
        return f"semknn: by the kind of request ({match})"
    return f"semknn: by similar prompts ({match}, {view.similarity:.2f})"
