"""How long observations are kept, and whether their vectors are encrypted."""

from __future__ import annotations

from pydantic import Field, SecretStr, field_validator

from groundwork.seal import key_of
from router_service.section import Section

_DAY_S = 86_400.0


class StoreSettings(Section):
    """What was observed goes after ``retention_days``.

    With ``encryption``, a key or several, vectors are kept so that only who has the key reads
    them: the first is the one to encrypt with, the others are older.
    """

    retention_days: float = Field(90.0, gt=0, le=36_500)
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

    @property
    def retention_s(self) -> float:
        """How long observations are kept, in seconds."""
        return self.retention_days * _DAY_S


def _keys(stated: SecretStr | tuple[SecretStr, ...] | None) -> tuple[bytes, ...]:
    several = (stated,) if isinstance(stated, SecretStr) else stated or ()
    return tuple(key_of(one.get_secret_value()) for one in several)
