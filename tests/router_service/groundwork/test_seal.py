from __future__ import annotations

import pytest

from router_service.groundwork.seal import Changed, KeyGone, Seal, key_of

OLD, NEW = b"o" * 32, b"n" * 32


def test_what_is_closed_opens_for_its_thing_and_place_alone() -> None:
    seal = Seal([NEW], b"test")
    named, closed = seal.closed(b"canary", b"run 1", b"request")

    assert seal.opened(named, closed, b"run 1", b"request") == b"canary"
    assert b"canary" not in closed
    for of, place in ((b"run 2", b"request"), (b"run 1", b"answer")):
        with pytest.raises(Changed):
            seal.opened(named, closed, of, place)


def test_another_purpose_does_not_know_the_key() -> None:
    named, closed = Seal([NEW], b"test").closed(b"canary", b"run 1", b"request")

    with pytest.raises(KeyGone):
        Seal([NEW], b"other").opened(named, closed, b"run 1", b"request")


def test_the_first_key_closes_and_each_opens() -> None:
    named, closed = Seal([OLD], b"test").closed(b"canary", b"run 1", b"request")
    both = Seal([NEW, OLD], b"test")

    assert both.opened(named, closed, b"run 1", b"request") == b"canary"
    assert both.closed(b"canary", b"run 1", b"request")[0] != named


def test_what_an_earlier_release_closed_opens() -> None:
    closed = bytes.fromhex("818b971649cd9e56274c327bc7e2232248f595e3f1d1fbacff9a362a8dcc82c663e4")

    assert Seal([OLD], b"test").opened("29183399", closed, b"run 1", b"request") == b"canary"


@pytest.mark.parametrize("text", ["00" * 32, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="])
def test_a_key_is_written_in_hex_or_base64(text: str) -> None:
    assert key_of(text) == bytes(32)


@pytest.mark.parametrize("text", ["", "00", "x" * 64, "A" * 44, "\u0663" * 64])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="openssl rand -hex 32"):
        key_of(text)
