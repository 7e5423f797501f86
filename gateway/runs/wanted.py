"""What run is wanted, and how runs are kept."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex

from gateway.runs.questions import Questions
from gateway.runs.terms import Ambiguous, Terms
from gateway.stores.journal.records import RunName, RunRecord, Sent
from pricing.record import record
from techniques.core.channel import EventStream


@record(frozen=True, slots=True)
class RunPolicy:
    """How runs are kept.

    Attributes:
        lease_s: How long a run is still held whose owner says nothing.
        linger_s: How long calls under way may go on when their client has left or a limit has put
            the run away.
        retention_s: How long a run is kept after its last word.
        ambiguous: What is done about a step of which nobody knows what came of it.
        continues: Whether an answer that broke off is gone on with where its model can.
        attach_s: How long an answer is waited for that another replica is at work on.
        questions: How somebody is asked about such a step; None: nobody is.
    """

    lease_s: float = 15.0
    linger_s: float = 30.0
    retention_s: float = 86_400.0
    ambiguous: Ambiguous = "retry"
    attach_s: float = 55.0
    continues: bool = False
    questions: Questions | None = None

    @property
    def lease_ms(self) -> int:
        """``lease_s`` in milliseconds."""
        return int(self.lease_s * 1000)

    def terms(self, ambiguous: Ambiguous | None, clock: Callable[[], int]) -> Terms:
        """Return how a run is carried out of whose doubtful steps *ambiguous* was said."""
        does = ambiguous or self.ambiguous
        return Terms(does, self.linger_s, self.continues, clock, self.questions)


@record(frozen=True, slots=True)
class Wanted:
    """What is to be carried out, and how it is asked for.

    Attributes:
        owner: The key whose it is, "" where there are none.
        run: The name that its client gave it, None if it gave none.
        request_id: The name it has otherwise.
        body: A hash of what is asked.
        plan: A hash of what is to be done.
        technique: What is carried out.
        model: The operator's name of the model.
        provider: ... and of the account.
        session: The session that it belongs to.
        returns: Whether its client is sure to come back for it.
        retried: Whether its client says that it asks again.
        background: Whether it goes on without anybody waiting.
        force: Whether it goes on although what is to be done has changed, or it was cancelled.
        ambiguous: What is done about a step nobody knows the end of; None: the usual.
        sent: The request.
        routed: What a router chose, None if none was to.
        again: Makes what is wanted of what a router chose before, and has that be carried out;
            None where it cannot be any more.
    """

    owner: str
    run: str | None
    request_id: str
    body: str
    plan: str
    technique: str = "none"
    model: str = ""
    provider: str = ""
    session: str | None = None
    returns: bool = False
    retried: bool = False
    background: bool = False
    force: bool = False
    ambiguous: Ambiguous | None = None
    sent: Sent | None = None
    routed: str | None = None
    again: Callable[[str], Wanted | None] | None = None

    def chosen(self, kept: str | None) -> Wanted:
        """Return what is wanted of a run in which a router's choice was *kept*: just that."""
        if kept is None or kept == self.routed or self.again is None:
            return self
        return self.again(kept) or self

    @property
    def name(self) -> RunName:
        """What it is called if it is new."""
        return RunName(self.owner, self.run or self.request_id)

    def record(self, created_ms: int) -> RunRecord:
        """Return the record of it as a new run, with dice of its own."""
        return RunRecord(
            self.name,
            body=self.body,
            plan=self.plan,
            secret=token_hex(16),
            created_ms=created_ms,
            session=self.session,
            named=self.run is not None,
            technique=self.technique,
            model=self.model,
            background=self.background,
            sent=self.sent,
            routed=self.routed,
        )


@record(frozen=True, slots=True)
class Begun:
    """A run as it was found or begun: its name, its answer, and whether that was there already."""

    run: str
    answer: EventStream
    over: bool = False
