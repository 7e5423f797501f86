"""Names for JSON values where they meet a decoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
"""Any JSON value, as a decoder returned it: nothing is known of its shape yet."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object, as a decoder returned it."""


class _Nothing(Mapping[str, Any]):
    """Hashable, which a dataclass wants of a default; ``MappingProxyType`` is so from 3.12 on."""

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final[Mapping[str, Any]] = _Nothing()
"""The empty object, for fields that are nearly always absent."""
