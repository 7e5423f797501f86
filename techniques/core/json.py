"""Names for JSON values where they meet a decoder."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
"""Any JSON value, as a decoder returned it: nothing is known of its shape yet."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object, as a decoder returned it."""


_NONE: Final[dict[str, Any]] = {}


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

    def items(self) -> ItemsView[str, Any]:
        return _NONE.items()

    def keys(self) -> KeysView[str]:
        return _NONE.keys()

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final[Mapping[str, Any]] = _Nothing()
"""The empty object, for fields that are nearly always absent."""
