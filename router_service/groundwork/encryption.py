"""Keys to encrypt with, as configurations state them: one or several, the first is the newest."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, SecretStr

from router_service.groundwork.seal import key_of

_Stated: TypeAlias = SecretStr | tuple[SecretStr, ...] | None


def keys_of(stated: _Stated) -> tuple[bytes, ...]:
    """Return the keys that are *stated*, none where that is None.

    Raises:
        ValueError: One is no key.
    """
    several = (stated,) if isinstance(stated, SecretStr) else stated or ()
    return tuple(key_of(one.get_secret_value()) for one in several)


def _are_keys(stated: _Stated) -> _Stated:
    if stated == ():
        raise ValueError("a list of keys has one at the least")
    keys_of(stated)
    return stated


StatedKeys: TypeAlias = Annotated[_Stated, AfterValidator(_are_keys)]
"""A key, several, or None: nothing is encrypted."""
