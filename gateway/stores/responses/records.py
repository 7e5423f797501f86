"""A response as it is kept, and how it is written so that only who has the key reads it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias, TypeGuard

import orjson

from router_service.groundwork import seal
from techniques.core.json import Json, JsonObject

State: TypeAlias = Literal[
    "queued", "in_progress", "completed", "incomplete", "failed", "cancelling", "cancelled"
]
PENDING: Final[tuple[State, ...]] = ("queued", "in_progress", "cancelling")
"""States of a response that has not ended; ``cancelling`` is told to who is at work on it."""

_MARK: Final = "sealed:1:"
_PURPOSE: Final = b"lockgate responses"


_LONGEST: Final = 256


def is_id(value: Json) -> TypeGuard[str]:
    """Return whether *value* can be an id here: databases take no NUL, and index no long text."""
    return isinstance(value, str) and len(value) <= _LONGEST and "\0" not in value


class ResponseSealed(Exception):
    """What is kept of a response cannot be opened here."""


class ResponseName(NamedTuple):
    """A response: the key whose it is, "" where there are none, and its id."""

    owner: str
    id: str


@dataclass(frozen=True, slots=True)
class Response:
    """A response that is kept, with its own input. Times are milliseconds of the epoch.

    ``parent`` is the id of the one that it goes on with; ``object`` is what clients are told.
    """

    name: ResponseName
    parent: str | None
    state: State
    created_ms: int
    object: JsonObject
    input: Sequence[JsonObject] = ()
    background: bool = False
    used_ms: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is to come."""
        return self.state not in PENDING

    @property
    def output(self) -> Sequence[JsonObject]:
        """The items of the answer, as far as there is one."""
        output: Json = self.object.get("output")
        return [item for item in output if isinstance(item, dict)] if output else []


class Cover:
    """Writes what is kept of a response, closed with the first of *keys* if there is one."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._seal = seal.Seal(keys, _PURPOSE)

    def closed(self, response: Response) -> str:
        """Return the record of *response*."""
        plain = orjson.dumps([response.object, list(response.input)])
        if not self._seal.closes:
            return plain.decode()
        place = _place(response.name)
        named, closed = self._seal.closed(plain, place, place)
        return f"{_MARK}{named}:{b64encode(closed).decode()}"

    def opened(self, name: ResponseName, record: str) -> tuple[JsonObject, list[JsonObject]]:
        """Return the object and the input that ``closed`` wrote.

        Raises:
            ResponseSealed: The key is not here, or it is not what was closed.
        """
        response, said = orjson.loads(self._plain(name, record))
        return response, said

    def _plain(self, name: ResponseName, record: str) -> bytes | str:
        if not record.startswith(_MARK):
            return record
        named, _, packed = record.removeprefix(_MARK).partition(":")
        place = _place(name)
        try:
            return self._seal.opened(named, b64decode(packed, validate=True), place, place)
        except seal.KeyGone as gone:
            raise ResponseSealed(
                f"The response {name.id} is encrypted with a key that is not in"
                " journal.encryption any more."
            ) from gone
        except (seal.Changed, ValueError) as error:
            raise ResponseSealed(
                f"What is kept of the response {name.id} has changed since it was encrypted."
            ) from error


def _place(name: ResponseName) -> bytes:
    return b"response " + orjson.dumps([*name])
