"""What a router chooses among: a technique, how much of it, and who carries it out."""

from __future__ import annotations

from typing import Final, NamedTuple

_NONE: Final = "none"
_PRIMARY: Final = "primary"
_UNSAID: Final = "-"
_PARTS: Final = 4


class Arm(NamedTuple):
    """One thing that can be done for a request.

    ``size`` is how many samples or rounds the technique is given, None for its own default.
    ``channel`` is ``primary``, the model that was asked for, or the configured name of another
    that answers in its place. ``effort`` is how hard that is to think, "" for what it does unasked.
    """

    technique: str = _NONE
    size: int | None = None
    channel: str = _PRIMARY
    effort: str = ""

    @property
    def name(self) -> str:
        """Return ``technique/size/channel/effort`` without the defaults at its end.

        In between a default is ``-``: ``none``, ``self_consistency/5``, ``none/-/smart``.
        """
        size = _UNSAID if self.size is None else str(self.size)
        parts = [self.technique, size, self.channel, self.effort or _UNSAID]
        while len(parts) > 1 and parts[-1] in {_UNSAID, _PRIMARY}:
            parts.pop()
        return "/".join(parts)

    @property
    def is_plain(self) -> bool:
        """Tell whether it is the plain call of the model that was asked for."""
        return self == PLAIN


def arm_of(name: str) -> Arm:
    """Return the arm that *name* is the name of.

    Raises:
        ValueError: It is no name of an arm.
    """
    technique, *rest = name.split("/", _PARTS - 1)
    size, channel, effort = (*rest, *([_UNSAID] * (_PARTS - 1 - len(rest))))
    if not technique or not all((size, channel, effort)):
        raise ValueError(f"{name!r} is not TECHNIQUE/SIZE/CHANNEL/EFFORT")
    if size != _UNSAID and not (size.isascii() and size.isdigit() and int(size) > 0):
        raise ValueError(f"{name!r}: the size {size!r} is not a whole number above 0")
    return Arm(
        technique,
        None if size == _UNSAID else int(size),
        _PRIMARY if channel == _UNSAID else channel,
        "" if effort == _UNSAID else effort,
    )


PLAIN: Final = Arm()
"""The plain call of the model that was asked for: what everything is compared with."""
