"""Who is asked in a run, in which roles, and what its steps are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from gateway.forecast.habits import Form
from gateway.forecast.world import Part, Shape
from gateway.planning.plan import Plan
from gateway.policy.models import Model

_ANSWER: Final = "answer"
_COUNT: Final = re.compile(r"(\d+(?:\.\d+)?)( for each model)?(?:, and (\d+))?")


class Seats:
    """Who is asked in which role, in the order of lanes, and the shapes of steps made of them."""

    def __init__(self, plan: Plan, forms: Sequence[Form]) -> None:
        self._models = {model.name: model for model in _models(plan)}
        self.all: list[tuple[Model, str]] = []
        self.seen = bool(forms)
        self.technique = plan.technique
        self._first = plan.model
        self.shapes: tuple[Shape, ...] = tuple(
            tuple(
                tuple(Part(self._seat(it.model, it.role), it.ratio, it.cached) for it in wave)
                for wave in form
            )
            for form in forms
        )
        if not forms:
            count = (
                1 if plan.card is None else usual_calls(plan.card.traits.typical, len(plan.pool))
            )
            self.shapes = (((Part(self._seat(plan.model.name, _ANSWER)),) * count,),)

    def _seat(self, name: str, role: str) -> int:
        seat = (self._models.get(name, self._first), role)
        for place, (model, played) in enumerate(self.all):
            if model.name == seat[0].name and played == role:
                return place
        self.all.append(seat)
        return len(self.all) - 1


def usual_calls(typical: str, models: int) -> int:
    """Return how many calls a technique makes that says *typical* of it, with so many *models*.

    One where it says no number.
    """
    found = _COUNT.match(typical)
    if found is None:
        return 1
    number, each, more = found.groups()
    return max(round(float(number) * (models if each else 1)) + int(more or 0), 1)


def _models(plan: Plan) -> Iterable[Model]:
    others = (plan.judge, plan.critic)
    yield from (*plan.models, *plan.pool, *(model for model in others if model is not None))


def with_equals(
    seats: Sequence[tuple[Model, str]],
) -> tuple[list[tuple[Model, str]], dict[int, tuple[int, ...]]]:
    """Return *seats* and behind them those at further accounts of their models.

    With them comes by place where those of each seat are.
    """
    everyone, equals = list(seats), {}
    for place, (model, role) in enumerate(seats):
        equals[place] = tuple(range(len(everyone), len(everyone) + len(model.others)))
        everyone += [(other, role) for other in model.others]
    return everyone, equals
