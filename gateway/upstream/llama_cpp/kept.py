"""What is said of the contents of a slot that were kept: of whom, made by what, and how large."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

import orjson

from gateway.upstream.llama_cpp.told import Props

Reason: TypeAlias = Literal[
    "no_checkpoint",
    "no_kv",
    "kv_file_missing",
    "unreachable",
    "model_mismatch",
    "refused",
    "unreadable",
    "slot_missing",
    "not_worth_it",
    "too_small",
    "slot_changed",
    "folder_mismatch",
    "folder_failed",
    "model_unseen",
    "disk_short",
    "tenant_forbidden",
    "no_time",
    "no_slot",
    "off",
]
"""Why nothing was saved or restored; the call then goes on, and its prompt is computed anew."""

REASONS: Final[tuple[Reason, ...]] = get_args(Reason)


class Degraded(Exception):
    """Nothing was saved or restored; ``reason`` says why."""

    def __init__(self, reason: Reason, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason: Reason = reason


class Session(NamedTuple):
    """A task of one tenant: the name of its key, and the session that the caller named."""

    tenant: str
    id: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What made the contents of a slot: only the very same can go on with them."""

    path: str
    size: int
    mtime_ns: int
    context: int
    build: str


@dataclass(frozen=True, slots=True)
class Record:
    """What was kept of a session. ``file`` None: it was deleted to make room.

    ``saved_at`` and ``consumed_at`` are seconds since the epoch; ``consumed_at`` None: it was not
    restored since.
    """

    file: str | None
    fingerprint: Fingerprint
    tokens: int
    size: int
    save_s: float
    saved_at: float
    consumed_at: float | None = None

    def packed(self) -> bytes:
        """Return it as it is written."""
        return orjson.dumps(asdict(self))


def unpacked(raw: bytes) -> Record | None:
    """Return the record that *raw* is, None if it is none."""
    try:
        told = orjson.loads(raw)
        return Record(**{**told, "fingerprint": Fingerprint(**told["fingerprint"])})
    except (ValueError, TypeError, KeyError):
        return None


def fingerprint(props: Props, model: Path) -> Fingerprint:
    """Return what marks the server that says *props*, whose model is seen here at *model*.

    Raises:
        Degraded: It is not seen, so another under the same name would not be noticed.
    """
    try:
        seen = model.stat()
    except OSError as error:
        raise Degraded("model_unseen", str(error)) from error
    return Fingerprint(props.model, seen.st_size, seen.st_mtime_ns, props.context, props.build)


def digest(*words: str) -> str:
    """Return 32 hex digits that stand for *words*, and for no other list of words."""
    return sha256(orjson.dumps(words)).hexdigest()[:32]
