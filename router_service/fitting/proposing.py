"""What a router may better decide by, as far as *rows* tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from router_service.contract import Observation
from router_service.fitting.report import Proposal, figures_of, training_of
from router_service.learning.promotion import Fit, fit_and_check, half
from router_service.learning.training import NotWorthIt, doubt, weighed
from router_service.parameters import Tuned, Weights, applied, tuned
from router_service.routers.acm_linear import AcmLinear
from router_service.routers.semknn import semknn
from router_service.scores import Scorer
from router_service.settings import RouterSettings

_FACTORS: Final = MappingProxyType({"neighbours": 2, "kappa": 2.0, "caution": 2.0})

Stopped: TypeAlias = Callable[[], bool]
Propose: TypeAlias = Callable[[Sequence[Observation], RouterSettings, str, Stopped], Proposal]


class BrokenOff(Exception):
    """Nobody waits for it any more."""


def propose(
    rows: Sequence[Observation],
    settings: RouterSettings,
    created: str = "",
    stopped: Stopped = lambda: False,
) -> Proposal:
    """Return what may take the place of what is in *settings*, tried on *rows*.

    It takes its time: call it in another thread.

    Raises:
        BrokenOff: It was *stopped*, which is looked at now and then.
    """
    if settings.type not in _PROPOSE:
        return _nothing(f"there is nothing to fit: router.type is {settings.type}")
    return _PROPOSE[settings.type](rows, settings, created, stopped)


def _nothing(why: str, found: Weights | Tuned | None = None) -> Proposal:
    return Proposal(found, promoted=False, why=why, figures={})


def _propose_weights(
    rows: Sequence[Observation], settings: RouterSettings, created: str, stopped: Stopped
) -> Proposal:
    try:
        trained = weighed(rows, lambda_=settings.lambda_, created=created)
    except NotWorthIt as error:
        return _nothing(str(error))
    found, now = Weights(artifact=trained.artifact), settings.acm_linear.weights
    if now is not None and now.checksum == trained.artifact.checksum:
        return _nothing("these weights are served already", found)

    def as_it_is(known: Sequence[Observation]) -> Scorer:
        del known
        return AcmLinear(now)

    candidate = _until(stopped, partial(_weighed, settings.lambda_))
    tried = fit_and_check(rows, as_it_is, candidate, settings.lambda_)
    why = doubt(trained)
    figures = figures_of(tried) | {"training": training_of(trained)}
    return Proposal(found, tried.promoted and why is None, why or tried.why, figures)


def _weighed(lambda_: float, known: Sequence[Observation]) -> Scorer:
    try:
        return AcmLinear(weighed(known, lambda_=lambda_).artifact)
    except NotWorthIt:
        return AcmLinear(None)


def _until(stopped: Stopped, fit: Fit) -> Fit:
    def learns(known: Sequence[Observation]) -> Scorer:
        if stopped():
            raise BrokenOff
        return fit(known)

    return learns


def _propose_tuning(
    rows: Sequence[Observation], settings: RouterSettings, _: str, stopped: Stopped
) -> Proposal:
    """Choose by one half of the prompts, and try the choice on the other.

    What is best of several is too good where it was chosen.
    """
    now = _until(stopped, _with(settings, tuned(settings.semknn)))
    chosen_on = [row for row in rows if half(row)]
    best, gain = None, 0.0
    for one in _beside(tuned(settings.semknn)):
        tried = fit_and_check(chosen_on, now, _with(settings, one), settings.lambda_)
        if tried.comparison is None:
            return Proposal(None, promoted=False, why=tried.why, figures=figures_of(tried))
        if tried.comparison.gain.mean > gain:
            best, gain = one, tried.comparison.gain.mean
    if best is None:
        return _nothing("none of the settings that were tried is better")
    tried_on = [row for row in rows if not half(row)]
    tried = fit_and_check(tried_on, now, _with(settings, best), settings.lambda_)
    return Proposal(best, tried.promoted, tried.why, figures_of(tried) | {"gain_chosen_by": gain})


def _beside(now: Tuned) -> Iterator[Tuned]:
    """Yield what differs from *now* in one of its settings, by a factor."""
    for name, factor in _FACTORS.items():
        value = getattr(now, name)
        for other in (value * factor, value // factor if name == "neighbours" else value / factor):
            low, high = _BOUNDS[name]
            if low <= other <= high and other != value:
                yield now.model_copy(update={name: other})


_BOUNDS: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {"neighbours": (1, 1000), "kappa": (0.25, 256.0), "caution": (0.0, 3.0)}
)


def _with(settings: RouterSettings, found: Tuned) -> Fit:
    stated = applied(settings, found)

    def learns(known: Sequence[Observation]) -> Scorer:
        return semknn(stated).learnt(known, afresh=True)

    return learns


_PROPOSE: Final[Mapping[str, Propose]] = MappingProxyType(
    {"acm_linear": _propose_weights, "semknn": _propose_tuning}
)
