"""Observations as rows of the database, and back. Pure, but for the dice of the encryption."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

import orjson
from sqlalchemy import RowMapping

from router_service.contract import Features, ModelSpec, Observation, Vector
from router_service.groundwork.seal import Changed, KeyGone, Seal

MOST: Final = 2**63 - 1
"""The largest number that both databases hold."""

_TEXT: Final = 500
_MICRO: Final = 1_000_000
_OF_A_ROW: Final = b"row "
_SHAPED: Final = frozenset({"at", "features", "vector", "pool"})
_PLAIN: Final = tuple(name for name in Observation.model_fields if name not in _SHAPED)
"""The fields that are a column each, as they are."""

_NUMBERS: Final = tuple(
    name for name in _PLAIN if Observation.model_fields[name].annotation is not str
)


class Damaged(ValueError):
    """A row is not as it was written."""


class Unfit(ValueError):
    """It cannot be kept; the message says why."""


def instant(seconds: float) -> int:
    """Return *seconds* since the epoch as the database holds them.

    Raises:
        Unfit: They are no instant.
    """
    if not isfinite(seconds):
        raise Unfit("it was observed at no time")
    return max(0, min(round(min(seconds, MOST / _MICRO) * _MICRO), MOST))


def row_of(observed: Observation, seal: Seal) -> dict[str, Any]:
    """Return *observed* as its row, without a revision; its vector closed, if *seal* closes.

    Raises:
        Unfit: It cannot be kept.
    """
    row = {name: _kept(getattr(observed, name)) for name in _PLAIN}
    row["at"] = instant(observed.at)
    row["features"] = _written(observed.features)
    row["pool"] = pool_text(observed.pool)
    row["encoder"], row["vector"], row["sealed"] = "", None, ""
    if observed.vector is not None:
        row["encoder"] = _kept(observed.vector.encoder)
        row["vector"] = packed(observed.vector.values)
        if seal.closes:
            row["sealed"], row["vector"] = seal.closed(row["vector"], *_place(row))
    return row


def observation_of(row: RowMapping, seal: Seal) -> Observation:
    """Return what *row* was made of; without its vector, where that cannot be opened.

    Raises:
        Damaged: It was made of nothing.
    """
    values: dict[str, Any] = {name: row[name] for name in _PLAIN}
    if any(isinstance(values[name], str | bytes) for name in _NUMBERS):
        raise Damaged("a number is none")
    try:
        return Observation.model_construct(
            **values,
            at=row["at"] / _MICRO,
            features=_features(row["features"]),
            pool=pool_of(row["pool"]),
            vector=_vector(row, seal),
        )
    except (ValueError, TypeError, AttributeError, struct.error) as error:
        raise Damaged(str(error)) from error


def packed(values: Sequence[float]) -> bytes:
    """Return *values* as numbers of 16 bits.

    Raises:
        Unfit: One is too large for that.
    """
    try:
        return struct.pack(f"<{len(values)}e", *values)
    except (OverflowError, struct.error) as error:
        raise Unfit("a vector of unit length has no numbers like these") from error


def unpacked(kept: bytes) -> tuple[float, ...]:
    """Return the values that ``packed`` was given, as exactly as they were kept.

    Raises:
        Damaged: It was not.
    """
    values = struct.unpack(f"<{len(kept) // 2}e", kept)
    if not isfinite(sum(values)):
        raise Damaged("a vector has no numbers like these")
    return values


def pool_text(pool: Sequence[ModelSpec]) -> str:
    """Return *pool* as it is kept, and told apart from others by."""
    return orjson.dumps([spec.model_dump(exclude_defaults=True) for spec in pool]).decode()


def pool_of(text: str) -> tuple[ModelSpec, ...]:
    """Return the pool that ``pool_text`` was given."""
    return tuple(ModelSpec(**_known(spec, ModelSpec.model_fields)) for spec in orjson.loads(text))


def _vector(row: RowMapping, seal: Seal) -> Vector | None:
    kept = row["vector"]
    if kept is None:
        return None
    if row["sealed"]:
        try:
            kept = seal.opened(row["sealed"], kept, *_place(row))
        except (KeyGone, Changed):
            return None
    return Vector.model_construct(encoder=row["encoder"], values=unpacked(kept))


def _place(row: Mapping[str, Any] | RowMapping) -> tuple[bytes, bytes]:
    """Return what a row's vector is closed for: the row, and the encoder."""
    return _OF_A_ROW + row["id"].encode(), row["encoder"].encode()


def _features(text: str) -> Features:
    return Features(**_known(orjson.loads(text), Features.model_fields))


def _known(read: Mapping[str, Any], fields: Mapping[str, object]) -> dict[str, Any]:
    """Return what is known here of what was *read*: a newer release may have written it."""
    return {name: value for name, value in read.items() if name in fields}


def _written(features: Features) -> str:
    told = features.model_dump(exclude_defaults=True)
    if content := told.pop("content", {}):
        told["content"] = {_kept(name): it for name, it in content.items() if isfinite(it)}
    return orjson.dumps({name: _kept(value) for name, value in told.items()}).decode()


def _kept(value: Any) -> Any:
    """Return *value* as both databases can hold it."""
    if isinstance(value, str):
        whole = value[:_TEXT].encode("utf-8", "replace").decode()
        return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, int) and not isinstance(value, bool):
        return min(value, MOST)
    return value
