"""Whether the vectors of what was observed are encrypted."""

from __future__ import annotations

from pydantic import SecretStr, field_validator

from router_service.groundwork.seal import key_of
from router_service.section import Section


class StoreSettings(Section):
    """How what was observed is kept.

    With ``encryption``, a key or several, vectors are kept so that only who has the key reads
    them: the first is the one to encrypt with, the others are older.
    """

    encryption: SecretStr | tuple[SecretStr, ...] | None = None

    @field_validator("encryption")
    @classmethod
    def _are_keys(
        cls, stated: SecretStr | tuple[SecretStr, ...] | None
    ) -> SecretStr | tuple[SecretStr, ...] | None:
        if stated == ():
            raise ValueError("a list of keys has one at the least")
        _keys(stated)
        return stated

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys of ``encryption``, none without it."""
        return _keys(self.encryption)


def _keys(stated: SecretStr | tuple[SecretStr, ...] | None) -> tuple[bytes, ...]:
    several = (stated,) if isinstance(stated, SecretStr) else stated or ()
    return tuple(key_of(one.get_secret_value()) for one in several)
