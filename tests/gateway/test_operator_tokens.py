from __future__ import annotations

import pytest
from starlette.requests import Request

from gateway.config import secrets
from gateway.surfaces.operations import is_bearer


def _asking(authorization: bytes | None) -> Request:
    headers = [] if authorization is None else [(b"authorization", authorization)]
    return Request({"type": "http", "headers": headers})


def test_the_bearer_of_the_token_is_let_in() -> None:
    assert is_bearer(_asking(b"Bearer secret"), "secret")
    assert is_bearer(_asking(b"bearer secret"), "secret")


@pytest.mark.parametrize("authorization", [None, b"", b"Bearer", b"Bearer no", b"Basic secret"])
def test_nobody_else_is_let_in(authorization: bytes | None) -> None:
    assert not is_bearer(_asking(authorization), "secret")


@pytest.mark.parametrize("authorization", [None, b"", b"Bearer", b"Bearer "])
def test_an_empty_token_lets_nobody_in(authorization: bytes | None) -> None:
    assert not is_bearer(_asking(authorization), "")


def test_an_empty_secret_of_the_environment_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_ADMIN_TOKEN", "")
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "kept")

    known = secrets()

    assert known.admin_token is None
    assert known.key_secret == "kept"
