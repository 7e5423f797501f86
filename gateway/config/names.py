"""What names of models in a configuration mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def serves(models: set[str], name: str) -> bool:
    """Return whether one of *models*, which may end in ``*``, is what *name* means."""
    if name.endswith("*"):
        return False  # stands for many, and one must be asked
    return name in models or any(m.endswith("*") and name.startswith(m[:-1]) for m in models)


def means_any(models: set[str], name: str) -> bool:
    """Return whether *name*, which may end in ``*``, lets its key use any of *models*."""
    begins = name.removesuffix("*")
    return serves(models, begins) or (
        name != begins and any(model.startswith(begins) for model in models)
    )


def twice(names: Iterable[str]) -> str:
    """Return the first of *names* that stands among them twice."""
    return next(name for name, count in Counter(names).items() if count > 1)
