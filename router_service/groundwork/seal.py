"""Closes bytes so that only who has the key reads them, each to one place: AES-256-GCM.

Each thing that is closed has a key of its own, which is derived from the operator's. So the random
nonces of one key stay few, and what is closed for one thing opens for no other.

Source: NIST SP 800-38D, sections 8.2.2 and 8.3, on how many random nonces a key may have.
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from collections.abc import Sequence
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # it is loaded where there is a key
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE: Final = 12
_BYTES: Final = 32
_HEX: Final = 64


class KeyGone(Exception):
    """What is closed was closed with a key that is not here."""


class Changed(Exception):
    """It is not what was closed, or not for this place."""


class Seal:
    """Closes with the first of *keys*, each of 32 bytes, and opens what any of them has closed.

    What is closed for one *purpose* has nothing to do with another's, even with the same keys.
    """

    def __init__(self, keys: Sequence[bytes], purpose: bytes) -> None:
        self._purpose = purpose
        self._keys = {self._named(key): key for key in keys}
        self._first = next(iter(self._keys), "")

    @property
    def closes(self) -> bool:
        """Whether there is a key at all."""
        return bool(self._keys)

    def closed(self, plain: bytes, of: bytes, place: bytes) -> tuple[str, bytes]:
        """Return the name of the key and *plain* closed: a part of the thing *of*, at *place*."""
        nonce = token_bytes(_NONCE)
        sealed = self._cipher(self._keys[self._first], of).encrypt(nonce, plain, place)
        return self._first, nonce + sealed

    def opened(self, named: str, closed: bytes, of: bytes, place: bytes) -> bytes:
        """Return what ``closed`` was given for *of* and *place*, with the key *named*.

        Raises:
            KeyGone: The key is not here.
            Changed: It is not what was closed.
        """
        key = self._keys.get(named)
        if key is None:
            raise KeyGone(named)
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher(key, of).decrypt(closed[:_NONCE], closed[_NONCE:], place)
        except (InvalidTag, ValueError) as error:
            raise Changed from error

    def _cipher(self, key: bytes, of: bytes) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(hmac.digest(key, self._purpose + b": key of a " + of, "sha256"))

    def _named(self, key: bytes) -> str:
        return hmac.digest(key, self._purpose + b": name of a key", "sha256").hex()[:8]


def key_of(text: str) -> bytes:
    """Return the key that *text* writes, in hex or base64.

    Raises:
        ValueError: It is none.
    """
    try:
        key = bytes.fromhex(text) if len(text) == _HEX else b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise ValueError("a key has 32 bytes, in hex or base64: openssl rand -hex 32 makes one")
    return key
