"""A gateway without keys serves this machine only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from router_service.groundwork.nearby import far
from techniques.core.errors import Denied

_FAR: Final = (
    "This gateway has no keys, so it serves this machine only, and the request's {} is {!r}. "
    "Ask it as http://127.0.0.1 or http://localhost, or make a key."
)


def must_be_near(headers: Mapping[str, str]) -> None:
    """Refuse who names another host than this machine, or comes from a page of another.

    Raises:
        Denied: It does.
    """
    found = far(headers)
    if found is not None:
        name, value = found
        raise Denied(_FAR.format(name, value[:100]))
