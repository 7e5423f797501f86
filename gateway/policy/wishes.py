"""What a caller may wish for beside the model: one table, read from headers and from the body.

``x-lockgate-NAME`` in a header and ``reliability: {NAME_WITH_UNDERSCORES: …}`` in the body mean
the same; the header wins. A name that is not in the table, or a value that it does not allow, is
an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Final, Literal, NoReturn, TypeAlias

import orjson

from techniques.core.errors import RequestRejected
from techniques.core.json import Json

PREFIX: Final = "x-lockgate-"
_BODY: Final = "reliability."
_IDEMPOTENCY: Final = "idempotency-key"
LONGEST_RUN: Final = 256
"""Characters of a run's name."""
_BELOW_RUNS: Final = ("/events", "/resume", "/cancel", "/fork", "/export")
_OTHER_NAMES: Final = {f"{PREFIX}session-id": f"{PREFIX}session"}
_LONGEST_NAME: Final = 64  # characters of a name that is unknown are told
_MOST_TEXTS: Final = 32
_MOST: Final = 1_000_000_000
"""Of a wish that is an amount; what is exact of ``1e900000`` would take minutes to write out."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one request asks for; None: nothing was said.

    ``max_cost_usd`` is dollars. ``ignored`` are names that this version reads but does not act on,
    ``said`` the headers and fields that wishes came in.
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
    ignored: tuple[str, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict, compare=False)

    def at(self, name: str) -> str:
        """Return the header, or the field of the body, in which the wish *name* was said."""
        return self.said.get(name, f"{PREFIX}{name}")


Reader: TypeAlias = Callable[[str, Json], Json]
"""From where a wish was said and its value to what it means; raises ``RequestRejected``."""


def _wrong(at: str, expected: str) -> NoReturn:
    raise RequestRejected(f"{at} must be {expected}.", code="invalid_wish", param=at)


def _word(at: str, value: Json) -> str:
    if not isinstance(value, str) or not value or len(value) > 256 or "\0" in value:
        _wrong(at, "a text of 1 to 256 characters, none of them NUL")
    return value


def is_run_name(text: str) -> bool:
    """Return whether a run may be called *text*: it has to fit a header, and an address of its own.

    Below its address ``/events`` and others are something else.
    """
    if text == "import" or text.endswith(_BELOW_RUNS):
        return False
    return 0 < len(text) <= LONGEST_RUN and text.isprintable()


def _run(at: str, value: Json) -> str:
    if not isinstance(value, str) or not is_run_name(value):
        below = ", ".join(_BELOW_RUNS)
        _wrong(at, f"a name of 1 to 256 printable characters that does not end in {below}")
    return value


def _choice(*words: str) -> Reader:
    def read(at: str, value: Json) -> str:
        if value not in words:
            _wrong(at, f"one of {', '.join(words)}")
        return str(value)

    return read


def _whole(least: int, most: int) -> Reader:
    def read(at: str, value: Json) -> int:
        text = str(value)
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
        if number is None or isinstance(value, bool) or not least <= number <= most:
            _wrong(at, f"a whole number from {least} to {most}")
        return number

    return read


def _amount(at: str, value: Json) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal(-1)
    if isinstance(value, bool) or not amount.is_finite() or not 0 <= amount <= _MOST:
        _wrong(at, f"a number from 0 to {_MOST}")
    return amount


def _names(at: str, value: Json) -> tuple[str, ...]:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(p and isinstance(p, str) for p in parts):
        _wrong(at, "a list of model names, separated by commas")
    return tuple(parts)


def _texts(at: str, value: Json) -> tuple[str, ...]:
    if isinstance(value, str) and value.startswith("["):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = None
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not 0 < len(texts) <= _MOST_TEXTS:
        _wrong(at, f"a text, or a list of 1 to {_MOST_TEXTS} texts")
    return tuple(_word(at, text) for text in texts)


def _object(at: str, value: Json) -> Mapping[str, Json]:
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = None
    if not isinstance(value, dict):
        _wrong(at, 'a JSON object such as {"num_samples": 5}')
    return value


def _truth(at: str, value: Json) -> bool:
    if value in (True, "1", "true"):
        return True
    if value in (False, "0", "false"):
        return False
    _wrong(at, "1 or 0")


@dataclass(frozen=True, slots=True)
class Wish:
    """How a wish's value is read, and what it means.

    With ``in_effect`` False, this version reads it but does not act on it.
    """

    read: Reader
    meaning: str
    in_effect: bool = True


_DAY_MS: Final = 86_400_000

TABLE: Final[Mapping[str, Wish]] = {
    "technique": Wish(_word, "`none`, `auto` or the name of a technique"),
    "params": Wish(_object, 'options of the technique: JSON such as `{"num_samples": 7}`'),
    "channels": Wish(
        _names,
        "further models, commas between: for techniques of several",
    ),
    "judge": Wish(_word, "the model that judges candidates"),
    "critic": Wish(_word, "the model that criticises drafts"),
    "max-cost-usd": Wish(_amount, "dollars that the whole run may cost"),
    "max-calls": Wish(_whole(1, 10_000), "upstream calls that the whole run may make"),
    "deadline-ms": Wish(_whole(1, _DAY_MS), "milliseconds until an answer must stand"),
    "on-error": Wish(
        _choice("fallback_baseline", "raise"),
        "when a technique fails: `fallback_baseline` or `raise`",
    ),
    "fallbacks": Wish(_names, "models to try in order when the first is down"),
    "strict": Wish(_truth, "`1`: what would be lost in translation is an error"),
    "session": Wish(_word, "groups the calls of one task; also read from `x-lockgate-session-id`"),
    "run": Wish(_run, "names this run; also read from `Idempotency-Key`"),
    "tags": Wish(_word, "free words, kept with the request's record"),
    "expose": Wish(
        _choice("final", "trace", "optimistic"),
        "what is shown of a technique at work: `final`, nothing; `trace`, what each of its calls "
        "writes; `optimistic`, its best answer so far",
    ),
    "n-policy": Wish(
        _choice("native", "rank", "repeat"),
        "how a technique serves `n` above 1: `native`, not at all; `rank`, the best answers that "
        "differ; `repeat`, by `n` runs",
    ),
    "usage-mode": Wish(
        _choice("answer", "total"),
        "what `usage` counts: `answer`, or `total`, all calls; `usage.lockgate` counts the other",
    ),
    "lambda": Wish(_amount, "the router's cost knob, 0 for quality", in_effect=False),
    "on-limit": Wish(
        _choice("hold", "suspend", "reject"),
        "at a rate limit: `hold` waits; `suspend` puts the run away, to go on when it is asked for "
        "again; `reject` answers 429 at once",
    ),
    "max-wait-ms": Wish(_whole(0, _DAY_MS), "milliseconds to be held at a rate limit, at most"),
    "priority": Wish(_whole(0, 9), "0 to 9, 0 first, as far as the key allows"),
    "pin": Wish(
        _texts,
        "a text, or a JSON list of some: messages that have one are never cut from a conversation",
    ),
    "reuse": Wish(
        _choice("off", "read", "on", "refresh"),
        "use of stored answers: `off`, `read`, `on`, `refresh`",
        in_effect=False,
    ),
    "reuse-ttl": Wish(_word, "how long a stored answer may be used", in_effect=False),
    "reuse-namespace": Wish(_word, "which stored answers may be used", in_effect=False),
}

_FIELDS: Final = frozenset(field.name for field in fields(Wishes)) - {"ignored", "said"}
NOTHING: Final = Wishes()


def read(headers: Mapping[str, str], body: Mapping[str, Json]) -> Wishes:
    """Return the wishes in *headers* and in the body's ``reliability`` object *body*.

    Raises:
        RequestRejected: One has no such name, or no such value.
    """
    given = {name.replace("_", "-"): (f"{_BODY}{name}", value) for name, value in body.items()}
    for name, value in headers.items():
        if name.startswith(PREFIX):
            given[_OTHER_NAMES.get(name, name).removeprefix(PREFIX)] = name, value
    if "run" not in given and (key := headers.get(_IDEMPOTENCY)) is not None:
        given["run"] = _IDEMPOTENCY, key
    if not given:
        return NOTHING
    return _read(given)


def _read(given: Mapping[str, tuple[str, Json]]) -> Wishes:
    wishes: dict[str, Json] = {}
    ignored: list[str] = []
    for name, (at, value) in given.items():
        wish = TABLE.get(name) or _unknown(name, at)
        meant = wish.read(at, value)
        if not wish.in_effect:
            ignored.append(name)
        elif (own := name.replace("-", "_")) in _FIELDS:
            wishes[own] = meant
    said = {name: at for name, (at, _) in given.items()}
    return Wishes(**wishes, ignored=tuple(ignored), said=said)


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
