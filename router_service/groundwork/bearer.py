"""Whether somebody carries a token."""

from __future__ import annotations

import hmac


def carries(authorization: str, token: str) -> bool:
    """Return whether the header *authorization* bears *token*, in constant time.

    Nobody carries an empty one.
    """
    scheme, _, given = authorization.partition(" ")
    same = hmac.compare_digest(given.strip().encode("latin-1"), token.encode())
    return same and bool(token) and scheme.lower() == "bearer"
