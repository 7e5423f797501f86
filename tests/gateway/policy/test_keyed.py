"""Keys are looked up by the same hash that ``digest`` makes."""

from __future__ import annotations

import pytest

from gateway.policy.keys import Caller, KeyRing, digest
from techniques.core.errors import Unauthenticated


@pytest.mark.parametrize("secret", ["s", "b" * 64, "longer than a block " * 8, ""])
async def test_a_key_is_found_under_secrets_of_any_length(secret: str) -> None:
    caller = Caller("me")
    ring = KeyRing(secret, [(digest(secret, "key-1"), caller)])

    assert await ring.caller({"authorization": "Bearer key-1"}) is caller
    with pytest.raises(Unauthenticated):
        await ring.caller({"x-api-key": "key-2"})
