"""An account at a provider, as this replica knows its limits."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import anyio

from gateway.admission.health import Health
from gateway.admission.limits import VENDORS, Vendor
from gateway.admission.need.charge import Charge, ChargeRule
from gateway.admission.reading import Dimension
from gateway.admission.recent import Recent
from gateway.stores.ledger import WindowReading, WindowSpec, WindowState
from gateway.upstream.beginnings import cold, own_turn, parts_of, rule_of
from gateway.upstream.crowd import Crowd
from gateway.upstream.zeros import Zeros

WHOLE: Final = "*"
"""In a window's name: of all models of the account."""
_MOST_MODELS: Final = 1024
_PROBE: Final = ":probe:0"
_TIGHT_S: Final = 2.0
_GUESS_S: Final = 600.0
_DEDUCTED_AT_ONCE: Final = frozenset({"reserve_max", "reserve_larger"})
_DEDUCTED_IN_TIME: Final = frozenset({"actual", "cached_free"})


class Account:
    """One credential at one provider: its pool in the ledger, its windows, and whether it is up.

    ``heard`` tells that an answer has come, so that what it tells of limits is known. ``asked`` is
    set when the first call has been answered, None before there is one. ``tight_until``: a call had
    to wait, or was refused, a moment ago (a time of ``anyio.current_time``). ``single``: it serves
    one model. ``minute_s`` is how long its minute is. ``crowd`` and ``zeros``: see there.
    """

    offered: tuple[str, ...] = ()
    """The models that it says it has, where it was asked."""

    def __init__(  # noqa: PLR0913 - what there is to know of it
        self,
        name: str,
        vendor: Vendor,
        declared: Iterable[WindowSpec] = (),
        *,
        minute_s: float = 60,
        single: bool = False,
        breaker: int = 5,
    ) -> None:
        self.name = name
        self.single = single
        self.breaker = breaker
        self.vendor = vendor
        self.pool = f"up:{name}"
        self.minute_s = minute_s
        self.heard = False
        self.asked: anyio.Event | None = None
        self.tight_until = 0.0
        self.recent = Recent()
        self.rule: ChargeRule = rule_of(vendor)
        """What the provider deducts for a call."""
        self.rule_after: ChargeRule = "actual" if self.rule == "unknown" else self.rule
        """What it has deducted once a call is done; of an unknown one its readings tell."""
        self.reserves = self.rule in _DEDUCTED_AT_ONCE
        """Whether all that a call may write is deducted, and so must fit."""
        self._bounded = self.rule in _DEDUCTED_IN_TIME
        self._windows: dict[str, WindowSpec] = {spec.name: spec for spec in declared}
        self._declared, self._dropped = frozenset(self._windows), frozenset[str]()
        self._guessed: dict[str, float] = {}
        self._fresh: dict[str, float] = {}
        self._ends: dict[str, float] = {}
        self._charged: dict[str, tuple[tuple[str, Dimension], ...]] = {}
        self._health: OrderedDict[str, Health] = OrderedDict()
        self.crowd, self.zeros = Crowd(), Zeros()

    @property
    def tells(self) -> bool:
        """Whether its answers are expected to tell of limits that nobody has stated."""
        return bool(self.vendor.windows) and not self.vendor.sniffs and not self._windows

    def has_answered(self) -> None:
        """Note that an answer has come: what there is to know of the limits is known."""
        self.heard = True
        if self.asked is not None:
            self.asked.set()

    def has_tightened(self) -> None:
        """Note that a call has to wait, or was refused."""
        self.tight_until = anyio.current_time() + _TIGHT_S

    def has_failed(self) -> None:
        """Note that no answer came: if it was to be the first, another is."""
        if self.asked is not None and not self.heard:
            self.asked.set()
            self.asked = None

    def needs(self, model: str, charge: Charge) -> dict[str, int]:
        """Return what a call to *model* that is charged *charge* takes of each window it is in."""
        windows = self._charged.get(model)
        if windows is None:
            windows = self._charged_to(model)
        return {name: charge.get(what, 1) for name, what in windows}

    def limits(self, model: str) -> bool:
        """Return whether a call to *model* is in any window."""
        windows = self._charged.get(model)
        return bool(self._charged_to(model) if windows is None else windows)

    def caps(self) -> Mapping[str, int]:
        """Return what each of its windows holds when full."""
        return {name: spec.cap for name, spec in self._windows.items()}

    def fitted(self, needs: Mapping[str, int], sure: int) -> dict[str, int]:
        """Return *needs* cut down to what each window holds when full.

        A bound is no promise: a call that may be too large goes alone. One that *sure* tokens of
        input make too large stays so.
        """
        windows = self._windows
        return {
            name: amount if amount <= (cap := windows[name].cap) or sure > cap else cap
            for name, amount in needs.items()
        }

    def placed(self, readings: Iterable[WindowReading]) -> list[WindowReading]:
        """Return *readings* in this account's own time, and in its windows where it states some.

        What is told of one model is what is stated of the account, as long as it has no other.
        """
        pace, exact, bounded = self.minute_s / 60, self.reserves, self._bounded
        return [
            row._replace(
                name=self._place(row.name),
                period_ms=int(row.period_ms * pace),
                reset_ms=own_turn(row, int(row.period_ms * pace)),
                exact=exact,
                bounded=bounded,
            )
            for row in readings
        ]

    def _place(self, name: str) -> str:
        if name in self._windows:
            return name
        _, dimension, period = name.rsplit(":", 2)
        shared = f"{WHOLE}:{dimension}:{period}"
        return shared if self.single and shared in self._windows else name

    def cold(self, needs: Mapping[str, int]) -> list[WindowSpec]:
        """Return the windows as they are defined where nothing is known of their level.

        A tenth of each is there, or what one call *needs* if that is more: the first answer tells
        the truth. Of a window that an answer has just told of, it is half of that: other replicas
        may have sent their first calls, too.
        """
        specs = self.unseen(needs)
        self._fresh = {}
        return specs + [WindowSpec(name, "gauge", 1) for name in needs if is_probe(name)]

    def unseen(self, needs: Mapping[str, int]) -> list[WindowSpec]:
        """Return what ``cold`` would, and change nothing."""
        fresh = self._fresh
        now = map(self._of_now, self._windows.values())
        return [cold(spec, fresh.get(spec.name), needs.get(spec.name, 0)) for spec in now]

    def probe(self, model: str) -> str:
        """Return the window that one call alone is in which sees whether *model* is up again."""
        return f"{model}{_PROBE}"

    def _of_now(self, spec: WindowSpec) -> WindowSpec:
        """Return *spec* with its next boundary, as far as answers have told of one."""
        ends = self._ends.get(spec.name)
        if ends is None or not spec.period_ms:
            return spec
        left_ms = math.ceil(1000 * (ends - anyio.current_time()))
        return replace(spec, ends_in_ms=left_ms if left_ms > 0 else left_ms % spec.period_ms)

    def learn(self, readings: Iterable[WindowReading]) -> None:
        """Remember the windows that an answer told of."""
        for reading in readings:
            if reading.kind == "fixed" and reading.reset_ms:
                self._ends[reading.name] = anyio.current_time() + reading.reset_ms / 1000
            known = self._windows.get(reading.name)
            limit = reading.limit if reading.limit is not None else reading.remaining
            if limit is None or (known and not known.provisional and known.cap == limit):
                continue
            self.add(WindowSpec(reading.name, reading.kind, int(limit), reading.period_ms))
            if known is None:
                left = limit if reading.remaining is None else reading.remaining
                self._fresh[reading.name] = left

    def learn_of(self, windows: Iterable[WindowState]) -> None:
        """Remember the windows that the ledger has, whoever made them."""
        for state in windows:
            known = state.name in self._windows or state.name in self._dropped
            if not (known or state.provisional or is_probe(state.name)):
                period_s = float(state.name.rpartition(":")[2]) * self.minute_s / 60
                period_ms = int(1000 * period_s)
                self.add(WindowSpec(state.name, state.kind, state.cap, period_ms))

    def guess(self, spec: WindowSpec, now: float) -> None:
        """Remember a window that is only guessed, for as long as refusals keep coming."""
        self.add(spec)
        self._guessed[spec.name] = now

    def forget_guesses(self, now: float) -> None:
        """Forget the windows that were guessed ten minutes ago: a limit that was would be felt."""
        for name, at in list(self._guessed.items()):
            spec = self._windows.get(name)
            if now - at > _GUESS_S or spec is None or not spec.provisional:
                del self._guessed[name]
                if spec is not None and spec.provisional:
                    del self._windows[name]
                    self._charged.clear()

    def add(self, spec: WindowSpec) -> None:
        """Remember one window."""
        if spec.name not in self._windows:
            self._charged.clear()
            self._dropped -= {spec.name}
        self._windows[spec.name] = spec

    def restate(self, declared: Iterable[WindowSpec], *, minute_s: float) -> None:
        """Take in what is stated of its limits now.

        A window that is stated no more is forgotten, unless an answer tells of it.
        """
        specs = {spec.name: spec for spec in declared}
        self._dropped = (self._dropped | self._declared) - specs.keys()
        for name in self._dropped:
            self._windows.pop(name, None)
        self._windows |= specs
        self._declared = frozenset(specs)
        self._charged.clear()
        self.minute_s = minute_s

    def stated(self, there: Iterable[WindowState]) -> list[WindowSpec]:
        """Return the stated windows of which *there* are some in the ledger."""
        return [self._windows[it.name] for it in there if it.name in self._declared]

    def breaks_after(self, failures: int) -> None:
        """Take a model for down after so many *failures* in a row; 0: never."""
        self.breaker = failures
        for health in self._health.values():
            health.limit = failures

    def forget_health(self) -> None:
        """Take all its models for up: it is reached otherwise than they were found to be down."""
        self._health.clear()

    def knows(self, name: str) -> bool:
        """Return whether there is a window called *name*."""
        return name in self._windows

    def shut(self, now: float) -> int:
        """Return how many of its models are not asked at *now*, as they failed."""
        return sum(health.gate(now) == "shut" for health in self._health.values())

    def gone(self) -> int:
        """Return how many of its models it said it does not have, when they were last asked."""
        return sum(health.is_gone for health in self._health.values())

    def health(self, model: str) -> Health:
        """Return the breaker of *model*."""
        found = self._health.get(model)
        if found is None:
            found = self._health[model] = Health(self.breaker)
            if len(self._health) > _MOST_MODELS:
                self._health.popitem(last=False)
        return found

    def _charged_to(self, model: str) -> tuple[tuple[str, Dimension], ...]:
        found = tuple(
            (name, dimension)
            for name, dimension, of in map(parts_of, self._windows)
            if of in (model, WHOLE)
        )
        if len(self._charged) > _MOST_MODELS:
            self._charged.clear()
        self._charged[model] = found
        return found


def is_probe(window: str) -> bool:
    """Return whether *window* lets one call through to see whether a model is up."""
    return window.endswith(_PROBE)


def unlimited() -> Account:
    """Return an account of whose limits nothing is known."""
    return Account("", VENDORS["generic"])
