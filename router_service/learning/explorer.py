"""Tries other arms now and then, within what that may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from router_service.contract import Observation, RouteQuery
from router_service.learning.exploration import Drawn, Terms, explored
from router_service.learning.purse import Purse
from router_service.learning.settings import ExplorationSettings
from router_service.scores import Scores

_MARGIN = 2.0  # an arm may well cost twice what is expected of it
_BELIEF = 20.0  # requests: what the guess of a plain call's cost counts for
_MOST_MODELS = 1000


class _Usual:
    """What plain calls of a model cost, beside what was guessed before their answers were known."""

    def __init__(self) -> None:
        self._guessed, self._asked = 0.0, 0
        self._cost, self._seen = 0.0, 0

    def guess(self, usd: float) -> float:
        """Return what a call that is guessed to cost *usd* is likely to cost."""
        self._guessed, self._asked = self._guessed + usd, self._asked + 1
        usual = self._guessed / self._asked
        if not usual or not self._seen:
            return usd
        times = self._cost / self._seen / usual
        return usd * (self._seen * times + _BELIEF) / (self._seen + _BELIEF)

    def see(self, usd: float) -> None:
        """Count a call that cost *usd*."""
        self._cost, self._seen = self._cost + usd, self._seen + 1


class Explorer:
    """Takes another arm than the best one now and then; it belongs to one process.

    *clock* tells seconds, *dice* are drawn evenly from 0 to below 1. It is told what came of the
    requests of its own process by ``observe``, and of no others: see ``Purse``. ``told`` is called
    with what each try cost above what the best arm would have.
    """

    def __init__(
        self,
        settings: ExplorationSettings,
        clock: Callable[[], float],
        dice: Callable[[], float],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._dice = dice
        self.purse = Purse(settings.share)
        self._usual: dict[str, _Usual] = {}
        self.told: Callable[[float], None] = lambda _usd: None

    def __call__(self, scores: Scores, greedy: str, query: RouteQuery) -> Drawn:
        """Return what to do where *greedy* is best; what it may cost is held at once."""
        now = self._clock()
        allowance = self.purse.allowance(now)
        if query.plain_usd is not None:
            guess = self._of(query.model).guess(query.plain_usd)
            query = query.model_copy(update={"plain_usd": guess})
        drawn = explored(scores, greedy, query, Terms(allowance, self._settings, self._dice()))
        if drawn.explored:
            held = min(_MARGIN * drawn.extra_usd, allowance.left_usd)
            what = _what(query.model, drawn.arm)
            self.purse.hold(what, held, now, expected_usd=drawn.expected_usd)
        return drawn

    def observe(self, rows: Iterable[Observation]) -> None:
        """Count what requests of this process have cost, and what of that was to learn."""
        now = self._clock()
        for row in rows:
            if row.counterfactual:
                continue
            self.purse.earn(row.cost_usd or 0.0, now)
            if row.cost_usd is not None and row.cost:
                self._of(row.model).see(row.cost_usd / row.cost)
            if row.explored and row.cost_usd is not None:
                self.told(self.purse.settle(_what(row.model, row.arm), row.cost_usd, now))

    def _of(self, model: str) -> _Usual:
        if len(self._usual) > _MOST_MODELS:  # whoever names so many is no client of ours
            self._usual.clear()
        return self._usual.setdefault(model, _Usual())


def _what(model: str, arm: str) -> str:
    return f"{model} {arm}"
