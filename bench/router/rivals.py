"""What is compared: the gateway's own routers, and what they must beat to be worth anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from bench.router.curves import Predicted
from bench.router.sets import Numbers, Places, RoutedSet
from router_service.arms import PLAIN, Arm
from router_service.contract import Observation, Offer, RouteQuery, Vector
from router_service.engine import Engine
from router_service.learning.training import NotWorthIt, train
from router_service.settings import RouterSettings
from techniques.parts.features import CONTENT

_POINTS: Final = 100.0
_KAPPA: Final = 20.0
_LEAST: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Task:
    """A set, where the vectors of its prompts lie, and which of its models is asked for."""

    routed: RoutedSet
    vectors: Sequence[Vector | None]
    plain: int = 0
    settings: RouterSettings = field(default_factory=RouterSettings)
    seed: int = 0

    @property
    def relative(self) -> Numbers:
        """What each call cost, in plain calls of the same prompt."""
        cost = self.routed.cost
        relative: Numbers = cost / np.maximum(cost[:, [self.plain]], _LEAST)
        return relative

    @property
    def gains(self) -> Numbers:
        """By how many points each answer is better than the plain one."""
        quality = self.routed.quality
        gains: Numbers = _POINTS * (quality - quality[:, [self.plain]])
        return gains

    def arm(self, model: int) -> str:
        """Return the name of the arm that *model* stands for."""
        return PLAIN.name if model == self.plain else Arm(channel=self.routed.models[model]).name


Rival: TypeAlias = Callable[[Task, Places, Places], Predicted]
"""Learns the prompts at the first places and predicts for those at the second."""


def observations(
    task: Task, places: Places, arms: Sequence[int] | None = None
) -> list[Observation]:
    """Return what is observed of all models, or just *arms*, for the prompts at *places*."""
    made = []
    for place in places:
        prompt = task.routed.prompts[place]
        for model in range(len(task.routed.models)) if arms is None else arms:
            if model != task.plain:
                made.append(
                    Observation(
                        id=f"{place}-{model}",
                        request_id=str(place),
                        at=0.0,
                        model="asked",
                        arm=task.arm(model),
                        features=prompt.features,
                        vector=task.vectors[place],
                        quality=float(task.routed.quality[place, model]),
                        plain_quality=float(task.routed.quality[place, task.plain]),
                        cost=float(task.relative[place, model]),
                    )
                )
    return made


def learnt(router: str) -> Rival:
    """Return the gateway's own *router*, with the settings it comes with."""

    def predict(task: Task, known: Places, asked: Places) -> Predicted:
        settings = task.settings.model_copy(update={"type": router})
        engine = Engine(settings)
        engine.learn(observations(task, known))
        return predicted(engine, task, known, asked)

    return predict


def acm_linear(task: Task, known: Places, asked: Places) -> Predicted:
    """Train weights at the lambda at which models are worth most alike; refused, one arm for all.

    It is trained for each fold as ``router_service.learning.training`` does it, that keeps no
    weights which are not plainly better than the best single arm.
    """
    costs = task.relative[known].mean(axis=0) - 1
    gains = task.gains[known].mean(axis=0)
    dearer = costs > _LEAST
    even = float(np.median(gains[dearer] / costs[dearer])) if dearer.any() else 0.0
    try:
        trained = train(observations(task, known), lambda_=max(even, 0.0))
    except NotWorthIt:
        return fixed(task, known, asked)
    section = task.settings.acm_linear.model_copy(update={"weights": trained.artifact})
    settings = task.settings.model_copy(update={"type": "acm_linear", "acm_linear": section})
    return predicted(Engine(settings), task, known, asked)


def predicted(engine: Engine, task: Task, known: Places, asked: Places) -> Predicted:
    """Return what *engine* says of the prompts at *asked*; costs are expected as they were."""
    names = [task.arm(model) for model in range(len(task.routed.models))]
    usual = np.exp(np.log(np.maximum(task.relative[known], _LEAST)).mean(axis=0))
    offers = [Offer(arm=arm, cost=float(cost)) for arm, cost in zip(names, usual, strict=True)]
    offers.insert(0, offers.pop(task.plain))
    points = np.zeros((len(asked), len(names)))
    costs = np.ones((len(asked), len(names)))
    for at, place in enumerate(asked):
        query = RouteQuery(
            model="asked",
            offers=tuple(offers),
            features=task.routed.prompts[place].features,
            vector=task.vectors[place],
            lambda_=0.0,
            explore=False,
        )
        scores = engine.scorer(query).arms
        points[at] = [scores[arm].utility for arm in names]
        costs[at] = [scores[arm].cost for arm in names]
    return Predicted(points, costs)


def _usual(task: Task, known: Places, asked: Places) -> Numbers:
    """Return the mean cost of each arm at *known*, for each prompt at *asked*."""
    return np.tile(task.relative[known].mean(axis=0), (len(asked), 1))


def length_only(task: Task, known: Places, asked: Places) -> Predicted:
    """Predict the gain of each arm as a line over the logarithm of the prompt's length."""
    sizes = np.array([np.log1p(prompt.features.tokens) for prompt in task.routed.prompts])
    gains = task.gains[known]
    apart = sizes[known] - sizes[known].mean()
    slopes = apart @ gains / max(float(apart @ apart), _LEAST)
    points = gains.mean(axis=0) + np.outer(sizes[asked] - sizes[known].mean(), slopes)
    return Predicted(points, _usual(task, known, asked))


def category_prior(task: Task, known: Places, asked: Places) -> Predicted:
    """Predict the mean gain of the label; without labels, of the kind and category."""
    names = [_group(task, place) for place in range(len(task.routed))]
    gains = task.gains
    overall = gains[known].mean(axis=0)
    means: dict[object, Numbers] = {}
    for name in set(names):
        of = [place for place in known if names[place] == name]
        means[name] = (gains[of].sum(axis=0) + _KAPPA * overall) / (len(of) + _KAPPA)
    points = np.array([means[names[place]] for place in asked])
    return Predicted(points, _usual(task, known, asked))


def _group(task: Task, place: int) -> object:
    features = task.routed.prompts[place].features
    return features.label or (features.kind, features.category)


def counted(task: Task, known: Places, asked: Places) -> Predicted:
    """Predict the gain by a ridge regression over what is counted of the text, and no vector."""
    names = sorted(CONTENT)
    table = np.array([[p.features.content[name] for name in names] for p in task.routed.prompts])
    spread = table[known].std(axis=0)
    table = (table - table[known].mean(axis=0)) / np.where(spread > _LEAST, spread, np.inf)
    gains = task.gains[known]
    square = table[known].T @ table[known] + _KAPPA * np.eye(len(names))
    slopes = np.linalg.solve(square, table[known].T @ (gains - gains.mean(axis=0)))
    return Predicted(gains.mean(axis=0) + table[asked] @ slopes, _usual(task, known, asked))


def fixed(task: Task, known: Places, asked: Places) -> Predicted:
    """Predict the same for every prompt: so one arm is taken for all, the best at that lambda."""
    points = np.tile(task.gains[known].mean(axis=0), (len(asked), 1))
    return Predicted(points, _usual(task, known, asked))


def chance(task: Task, known: Places, asked: Places) -> Predicted:
    """Predict anything."""
    dice = np.random.default_rng([task.seed, len(known)])
    points = dice.normal(0.0, _POINTS, (len(asked), len(task.routed.models)))
    points[:, task.plain] = 0.0
    return Predicted(points, _usual(task, known, asked))


def oracle(task: Task, known: Places, asked: Places) -> Predicted:
    """Know the answers: nothing can be better."""
    del known
    return Predicted(task.gains[asked], task.relative[asked])


RIVALS: Final[Mapping[str, Rival]] = {
    "semknn": learnt("semknn"),
    "acm_linear": acm_linear,
    "length only": length_only,
    "counted": counted,
    "category prior": category_prior,
    "best fixed arm": fixed,
    "random": chance,
    "oracle": oracle,
}
"""All that are compared, by name."""


@dataclass(frozen=True, slots=True)
class Crossed:
    """What was said of each prompt by what had learnt only those of the other folds."""

    said: Predicted
    fold: Places

    def ranks(self, model: int) -> Numbers:
        """Return at which share of its fold, 0 to 1, each prompt stands by its points for *model*.

        What learnt without the good prompts of a fold expects less of it: so those that learnt
        different prompts are compared by what they put first, and not by how much they promise.
        """
        ranks = np.empty(len(self.fold))
        points = self.said.points[:, model]
        for fold in np.unique(self.fold):
            of = np.flatnonzero(self.fold == fold)
            order = np.argsort(points[of], kind="stable")
            ranks[of[order]] = (np.arange(len(of)) + 0.5) / len(of)
        return ranks

    def taken(self, order: Places) -> Crossed:
        """Return the same of the prompts in another *order*."""
        said = Predicted(self.said.points[order], self.said.cost[order])
        return Crossed(said, self.fold[order])


def crossed(rival: Rival, task: Task, folds: int = 5) -> Crossed:
    """Let *rival* learn all folds but one, and predict for that, for each in turn."""
    count = len(task.routed)
    of = np.random.default_rng(task.seed).permutation(count) % folds
    points = np.zeros((count, len(task.routed.models)))
    costs = np.zeros_like(points)
    for fold in range(folds):
        asked = np.flatnonzero(of == fold)
        found = rival(task, np.flatnonzero(of != fold), asked)
        points[asked], costs[asked] = found.points, found.cost
    return Crossed(Predicted(points, costs), of)
