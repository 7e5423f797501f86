"""Closes texts so that only who has the key reads them, each to one place: AES-256-GCM.

Each run has a key of its own, which is derived from the operator's. So the random nonces of one
key stay few, and what is closed for one run opens for no other.

Source: NIST SP 800-38D, sections 8.2.2 and 8.3, on how many random nonces a key may have.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from secrets import token_bytes
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from gateway.stores.journal.records import JournalLost, RunName

if TYPE_CHECKING:  # it is loaded where there is a key
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_MARK: Final = "sealed:1:"
_NONCE: Final = 12
_ID: Final = b"lockgate journal: name of a key"
_OF_A_RUN: Final = b"lockgate journal: key of a run "


class JournalSealed(JournalLost):
    """What the journal has of a run cannot be opened here."""


class Place(NamedTuple):
    """What a text belongs to: a run, and *what* of it."""

    name: RunName
    what: str

    def packed(self) -> bytes:
        """Return what tells this place from all others."""
        return orjson.dumps([*self.name, self.what])


class Seal:
    """Closes with the first of *keys*, each of 32 bytes, and opens what any of them has closed."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._keys = {_named(key): key for key in keys}
        self._first = next(iter(self._keys), "")

    @property
    def closes(self) -> bool:
        """Whether there is a key at all."""
        return bool(self._keys)

    def closed(self, text: str, place: Place) -> str:
        """Return *text* closed for *place*."""
        nonce = token_bytes(_NONCE)
        sealed = _cipher(self._keys[self._first], place.name).encrypt(
            nonce, text.encode(), place.packed()
        )
        return f"{_MARK}{self._first}:{b64encode(nonce + sealed).decode()}"

    def opened(self, text: str, place: Place) -> str:
        """Return what ``closed`` was given for *place*.

        Raises:
            JournalSealed: The key is not here, or it is not what was closed for this place.
        """
        named, _, packed = text.removeprefix(_MARK).partition(":")
        key = self._keys.get(named)
        if key is None:
            raise JournalSealed(
                f"The run {place.name.run} is encrypted with a key that is not in"
                " journal.encryption any more."
            )
        from cryptography.exceptions import InvalidTag

        try:
            kept = b64decode(packed, validate=True)
            opened = _cipher(key, place.name).decrypt(kept[:_NONCE], kept[_NONCE:], place.packed())
        except (InvalidTag, ValueError) as error:
            raise JournalSealed(
                f"What is kept of the run {place.name.run} has changed since it was encrypted."
            ) from error
        return opened.decode()


def is_closed(text: str) -> bool:
    """Return whether a ``Seal`` has closed *text*."""
    return text.startswith(_MARK)


def _cipher(key: bytes, name: RunName) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(hmac.digest(key, _OF_A_RUN + orjson.dumps([*name]), "sha256"))


def _named(key: bytes) -> str:
    return hmac.digest(key, _ID, "sha256").hex()[:8]
