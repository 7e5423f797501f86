"""Which headers carry a credential."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(
    r"(?i)(?:.*[-_])?(?:authorization|auth|(?:api)?key|token|secret|password|cookie|signature)"
)


def is_credential(header: str) -> bool:
    """Return whether a *header* of that name carries a credential."""
    return _NAME.fullmatch(header) is not None
