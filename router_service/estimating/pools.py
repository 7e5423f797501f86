"""Which models were there when something was learnt, and how far that holds for others."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from router_service.contract import Match, ModelSpec

_UNKNOWN: Final = "unknown"
_SIZES: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 300.0)
"""In billions of parameters: what lies between two of them is of one size."""
_BITS: Final = re.compile(r"(?<!\d)(2|3|4|5|6|8|16|32)(?!\d)")
_ALIKE: Final = 0.3  # what is learnt of other models of the same families, beside just these
_MOSTLY: Final = 0.5
_BETWEEN: Final = " + "


def fingerprint(model: str, pool: Sequence[ModelSpec]) -> str:
    """Return what *pool*, that answers for *model*, is told apart from others by.

    The order of the pool counts for nothing. A model of which nothing is known is no other but
    itself: the one that was asked for goes by its name.
    """
    if not pool:
        return f"={model}"
    first = _spec(pool[0])
    if first.split(":")[0] == _UNKNOWN:
        first = first.replace(_UNKNOWN, f"={model}", 1)
    return _BETWEEN.join(sorted([first, *map(_spec, pool[1:])]))


def families(print_: str) -> frozenset[str]:
    """Return the families in a fingerprint, without unknown ones."""
    return frozenset(part.split(":")[0] for part in print_.split(_BETWEEN)) - {_UNKNOWN}


def overlap(one: str, other: str) -> float:
    """Return the share of families that two fingerprints have in common (Jaccard), 0 to 1."""
    ours, theirs = families(one), families(other)
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


def weight(one: str, other: str) -> float:
    """Return how much what was learnt of pool *other* counts for pool *one*, 0 to 1."""
    return 1.0 if one == other else _ALIKE * overlap(one, other)


def closest(want: str, have: Collection[str]) -> tuple[str, Match]:
    """Return the one of *have* that is likest to *want*, and how like; "" where none is."""
    if want in have:
        return want, "exact"
    found = max(have, key=lambda each: overlap(want, each), default="")
    share = overlap(want, found) if found else 0.0
    if not share:
        return "", "default"
    return found, "partial" if share >= _MOSTLY else "fallback"


def _spec(spec: ModelSpec) -> str:
    family = spec.family.strip().lower().translate(_PLAIN_LETTERS) or _UNKNOWN
    size = "" if spec.params_b is None else str(sum(spec.params_b >= edge for edge in _SIZES))
    bits = _BITS.search(spec.quantization)
    return ":".join((family, size, bits.group(1) if bits else "", spec.effort)).rstrip(":")


_PLAIN_LETTERS: Final = str.maketrans({":": "_", "+": "_", "=": "_"})
