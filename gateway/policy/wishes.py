"""What a caller may wish for beside the model: one table, read from headers and from the body.

``x-lockgate-NAME`` in a header and ``reliability: {NAME_WITH_UNDERSCORES: …}`` in the body mean
the same; the header wins. A name that is not in the table, or a value that it does not allow, is
an error that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from decimal import Decimal
from difflib import get_close_matches
from typing import Final, Literal, NoReturn

from gateway.policy.wished import (
    Reader,
    amount,
    choice,
    json_object,
    label,
    names,
    run_name,
    texts,
    truth,
    weight,
    whole,
    word,
)
from pricing.record import record
from techniques.core.errors import RequestRejected
from techniques.core.events import Warned
from techniques.core.json import Json

PREFIX: Final = "x-lockgate-"
_BODY: Final = "reliability."
_IDEMPOTENCY: Final = "idempotency-key"
_OTHER_NAMES: Final = {f"{PREFIX}session-id": f"{PREFIX}session"}
_LONGEST_NAME: Final = 64  # characters of a name that is unknown are told


@record(frozen=True, slots=True)
class Wishes:
    """What one request asks for; None: nothing was said.

    ``max_cost_usd`` is dollars. ``ignored`` are names that this version reads but does not act on,
    ``said`` the headers and fields that wishes came in, ``warnings`` are about how they were said.
    """

    technique: str | None = None
    params: Mapping[str, Json] | None = None
    channels: tuple[str, ...] | None = None
    judge: str | None = None
    critic: str | None = None
    max_cost_usd: Decimal | None = None
    max_calls: int | None = None
    deadline_ms: int | None = None
    on_error: str | None = None
    session: str | None = None
    run: str | None = None
    fallbacks: tuple[str, ...] | None = None
    strict: bool | None = None
    tags: str | None = None
    expose: str | None = None
    usage_mode: str | None = None
    n_policy: str | None = None
    on_limit: Literal["hold", "suspend", "reject"] | None = None
    max_wait_ms: int | None = None
    priority: int | None = None
    pin: tuple[str, ...] | None = None
    lambda_: float | None = None
    category: str | None = None
    explore: bool | None = None
    retries: int | None = None
    ignored: tuple[str, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict, compare=False)
    warnings: tuple[Warned, ...] = ()

    def at(self, name: str) -> str:
        """Return the header, or the field of the body, in which the wish *name* was said."""
        return self.said.get(name, f"{PREFIX}{name}")


@record(frozen=True, slots=True)
class Wish:
    """How a wish's value is read, and what it means.

    With ``in_effect`` False, this version reads it but does not act on it.
    """

    read: Reader
    meaning: str
    in_effect: bool = True


_DAY_MS: Final = 86_400_000

TABLE: Final[Mapping[str, Wish]] = {
    "technique": Wish(word, "`none`, `auto` or the name of a technique"),
    "params": Wish(json_object, 'options of the technique: JSON such as `{"num_samples": 7}`'),
    "channels": Wish(
        names,
        "further models, commas between: for techniques of several",
    ),
    "judge": Wish(word, "the model that judges candidates"),
    "critic": Wish(word, "the model that criticises drafts"),
    "max-cost-usd": Wish(amount, "dollars that the whole run may cost"),
    "max-calls": Wish(whole(1, 10_000), "upstream calls that the whole run may make"),
    "deadline-ms": Wish(whole(1, _DAY_MS), "milliseconds until an answer must stand"),
    "on-error": Wish(
        choice("fallback_baseline", "raise"),
        "when a technique fails: `fallback_baseline` or `raise`",
    ),
    "fallbacks": Wish(names, "models to try in order when the first is down"),
    "retries": Wish(
        whole(0, 100), "upstream attempts after the first, as far as the configuration allows"
    ),
    "strict": Wish(truth, "`1`: what would be lost in translation is an error"),
    "session": Wish(word, "groups the calls of one task; also read from `x-lockgate-session-id`"),
    "run": Wish(run_name, "names this run; also read from `Idempotency-Key`"),
    "tags": Wish(word, "free words, kept with the request's record"),
    "expose": Wish(
        choice("final", "trace", "optimistic"),
        "what is shown of a technique at work: `final`, nothing; `trace`, what each of its calls "
        "writes; `optimistic`, its best answer so far",
    ),
    "n-policy": Wish(
        choice("native", "rank", "repeat"),
        "how a technique serves `n` above 1: `native`, not at all; `rank`, the best answers that "
        "differ; `repeat`, by `n` runs",
    ),
    "usage-mode": Wish(
        choice("answer", "total"),
        "what `usage` counts: `answer`, or `total`, all calls; `usage.lockgate` counts the other",
    ),
    "lambda": Wish(
        weight,
        "for `auto`: how many points of quality the cost of one more plain call must buy; 0: cost "
        "is no object, 1: balanced, 5: frugal",
    ),
    "category": Wish(label, "for `auto`: what the request is about, in a word of your own"),
    "explore": Wish(truth, "for `auto`: `0`, nothing is tried out with this request"),
    "on-limit": Wish(
        choice("hold", "suspend", "reject"),
        "at a rate limit: `hold` waits; `suspend` puts the run away, to go on when it is asked for "
        "again; `reject` answers 429 at once",
    ),
    "max-wait-ms": Wish(whole(0, _DAY_MS), "milliseconds to be held at a rate limit, at most"),
    "priority": Wish(whole(0, 9), "0 to 9, 0 first, as far as the key allows"),
    "pin": Wish(
        texts,
        "a text, or a JSON list of some: messages that have one are never cut from a conversation",
    ),
    "reuse": Wish(
        choice("off", "read", "on", "refresh"),
        "use of stored answers: `off`, `read`, `on`, `refresh`",
        in_effect=False,
    ),
    "reuse-ttl": Wish(word, "how long a stored answer may be used", in_effect=False),
    "reuse-namespace": Wish(word, "which stored answers may be used", in_effect=False),
}

_FIELDS: Final = frozenset(field.name for field in fields(Wishes)) - {"ignored", "said", "warnings"}
_KEYWORDS: Final = {"lambda": "lambda_"}
NOTHING: Final = Wishes()


def read(headers: Mapping[str, str], body: Mapping[str, Json]) -> Wishes:
    """Return the wishes in *headers* and in the body's ``reliability`` object *body*.

    Raises:
        RequestRejected: One has no such name, or no such value.
    """
    return meant(given(headers, body))


def given(headers: Mapping[str, str], body: Mapping[str, Json]) -> dict[str, tuple[str, Json]]:
    """Return by the names of wishes where each was said, and as what."""
    given = {name.replace("_", "-"): (f"{_BODY}{name}", value) for name, value in body.items()}
    for name, value in headers.items():
        if name.startswith(PREFIX):
            given[_OTHER_NAMES.get(name, name).removeprefix(PREFIX)] = name, value
    if "run" not in given and (key := headers.get(_IDEMPOTENCY)) is not None:
        given["run"] = _IDEMPOTENCY, key
    return given


def meant(given: Mapping[str, tuple[str, Json]], warnings: tuple[Warned, ...] = ()) -> Wishes:
    """Return what is wished for by what was *given*, with *warnings* about it.

    Raises:
        RequestRejected: There is no such name, or no such value.
    """
    if not given and not warnings:
        return NOTHING
    wishes: dict[str, Json] = {}
    ignored: list[str] = []
    for name, (at, value) in given.items():
        wish = TABLE.get(name) or _unknown(name, at)
        meant = wish.read(at, value)
        if not wish.in_effect:
            ignored.append(name)
        elif (own := _KEYWORDS.get(name, name.replace("-", "_"))) in _FIELDS:
            wishes[own] = meant
    said = {name: at for name, (at, _) in given.items()}
    return Wishes(**wishes, ignored=tuple(ignored), said=said, warnings=warnings)


def _unknown(name: str, at: str) -> NoReturn:
    at = at[: _LONGEST_NAME + len(PREFIX)]
    if name == "dry-run":
        raise RequestRejected(f"{at} is not available yet.", param=at)
    known = {wish.replace("-", "_") if at.startswith(_BODY) else wish: wish for wish in TABLE}
    near = get_close_matches(name[:_LONGEST_NAME], TABLE, 1)
    meant = next((f" Did you mean {one}?" for one, wish in known.items() if wish in near), "")
    raise RequestRejected(
        f"There is no {at}; there are {', '.join(known)}.{meant}", code="unknown_wish", param=at
    )
