"""A gateway without keys serves this machine, and no page from elsewhere."""

from __future__ import annotations

import pytest

from gateway.policy.keys import OPEN, OpenDoor
from router_service.groundwork.nearby import is_near
from techniques.core.errors import Denied

NEAR = ["127.0.0.1", "127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080", "127.9.9.9:1"]
FAR = ["evil.com", "evil.com:8080", "localhost.evil.com", "2130706433", "10.0.0.1", "0.0.0.0:1"]


@pytest.mark.parametrize("host", NEAR)
async def test_who_names_this_machine_is_let_in(host: str) -> None:
    assert await OpenDoor().caller({"host": host}) is OPEN
    assert await OpenDoor().caller({"host": host, "origin": f"http://{host}"}) is OPEN


@pytest.mark.parametrize("host", FAR)
async def test_who_names_another_or_comes_from_another_is_not(host: str) -> None:
    for headers in (
        {"host": host},
        {"host": "127.0.0.1:8080", "origin": f"https://{host}"},
        {"host": host, "origin": "http://127.0.0.1"},
    ):
        with pytest.raises(Denied):
            await OpenDoor().caller(headers)


@pytest.mark.parametrize("origin", ["null", "", "file://", "http://[", "chrome-extension://abc"])
async def test_an_origin_without_a_host_is_none_of_this_machine(origin: str) -> None:
    with pytest.raises(Denied):
        await OpenDoor().caller({"host": "localhost", "origin": origin})


async def test_who_says_neither_is_no_browser() -> None:
    assert await OpenDoor().caller({}) is OPEN


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("localhost:", True),
        ("127.0.0.1:", True),
        ("[::1]:", True),
        (":", False),
        ("::", False),
        ("localhost::", False),
        ("a.example:", False),
        ("localhost:x", False),
    ],
)
def test_a_port_may_be_left_out_behind_its_colon(host: str, *, near: bool) -> None:
    assert is_near(host) is near
