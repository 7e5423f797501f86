"""What things are known by, so that nothing that has changed is taken for what it was."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson


def hash_of(value: Any) -> str:
    """Return 16 hex digits that stand for *value*, whatever the order of its names."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return blake2b(text, digest_size=8).hexdigest()
