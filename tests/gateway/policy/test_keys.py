from __future__ import annotations

import pytest

from gateway.policy.keys import OPEN, Caller, KeyRing, OpenDoor, digest
from techniques.core.errors import Unauthenticated

ALICE, BOB = Caller("alice"), Caller("bob")
RING = KeyRing("secret", [(digest("secret", "key-a"), ALICE), (digest("secret", "ключ-b"), BOB)])


def on_the_wire(value: str) -> str:
    """Return *value* as a server hands it on: its UTF-8 bytes, one character each."""
    return value.encode().decode("latin-1")


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer key-a"},
        {"authorization": "bearer   key-a "},
        {"x-api-key": "key-a"},
        {"authorization": "Bearer key-a", "x-api-key": "no key"},
        {"authorization": "Basic dXNlcg==", "x-api-key": "key-a"},
        {"authorization": "", "x-api-key": "key-a"},
    ],
)
async def test_a_key_is_found_in_either_header(headers: dict[str, str]) -> None:
    assert await RING.caller(headers) is ALICE


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
async def test_a_key_may_have_characters_beyond_ascii(header: str) -> None:
    value = "ключ-b" if header == "x-api-key" else "Bearer ключ-b"

    assert await RING.caller({header: on_the_wire(value)}) is BOB


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer key-b"},
        {"authorization": "Bearer KEY-A"},
        {"x-api-key": "key-a2"},
        {"x-api-key": on_the_wire("ключ")},
        {"x-api-key": "\x00"},
        {"authorization": "Bearer no", "x-api-key": "key-a"},
    ],
)
async def test_a_wrong_key_is_refused_without_a_hint(headers: dict[str, str]) -> None:
    with pytest.raises(Unauthenticated) as caught:
        await RING.caller(headers)

    assert (caught.value.code, caught.value.message) == (
        "invalid_api_key",
        "This API key is not valid.",
    )


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-api-key": ""}, {"authorization": "Bearer "}, {"authorization": "key-a"}],
)
async def test_without_a_key_it_is_said_how_to_send_one(headers: dict[str, str]) -> None:
    with pytest.raises(Unauthenticated, match="x-api-key") as caught:
        await RING.caller(headers)

    assert caught.value.code == "missing_api_key"


async def test_another_secret_makes_another_hash() -> None:
    assert digest("secret", "key") != digest("other", "key")
    assert digest("secret", "key").startswith("hmac-sha256:")
    ring = KeyRing("other", [(digest("secret", "key-a"), ALICE)])
    with pytest.raises(Unauthenticated):
        await ring.caller({"x-api-key": "key-a"})


async def test_one_look_up_leaves_the_next_as_it_was() -> None:
    for _ in range(3):
        assert await RING.caller({"x-api-key": "key-a"}) is ALICE


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "anything"}])
async def test_without_keys_everyone_is_let_in(headers: dict[str, str]) -> None:
    assert await OpenDoor().caller(headers) is OPEN
    assert OPEN.name is None


def test_a_key_is_found_by_its_name_also_after_it_was_changed() -> None:
    old, new = (digest("secret", text) for text in ("key-old", "key-new"))
    ring = KeyRing("secret", [(old, Caller("app"))])
    ring.put(new, Caller("app", priority=1))
    ring.remove(old)
    assert ring.named("app") == Caller("app", priority=1)
    ring.put(new, Caller("app too"))
    assert ring.named("app") is None
    assert ring.named("app too") == Caller("app too")
    ring.remove(new)
    assert ring.named("app too") is None
    assert len(ring) == 0
