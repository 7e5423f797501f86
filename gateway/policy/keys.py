"""Who calls: client keys, kept and compared as hashes only."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from gateway.clock import utc_now
from gateway.context.rules import Rules
from gateway.metering.caps import Caps
from gateway.policy.budgets import Budget
from gateway.policy.nearby import must_be_near
from techniques.core.errors import Unauthenticated

NOT_VALID: Final = "This API key is not valid."

_BLOCK = 64
_KIND: Final = "hmac-sha256:"
_BEARER = re.compile(r"bearer\s+(\S+)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """The key behind a request, and what it may do. None in a list: everything.

    ``name`` is None when the gateway is open. ``budgeted`` keys may not use models whose price is
    unknown. ``budgets`` are its own and its team's; all of them hold. ``rpm``, ``tpm`` and
    ``concurrency`` are its own limits, None: no limit. ``weight`` is its share where it waits,
    ``context`` what is done with its long conversations, None: as with all. Runs of a key that is
    ``kept_apart`` are kept in the memory of the process alone. From ``expires`` on it is refused;
    what was begun before goes on.
    """

    name: str | None = None
    models: frozenset[str] | None = None
    techniques: frozenset[str] | None = None
    caps: Caps = field(default_factory=Caps)
    deadline_ms: int | None = None
    budgeted: bool = False
    priority: int = 5
    team: str | None = None
    weight: float = 1.0
    rpm: int | None = None
    tpm: int | None = None
    concurrency: int | None = None
    budgets: tuple[Budget, ...] = ()
    context: Rules | None = None
    kept_apart: bool = False
    expires: datetime | None = None

    def has_expired(self, now: datetime) -> bool:
        """Return whether it is refused at *now*."""
        return self.expires is not None and self.expires <= now

    @property
    def pool(self) -> str:
        """The pool of its own windows: that of its team, for the team's budgets are there too."""
        return f"key:{self.name or ''}" if self.team is None else f"team:{self.team}"


OPEN = Caller()
"""Whoever calls a gateway that has no keys."""


def still_valid(caller: Caller, now: Callable[[], datetime]) -> Caller:
    """Return *caller*, whose key is one of ours.

    Raises:
        Unauthenticated: It has expired.
    """
    if caller.expires is not None and caller.has_expired(now()):
        raise Unauthenticated(
            f"This API key expired at {caller.expires:%Y-%m-%dT%H:%M:%SZ}: ask for another.",
            code="api_key_expired",
        )
    return caller


def digest(secret: str, key: str) -> str:
    """Return how *key* is kept: ``hmac-sha256:`` and 64 hex digits."""
    return hashed(hmac.digest(secret.encode(), key.encode(), "sha256"))


class Door(Protocol):
    """Tells who calls."""

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return who calls, by ``authorization: Bearer`` or ``x-api-key``.

        Raises:
            Unauthenticated: There is no key, none of ours, or one that has expired.
            Unavailable: It cannot be told now.
        """
        ...

    def named(self, name: str | None) -> Caller | None:
        """Return whose key is called *name*, None if there is no such key any more.

        One that has expired is there.
        """
        ...


class KeyRing:
    """Client keys, found by their hash: a look-up tells nothing of a key by its time."""

    def __init__(
        self,
        secret: str,
        callers: Iterable[tuple[str, Caller]] = (),
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._keyed = _Keyed(secret.encode())
        self._now = now
        self._callers: dict[bytes, Caller] = {}
        self._names: dict[str | None, bytes] = {}
        for hashed, caller in callers:
            self.put(hashed, caller)

    def __len__(self) -> int:
        """Return how many keys there are."""
        return len(self._callers)

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return who calls.

        Raises:
            Unauthenticated: There is no key, none of ours, or one that has expired.
        """
        caller = self._callers.get(self.digest_in(headers))
        if caller is None:
            raise Unauthenticated(NOT_VALID)
        return still_valid(caller, self._now)

    def digest_in(self, headers: Mapping[str, str]) -> bytes:
        """Return the hash of the key in *headers*.

        Raises:
            Unauthenticated: There is no key.
        """
        key = _key(headers)
        if key is None:
            raise Unauthenticated(
                "No API key was given: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'.",
                code="missing_api_key",
            )
        return self._keyed.digest(key.encode("latin-1"))

    def find(self, digest: bytes) -> Caller | None:
        """Return the caller whose key has this hash, None if there is none."""
        return self._callers.get(digest)

    def named(self, name: str | None) -> Caller | None:
        """Return whose key is called *name*, None if there is no such key."""
        digest = self._names.get(name)
        return None if digest is None else self._callers[digest]

    def put(self, hashed: str, caller: Caller) -> None:
        """Let in who has the key of this hash."""
        self.remove(hashed)
        self._callers[_raw(hashed)] = caller
        self._names[caller.name] = _raw(hashed)

    def remove(self, hashed: str) -> None:
        """Do not let in any more who has the key of this hash."""
        digest = _raw(hashed)
        gone = self._callers.pop(digest, None)
        if gone is not None and self._names.get(gone.name) == digest:
            del self._names[gone.name]


def hashed(digest: bytes) -> str:
    """Return *digest* as it is kept."""
    return f"{_KIND}{digest.hex()}"


def _raw(hashed: str) -> bytes:
    return bytes.fromhex(hashed.removeprefix(_KIND))


class _Keyed:
    """HMAC-SHA-256 with one secret, set up once: ``hmac.digest`` does that for each message anew.

    Source: RFC 2104, section 4.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) > _BLOCK:
            secret = hashlib.sha256(secret).digest()
        block = secret.ljust(_BLOCK, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def digest(self, message: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


class OpenDoor:
    """No keys at all: everyone on this machine is let in."""

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return the caller without a name.

        Raises:
            Denied: It is a page from elsewhere.
        """
        must_be_near(headers)
        return OPEN

    def named(self, name: str | None) -> Caller | None:
        """Return the caller without a name."""
        return OPEN if name is None else None


def _key(headers: Mapping[str, str]) -> str | None:
    """Return the key in *headers*; ``authorization`` wins if both are there."""
    if authorization := headers.get("authorization"):
        match = _BEARER.fullmatch(authorization)
        if match:
            return match[1]
    return headers.get("x-api-key") or None
