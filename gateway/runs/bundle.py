"""A run as a document that another gateway reads: with a hash over all of it. Pure.

The document has all that a run is, its dice too, so that it goes on elsewhere as it would have
here. It is to be kept as the answers in it are. The hash tells of accidents, not of who wrote it:
what is brought in belongs to whoever brings it, and is carried out by what their own key allows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gateway.context.memory import Remembered, remembered
from gateway.metering.routed import read
from gateway.policy.asked import fault_of
from gateway.policy.wishes import PREFIX
from gateway.runs.events import unpacked
from gateway.runs.forking import Name
from gateway.runs.identity import kept_headers
from gateway.stores.journal.records import (
    RunName,
    RunRecord,
    Sent,
    Standing,
    StepRecord,
    Stored,
    written,
)
from techniques.core.errors import RequestRejected, StreamBroken
from techniques.core.events import Choice, Relayed
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Fold

RUN: Final = "rel-run/1"
CHECKPOINT: Final = "agentpause-checkpoint/1"
_SORTED: Final = orjson.OPT_SORT_KEYS
_ADAPTERS: Final[dict[Any, TypeAdapter[Any]]] = {}
_LATEST_MS: Final = 10**13
_MOST: Final = 2**53
"""What the numbers of a run may come to together: they are added to, and added up, ever after."""
_MOST_TOKENS: Final = 2**40
_UNREADABLE: Final = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    RecursionError,
)
_Session = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00]*$")]
T = TypeVar("T")


def bad(message: str, param: str) -> RequestRejected:
    """Return what is told of what is no run that can be read."""
    return RequestRejected(message, code="invalid_bundle", param=param)


def bundle(stored: Stored, now_ms: int) -> JsonObject:
    """Return the document of a run, as it stands at *now_ms* of the epoch."""
    run = orjson.loads(written(stored.record))
    body = {
        "format": RUN,
        "exported_at": datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(),
        "run": {**run, "standing": orjson.loads(written(stored.standing))},
        "steps": [orjson.loads(written(step)) for step in stored.steps],
        "config_hash": stored.record.plan,
    }
    return {**body, "sha256": _hash(body)}


def brought(body: Mapping[str, Json], owner: str) -> Stored:
    """Return the run that ``bundle`` wrote, as one of the key *owner* that waits to go on.

    Raises:
        RequestRejected: It has another form, or has changed since it was written.
    """
    if body.get("sha256") != _hash({name: body[name] for name in body if name != "sha256"}):
        raise bad("The bundle is not as it was exported: sha256 does not match.", param="sha256")
    run = body.get("run")
    if not isinstance(run, dict) or not isinstance(body.get("steps"), list):
        raise bad("A bundle has a run and its steps.", param="run")
    record = _read(RunRecord, run, "run")
    standing = _read(Standing, run.get("standing"), "run.standing")
    steps = tuple(
        _read(StepRecord, step, f"steps.{place}") for place, step in enumerate(body["steps"])
    )
    _check(record, body, standing, steps)
    name = RunName(owner, record.name.run)
    record = replace(
        record,
        name=name,
        origin=None if record.keyed == name else record.keyed,
        sent=record.sent and _plain(record.sent),
        background=False,  # there may be one at work on it where it comes from
    )
    if standing.state == "executing":
        standing = replace(standing, state="interrupted", reason="imported")
    return Stored(record, standing, 0, 0, steps)


def _check(
    record: RunRecord, body: Mapping[str, Json], standing: Standing, steps: tuple[StepRecord, ...]
) -> None:
    _read(Name, record.name.run, "run.name")
    if record.session is not None:
        _read(_Session, record.session, "run.session")
    if not 0 <= record.created_ms < _LATEST_MS:
        raise bad("run.created_ms is no instant.", param="run.created_ms")
    if "\0" in "".join((record.body, *(step.path for step in steps))):
        raise bad("There is a NUL in a name.", param="steps")
    if body.get("config_hash") != record.plan:
        raise bad("config_hash is not that of the run.", param="config_hash")
    _routed(record.routed)
    if len({step.path for step in steps}) != len(steps):
        raise bad("Two steps have one path.", param="steps")
    _size(record, standing, *steps)
    _numbers(standing, *steps)
    _decided(standing.decided)
    _events(standing.answer, "run.standing.answer")
    for place, step in enumerate(steps):
        _events(step.events, f"steps.{place}.events")


def _size(*kept: RunRecord | Standing | StepRecord) -> None:
    """Check that all can be written down again."""
    try:
        for one in kept:
            written(one)
    except TypeError:
        raise bad("There is a number that is too large.", param="steps") from None


def _numbers(*kept: Standing | StepRecord) -> None:
    """Check that all that is counted is an amount, and every time an instant."""
    total = 0
    for one in kept:
        at = "run.standing" if isinstance(one, Standing) else "steps"
        for name in (field.name for field in fields(one)):
            is_time = name.endswith("_ms")
            for number in _ints(getattr(one, name)):
                total += 0 if is_time else number
                if number < 0 or (is_time and number >= _LATEST_MS) or total > _MOST:
                    raise bad(f"{at}: {name} cannot be so.", param=at)


def _ints(value: object) -> list[int]:
    parts = value if isinstance(value, tuple) else (value,)
    return [part for part in parts if isinstance(part, int)]


def _decided(decided: Mapping[str, str]) -> None:
    """Check that what was decided can be followed; a name that is not known is followed by none."""
    cut, at = decided.get("cut"), "run.standing.decided.cut"
    if cut is None:
        return
    try:
        remembered(cut)
    except (ValueError, TypeError, KeyError):
        raise bad(f"{at} is no cut of a conversation.", param=at) from None
    _read(Remembered, orjson.loads(cut), at)


def _routed(kept: str | None) -> None:
    """Check that a router's choice can be carried out, as far as it can be told here."""
    try:
        if kept is not None:
            read(kept)
    except ValueError:
        raise bad("run.routed is no choice of a router.", param="run.routed") from None


def _events(kept: str | None, at: str) -> None:
    """Check that *kept* are events, each as it is to be, and together an answer."""
    if kept is None:
        return
    folded = Fold()
    try:
        for event in unpacked(kept):
            _form(event)
            folded.feed(event)
        folded.reply()
    except (*_UNREADABLE, StreamBroken):
        raise bad(f"{at} are no events of an answer.", param=at) from None


def _form(event: Any) -> None:
    """Check *event*, and what is in it: what is already of a kind is not looked into.

    Raises:
        ValueError: A field of it cannot be so.
        TypeError: It cannot be where it is.
    """
    named = event._fields if isinstance(event, Relayed) else [one.name for one in fields(event)]
    values = {name: getattr(event, name) for name in named}
    if _adapter(type(event)).validate_python(values) != event:
        raise ValueError("a text for a number")
    if isinstance(event, Choice) and isinstance(event.event, Choice):
        raise TypeError("a choice within a choice")
    for value in values.values():
        if isinstance(value, int | float) and not 0 <= value <= _MOST_TOKENS:
            raise ValueError("no amount, and no place")
        if isinstance(value, Relayed) or is_dataclass(value):
            _form(value)


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what reads *kind*; to make one takes a while."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def _plain(sent: Sent) -> Sent:
    """Return *sent* with those of its headers that a request is kept with."""
    return replace(sent, headers=kept_headers(sent.headers))


class _State(BaseModel):
    """The state of a session of agentpause."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    session_id: Name
    step: int = Field(ge=0)
    messages: list[dict[str, Any]] = Field(min_length=1)
    idempotency_keys: list[str] = []
    total_tokens_used: int = Field(0, ge=0)
    extra: dict[str, Any] = {}
    estimator: dict[str, Any] | None = None


class _Checkpoint(BaseModel):
    format: Literal["agentpause-checkpoint/1"]
    exported_at: Any = None
    state: _State


def checkpoint(body: Mapping[str, Json], model: str | None) -> tuple[str, Sent, JsonObject]:
    """Return the session, the request and the rest that a checkpoint of agentpause has.

    The request is that of its next step: its messages, asked of *model*, else of the model that the
    checkpoint names in ``extra``.

    Raises:
        RequestRejected: It has another form, or nobody says which model is to be asked.
    """
    state = _read(_Checkpoint, body, "").state
    model = model or state.extra.get("model")
    if not isinstance(model, str):
        raise bad("Say which model is to go on with it: ?model=NAME", param="model")
    raw = orjson.dumps({"model": model, "messages": state.messages}).decode()
    rest = state.model_dump(exclude={"messages", "session_id"}, exclude_none=True)
    sent = Sent("openai_chat", raw, {f"{PREFIX}session": state.session_id})
    return state.session_id, sent, rest


def _read(kind: type[T], value: Json, at: str) -> T:
    try:
        found: T = _adapter(kind).validate_python(value)
    except ValidationError as error:
        fault = fault_of(error)
        param = ".".join(part for part in (at, fault.param) if part)
        raise bad(f"{at}.{fault}"[:500].lstrip("."), param=param) from None
    return found


def _hash(body: Mapping[str, Json]) -> str:
    return hashlib.sha256(orjson.dumps(body, option=_SORTED)).hexdigest()
