"""What says that Redis did not answer."""

from __future__ import annotations

from typing import Final

from redis.exceptions import RedisError

LOST: Final = (RedisError, OSError, RuntimeError)
"""What a client of Redis raises when it is not there.

A connection that is closed just while it is written to is a ``RuntimeError`` of uvloop's, which the
client hands on as it is.
"""
