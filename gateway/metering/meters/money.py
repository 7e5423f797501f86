"""Prometheus metrics of money: who spends it, what nobody knows the price of, and budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge

from gateway.config.periods import Period
from gateway.metering.facts import MoneyMet
from gateway.metering.ledger import CallFinished, Fact, RequestFinished
from gateway.metering.meters.batch import Batch, BatchHistogram, children

Scope: TypeAlias = Literal["key", "team"]
"""Whose a budget is."""

_PICO: Final = 10**12
_RATIO: Final = (0.5, 0.8, 1, 1.25, 1.6, 2, 3, 5, 10, 20, 50, 100)
_NOBODY, _OTHER, _ALONE = "none", "other", "no_team"
_KINDS: Final = tuple((scope, period) for scope in get_args(Scope) for period in get_args(Period))


class Fullest(NamedTuple):
    """Of all budgets of a kind: the largest part that is spent, and the fastest pace.

    A pace of 1 spends a budget up exactly when its period ends.
    """

    used: float
    pace: float


_EMPTY: Final = Fullest(0.0, 0.0)


class MoneyMeter:
    """Turns facts into metrics of *registry*.

    *teams* are those of the configuration. They are the classes of keys: a key itself is never a
    label, and nor is a team that was made later (``other``).
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        models: Iterable[tuple[str, str]],
        teams: Iterable[str],
    ) -> None:
        self._teams: frozenset[str] = frozenset()
        self._child = children()
        self._spent = Counter(
            "lockgate_class_cost_usd",
            "US dollars spent by class of key: its team, if the configuration names it.",
            ("key_class", "source"),
            registry=registry,
        )
        self._unknown = Counter(
            "lockgate_price_unknown",
            "Upstream calls whose cost is unknown, as their model has no price.",
            ("model", "provider"),
            registry=registry,
        )
        self._declare_budgets(registry)
        self.expect(models, teams)
        self.budgets({})

    def expect(self, models: Iterable[tuple[str, str]], teams: Iterable[str]) -> None:
        """Show *models*, and *teams* as classes from now on: a rate needs the zero before."""
        self._teams = frozenset(teams)
        for model in models:
            self._unknown.labels(*model)

    def _declare_budgets(self, registry: CollectorRegistry) -> None:
        self._lease = BatchHistogram(
            "lockgate_lease_ratio",
            "Dollars of a budget that were held for a call, for each dollar that it cost.",
            ("model",),
            buckets=_RATIO,
            registry=registry,
        )
        self._used = Gauge(
            "lockgate_budget_used_ratio",
            "The part that is spent of the fullest budget of its kind.",
            ("scope", "period"),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._pace = Gauge(
            "lockgate_budget_pace_ratio",
            "How fast the budget goes that goes fastest; at 1 it ends with its period.",
            ("scope", "period"),
            registry=registry,
            multiprocess_mode="livemax",
        )

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*."""
        batch = Batch()
        try:
            for fact in facts:
                match fact:
                    case CallFinished():
                        if fact.cost is None:
                            self._unknown.labels(fact.model, fact.provider).inc()
                    case RequestFinished():
                        self._request(fact, batch)
                    case MoneyMet():
                        if fact.cost:
                            lease = self._child(self._lease, fact.model)
                            batch.add(lease, fact.held / fact.cost)
                    case _:
                        pass
        finally:
            batch.observe()

    def budgets(self, fullest: Mapping[tuple[Scope, Period], Fullest]) -> None:
        """Show how budgets stand, by whose they are and over what; kinds without one stand at 0."""
        for kind in _KINDS:
            used, pace = fullest.get(kind, _EMPTY)
            self._used.labels(*kind).set(used)
            self._pace.labels(*kind).set(pace)

    def _request(self, fact: RequestFinished, batch: Batch) -> None:
        name = self._class(fact)
        for row in fact.rows:
            if row.cost:
                child = self._child(self._spent, name, row.cost_source)
                batch.count(child, row.cost / _PICO)

    def _class(self, fact: RequestFinished) -> str:
        if fact.team is None:
            return _NOBODY if fact.key is None else _ALONE
        return fact.team if fact.team in self._teams else _OTHER
