"""What a caller may use: techniques and models."""

from __future__ import annotations

from gateway.policy.keys import Caller
from gateway.policy.models import Model
from techniques.core.registry import Card

_NONE = "none"


def may_apply(caller: Caller, technique: str) -> bool:
    """Return whether *caller* may use *technique*; asking for none is always allowed."""
    return technique == _NONE or caller.techniques is None or technique in caller.techniques


def permits(caller: Caller, card: Card, name: str) -> bool:
    """Return whether *caller* may use *card*, which was asked for as *name*: under any name."""
    return any(may_apply(caller, known) for known in {name, card.name, *card.aliases})


def may_use(caller: Caller, model: Model) -> bool:
    """Return whether *caller* may use *model*; a name of its list may end in ``*``."""
    allowed, shown = caller.models, model.target.shown
    if allowed is None or model.name in allowed or shown in allowed:
        return True
    return any(name.endswith("*") and shown.startswith(name[:-1]) for name in allowed)
