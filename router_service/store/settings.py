"""Whether the vectors of what was observed are encrypted."""

from __future__ import annotations

from router_service.groundwork.encryption import StatedKeys, keys_of
from router_service.groundwork.section import Section


class StoreSettings(Section):
    """How what was observed is kept.

    With ``encryption``, a key or several, vectors are kept so that only who has the key reads
    them: the first is the one to encrypt with, the others are older.
    """

    encryption: StatedKeys = None

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys of ``encryption``, none without it."""
        return keys_of(self.encryption)
