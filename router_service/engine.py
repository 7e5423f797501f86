"""Runs the configured router in this process."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from router_service import picking, routers
from router_service.contract import Observation, RouteDecision, RouteQuery
from router_service.routers.settings import RoutersSettings
from router_service.scores import Scorer, Scores
from router_service.settings import RouterSettings
from router_service.times import none_to_come

if TYPE_CHECKING:
    from router_service.learning.drift import Drift
    from router_service.learning.watch import Watch

_FIXED: Final = RouterSettings()


def _now() -> float:
    return datetime.now(UTC).timestamp()


class Tried(Protocol):
    """What is done: which arm, how likely just that was, and whether it is done to learn."""

    @property
    def arm(self) -> str:
        """Its name."""
        ...

    @property
    def propensity(self) -> float:
        """From above 0 to 1."""
        ...

    @property
    def explored(self) -> bool:
        """False: it is the best as far as is known."""
        ...


Explorer: TypeAlias = Callable[[Scores, str, RouteQuery], Tried]
"""What may take another arm than the best one, which it is given, to learn of it."""


class Engine:
    """The configured router, with what it has learnt so far.

    What it learns takes the place of what it had known as a whole, between two decisions.
    """

    def __init__(
        self,
        settings: RouterSettings = _FIXED,
        *,
        explore: Explorer | None = None,
        clock: Callable[[], float] = _now,
    ) -> None:
        importlib.import_module(f"{routers.__name__}.{settings.type}")
        self._name = settings.type
        self._scorer = routers.ROUTERS[settings.type](settings)
        self._explore = explore
        self._clock = clock
        self._watch = None if settings.type == "fixed" else _watch()

    @property
    def scorer(self) -> Scorer:
        """The router as it decides now."""
        return self._scorer

    def decide(self, query: RouteQuery) -> RouteDecision:
        """Choose the arm of the greatest utility, or now and then another, to learn of it.

        Raises:
            NoExactProfile: The query is strict, and nothing was learnt of its models.
        """
        query = self._masked(query)
        scores = self._scorer(query)
        if self._explore is None or not query.explore or not scores.arms:
            return picking.decision(self._name, query, scores)
        tried = self._explore(scores, picking.best(scores), query)
        return picking.made(
            self._name,
            scores,
            tried.arm,
            propensity=tried.propensity,
            explored=tried.explored,
        )

    @property
    def drifts(self) -> Sequence[Drift]:
        """Where plain answers are not what they were."""
        return () if self._watch is None else self._watch.drifts

    def _masked(self, query: RouteQuery) -> RouteQuery:
        """Return *query* with those arms masked that have made answers worse."""
        if self._watch is None:
            return query
        masks = self._watch.masks(query.model, self._clock())
        if not masks:
            return query
        offers = tuple(
            offer.model_copy(update={"masked": offer.masked or masks.get(offer.arm, "")})
            for offer in query.offers
        )
        return query.model_copy(update={"offers": offers})

    async def route(self, query: RouteQuery) -> RouteDecision:
        """Decide."""
        return self.decide(query)

    def learn(self, rows: Sequence[Observation], *, afresh: bool = False) -> None:
        """Learn *rows* too, or nothing but them.

        It takes its time: call it in another thread, and not in two at once. Until it is done,
        decisions go on by what was known.
        """
        rows = none_to_come(rows, self._clock())
        if self._watch is not None:
            self._watch.learn(rows, afresh=afresh)
        self._scorer = self._scorer.learnt(rows, afresh=afresh)

    def tune(self, settings: RoutersSettings) -> None:
        """Decide by *settings* from now on, and by what is known; a thread's work as ``learn``."""
        if isinstance(self._scorer, routers.Tunable):
            self._scorer = self._scorer.tuned(settings)

    def serve(self, scorer: Scorer) -> None:
        """Decide by *scorer* from now on: one that was learnt elsewhere, and found good."""
        self._scorer = scorer


def _watch() -> Watch:
    from router_service.learning.watch import Watch  # numpy takes long to import

    return Watch()
