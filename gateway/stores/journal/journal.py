"""The interface of a journal: a few operations, each of which happens as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from gateway.stores.journal.records import JournalLost as JournalLost
from gateway.stores.journal.records import (
    RunName,
    RunRecord,
    RunState,
    Standing,
    StepRecord,
    Stored,
)
from pricing.record import record

Matching: TypeAlias = Literal["name", "waiting", "any"]
"""Whether a run of the same body is looked for where there is none of the name: one that waits to
be taken up, or with ``any`` (the client says that it asks again) whatever became of it."""


class StaleToken(Exception):
    """Another replica has claimed the run since: nothing was written."""


class Hold(NamedTuple):
    """A claim of a run; ``token`` grows with each.

    The first is the instant at which the run begins: so that of a run that was forgotten means
    nothing to another that gets its name.
    """

    name: RunName
    token: int


@record(frozen=True, slots=True)
class Claim:
    """The wish to carry a run out: that of the name, else a like one, else a new one.

    ``again`` claims one that is over too.
    """

    record: RunRecord
    lease_ms: int
    matching: Matching = "name"
    again: bool = False


@record(frozen=True, slots=True)
class Claimed:
    """The run is ours, as *hold* says. ``is_new``: it has just begun."""

    hold: Hold
    stored: Stored
    is_new: bool = False


Answer: TypeAlias = Claimed | Stored
"""Ours; or it is another's, or over, or was about something else."""


@record(frozen=True, slots=True)
class Write:
    """Steps of a run, and how it stands. With ``ends`` the claim is given up."""

    hold: Hold
    steps: Sequence[StepRecord] = ()
    standing: Standing | None = None
    ends: bool = False
    record: RunRecord | None = None


class Place(NamedTuple):
    """Where a run stands among all others, the later ones above: no two stand at the same."""

    created_ms: int
    owner: str
    run: str


def place_of(record: RunRecord) -> Place:
    """Return the place of a run."""
    return Place(record.created_ms, *record.name)


class _Recorded(Protocol):
    @property
    def record(self) -> RunRecord: ...


_RecordedT = TypeVar("_RecordedT", bound=_Recorded)
_first: Final = itemgetter(0)


@record(frozen=True, slots=True)
class Sought:
    """Which runs are looked for: of the key *owner* (None: of all), and of a *session*.

    With ``grouped``, only those that belong to some session; with ``states``, only those that were
    written down to stand so. At most ``limit``, the latest first, and only those that come
    ``after`` a run that was listed.
    """

    owner: str | None
    session: str | None = None
    grouped: bool = False
    limit: int = 100
    after: Place | None = None
    states: tuple[RunState, ...] = ()

    def page(self, found: Iterable[_RecordedT]) -> list[_RecordedT]:
        """Return those of *found* that are asked for by their place, in order."""
        placed = sorted(((place_of(one.record), one) for one in found), key=_first, reverse=True)
        rest = (one for place, one in placed if self.after is None or place < self.after)
        return list(islice(rest, self.limit))

    def fits(self, record: RunRecord, standing: Standing) -> bool:
        """Return whether the run is one of those that are looked for."""
        return (
            self.owner in (None, record.name.owner)
            and self.session in (None, record.session)
            and (record.session is not None or not self.grouped)
            and (not self.states or standing.state in self.states)
        )


class Journal(Protocol):
    """Keeps runs. Every operation may raise ``JournalLost``."""

    async def claim(self, claim: Claim) -> Answer:
        """Return the run that *claim* is about: claimed, or as it stands if it cannot be."""
        ...

    async def write(self, write: Write) -> None:
        """Write all of *write* or nothing; it lasts when this returns.

        Raises:
            StaleToken: Another has claimed the run.
        """
        ...

    async def renew(self, holds: Sequence[Hold], lease_ms: int) -> Sequence[Hold]:
        """Hold on to *holds* for longer; return those that were lost."""
        ...

    async def find(self, name: RunName) -> Stored | None:
        """Return a run with its steps, None if there is none."""
        ...

    async def waits(self, owner: str, body: str) -> bool:
        """Return whether a run of that key and body waits to be taken up."""
        ...

    async def abandoned(self, limit: int) -> Sequence[RunRecord]:
        """Return runs that were to go on in the background and that nobody is at work on."""
        ...

    async def suspended(self, limit: int) -> Sequence[int | None] | None:
        """Return when the runs that are put away at a limit can go on, as far as that is known.

        In milliseconds of the epoch; None instead of a list where it would be dear to tell.
        """
        ...

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        """Return the runs that are sought, with their steps, the latest first."""
        ...

    async def put(self, brought: Stored, *, replaces: bool = False) -> Stored | None:
        """Put a run here as it is, held by nobody, all of it or nothing.

        Return the run of that name that is in its way, if there is one: any at all, or with
        *replaces* one that somebody is at work on.
        """
        ...

    async def forget(self, names: Sequence[RunName]) -> int:
        """Forget these runs, whoever is at work on them; return how many there were."""
        ...

    async def purge(self, before_ms: int) -> int:
        """Forget runs that nothing was written of since *before_ms*; return how many."""
        ...

    async def erase(self, owner: str) -> int:
        """Forget all runs of the key *owner*; return how many."""
        ...


def claimable(stored: Stored, claim: Claim) -> bool:
    """Return whether the run that was found is one that *claim* may take."""
    if stored.record.body != claim.record.body or stored.is_executing:
        return False
    return claim.again or stored.is_waiting or stored.standing.state == "failed"
