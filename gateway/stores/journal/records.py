"""What is written down of a run and of its steps, and the JSON that both are kept as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import orjson

from pricing.record import record

RunState: TypeAlias = Literal[
    "executing", "suspended", "interrupted", "completed", "failed", "cancelled"
]
"""``suspended``: put away at a rate limit. ``interrupted``: broken off, and it can go on."""
StepState: TypeAlias = Literal[
    "planned", "dispatched", "completed", "failed", "ambiguous", "superseded"
]
"""``ambiguous``: sent, and nobody knows what came of it. ``superseded``: no longer wanted."""

WAITING: Final[frozenset[RunState]] = frozenset({"suspended", "interrupted"})
"""States in which a run waits to be taken up by whoever sends the same request again."""
LIVE: Final[frozenset[RunState]] = WAITING | {"executing"}
"""States of runs that are not over."""


class JournalLost(Exception):
    """The journal does not answer now, or what it says cannot be read."""


class RunName(NamedTuple):
    """A run's name, and the key whose it is: two keys may use one name."""

    owner: str
    run: str


@record(frozen=True, slots=True)
class Sent:
    """The request that began a run, so that it can be gone on with when nobody asks.

    ``headers`` are those that matter, without credentials.
    """

    dialect: str
    raw: str
    headers: Mapping[str, str]


@record(frozen=True, slots=True)
class RunRecord:
    """What of a run stays as it was when it began.

    Attributes:
        name: Whose it is, and what it is called.
        body: A hash of what was asked.
        plan: A hash of what was to be done for it.
        secret: What its dice are thrown from; never shown.
        created_ms: When it began, of the epoch.
        session: The session that it belongs to.
        named: Whether its client knows the name, and so will ask for it.
        technique: What is carried out, ``none`` for a plain call.
        model: The operator's name of the model.
        background: Whether it goes on without anybody waiting for it.
        sent: The request itself.
        parent: The run that it was forked from.
        origin: Whose steps it has, by their keys, where it was brought here from elsewhere.
        checkpoint: What else came with it.
        routed: What a router chose, as ``gateway.metering.routed`` writes it; None: none was to.
    """

    name: RunName
    body: str
    plan: str
    secret: str
    created_ms: int
    session: str | None = None
    named: bool = False
    technique: str = "none"
    model: str = ""
    background: bool = False
    sent: Sent | None = None
    parent: str | None = None
    origin: RunName | None = None
    checkpoint: Mapping[str, Any] | None = None
    routed: str | None = None

    @property
    def matched(self) -> str:
        """The body by which others find it; a fork is found by its name only."""
        return self.body if self.parent is None else ""

    @property
    def keyed(self) -> RunName:
        """The name that is in the keys of its steps."""
        return self.origin or self.name


@record(frozen=True, slots=True)
class Standing:
    """How a run stands. ``eta_ms`` is a time of the epoch, ``waste`` and ``saved`` picodollars.

    ``saved`` is what was answered from the journal and not paid again, in ``replayed`` steps;
    ``answer`` are its events, as ``gateway.runs.events`` writes them, once there is one.
    ``decided`` is what was decided on the way by what a process knew, and holds for all others.
    """

    state: RunState = "executing"
    eta_ms: int | None = None
    reason: str | None = None
    waste: int = 0
    saved: int = 0
    replayed: int = 0
    ambiguous: int = 0
    resumes: int = 0
    answer: str | None = None
    decided: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class StepRecord:
    """One sub-call of a run, as far as it has come: what carries the run out changes it.

    Attributes:
        path: Its place in the run, the same each time the run is carried out.
        key: A hash of what was asked.
        state: What came of it.
        after: How many steps had ended when it was asked for.
        seq: Its place among those that have ended, 0 as long as it has not.
        attempts: How often it was sent.
        refusals: How often that came to nothing, for sure.
        role: The part that it plays.
        model: The operator's name of the model that answered, ``provider`` and ``shown`` beside.
        tokens: Input and output tokens, as far as they were counted.
        cost: Picodollars, None where the price or the tokens are not known.
        events: What was answered, as ``gateway.runs.events`` writes it.
        partial: As much of the text as had come when this was written, while it was under way.
        error: Of one that failed: kind, code and message.
        at_ms: When this was written, of the epoch.
        of: The run that it was made in, and paid by, where that is not the one that has it.
        asked: The question whether it is to be made again that was asked of somebody.
    """

    path: str
    key: str
    state: StepState = "planned"
    after: int = 0
    seq: int = 0
    attempts: int = 0
    refusals: int = 0
    role: str = ""
    model: str = ""
    provider: str = ""
    shown: str = ""
    tokens: tuple[int, int] | None = None
    cost: int | None = None
    events: str | None = None
    partial: str | None = None
    error: tuple[str, str, str] | None = None
    at_ms: int = 0
    of: tuple[str, str] | None = None
    asked: str | None = None


@record(frozen=True, slots=True)
class Stored:
    """A run as it was found. ``lease_ms`` is how long its owner still holds it, 0: nobody does."""

    record: RunRecord
    standing: Standing
    token: int
    lease_ms: int = 0
    steps: Sequence[StepRecord] = field(default=())

    @property
    def is_executing(self) -> bool:
        """Whether somebody is at work on it."""
        return self.standing.state == "executing" and self.lease_ms > 0

    @property
    def is_waiting(self) -> bool:
        """Whether it waits to be taken up."""
        return self.standing.state in WAITING or (
            self.standing.state == "executing" and self.lease_ms <= 0
        )


def written(value: RunRecord | Standing | StepRecord) -> str:
    """Return *value* as JSON."""
    return orjson.dumps(value, default=_plain).decode()


def run_read(text: str) -> RunRecord:
    """Return the run that ``written`` wrote.

    Raises:
        JournalLost: It cannot be read; so of the others.
    """
    with _readable():
        found = _known(RunRecord, text)
        for name in ("name", "origin"):
            if found.get(name) is not None:
                found[name] = RunName(*found[name])
        if found.get("sent") is not None:
            found["sent"] = Sent(**found["sent"])
        return RunRecord(**found)


def standing_read(text: str) -> Standing:
    """Return how the run stood."""
    with _readable():
        return Standing(**_known(Standing, text))


def step_read(text: str) -> StepRecord:
    """Return the step that ``written`` wrote."""
    with _readable():
        found = _known(StepRecord, text)
        for name in ("tokens", "error", "of"):
            if found.get(name) is not None:
                found[name] = tuple(found[name])
        return StepRecord(**found)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise JournalLost(f"a record cannot be read: {error}") from error


def _known(kind: type[Any], text: str) -> dict[str, Any]:
    """Return the fields that this release knows: a later one may have written more."""
    return {name: value for name, value in orjson.loads(text).items() if name in _FIELDS[kind]}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


_FIELDS: Final[Mapping[type[Any], frozenset[str]]] = {
    kind: frozenset(one.name for one in fields(kind)) for kind in (RunRecord, Standing, StepRecord)
}
