"""A run that begins where another had come to, and goes its own way from there. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

import orjson
from pydantic import AfterValidator, Field

from gateway.policy.wished import is_run_name
from gateway.policy.wishes import PREFIX
from gateway.stores.journal.records import RunName, RunRecord, Sent, StepRecord, Stored
from router_service.groundwork.section import Section
from techniques.core.errors import RequestRejected
from techniques.core.json import Json


def _checked(name: str) -> str:
    if not is_run_name(name):
        raise ValueError("no name of a run")
    return name


Name = Annotated[str, AfterValidator(_checked)]
_WISHES: Final = "reliability"


class Overrides(Section):
    """What is other of the request of a fork.

    ``body`` has fields of the request, ``wishes`` those of the ``x-lockgate-`` headers, by the name
    after that; null takes one away.
    """

    model: str | None = None
    technique: str | None = None
    params: dict[str, Any] | None = None
    body: dict[str, Any] = Field(default_factory=dict)
    wishes: dict[str, Any] = Field(default_factory=dict)


class ForkBody(Section):
    """How a run is to be forked.

    ``from_step`` is the path or the key of a step, or its place among those that have ended, 1 for
    the first: it is made anew, and so is all that ended after it. None: all that ended is shared.
    """

    id: Name | None = None
    from_step: str | Annotated[int, Field(ge=1)] | None = None
    overrides: Overrides = Overrides()


def shared(parent: Stored, from_step: str | int | None) -> tuple[StepRecord, ...]:
    """Return the steps of *parent* that a fork shares: those that ended before *from_step*.

    A call that was called off by then stays so.

    Raises:
        RequestRejected: There is no such step.
    """
    cut = _cut(parent.steps, from_step)
    of = tuple(parent.record.keyed)
    return tuple(
        replace(step, of=step.of or (of[0], of[1]))
        for step in parent.steps
        if 0 < step.seq < cut or (step.state == "superseded" and step.after < cut)
    )


def _cut(steps: Sequence[StepRecord], from_step: str | int | None) -> int:
    """Return the place among the ended steps from which on nothing is shared."""
    ended = sorted(step.seq for step in steps if step.seq)
    beyond = ended[-1] + 1 if ended else 1
    match from_step:
        case None:
            return beyond
        case int():
            if from_step <= len(ended):
                return ended[from_step - 1]
        case str():
            for step in steps:
                if from_step in (step.path, step.key):
                    return step.seq or beyond
    raise RequestRejected(f"The run has no step {str(from_step)[:128]!r}.", param="from_step")


def changed(sent: Sent, overrides: Overrides) -> Sent:
    """Return the request with what is other of it; its very bytes if nothing is."""
    wishes = dict(overrides.wishes)
    if overrides.technique is not None:  # the options of another technique say nothing of this one
        wishes = {"params": None, **wishes, "technique": overrides.technique}
    if overrides.params is not None:
        wishes["params"] = overrides.params
    fields = dict(overrides.body)
    if overrides.model is not None:
        fields["model"] = overrides.model
    if not fields and not wishes:
        return sent
    headers, body = dict(sent.headers), orjson.loads(sent.raw) | fields
    for name, value in wishes.items():
        _wish(headers, body, name, value)
    if body.get(_WISHES) == {}:
        del body[_WISHES]
    kept = {name: value for name, value in body.items() if value is not None or name not in fields}
    return replace(sent, raw=orjson.dumps(kept).decode(), headers=headers)


def _wish(headers: dict[str, str], body: dict[str, Json], name: str, value: Json) -> None:
    """Say a wish in *headers*, and take it out of where it was said."""
    if name == "run":
        raise RequestRejected("A fork is named by id.", param="overrides.wishes.run")
    headers.pop(f"{PREFIX}{name}", None)
    said = body.get(_WISHES)
    if isinstance(said, Mapping):
        own = name.replace("-", "_")
        body[_WISHES] = {one: it for one, it in said.items() if one != own}
    if value is not None:
        headers[f"{PREFIX}{name}"] = value if isinstance(value, str) else _text(value)


def _text(value: Json) -> str:
    return orjson.dumps(value).decode()


def forked(parent: RunRecord, name: RunName, now_ms: int) -> RunRecord:
    """Return the record of a fork that does as *parent* does: its dice fall the same."""
    return replace(
        parent,
        name=name,
        named=True,
        background=False,
        created_ms=now_ms,
        parent=parent.name.run,
        origin=None,
    )
