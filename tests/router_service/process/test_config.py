from __future__ import annotations

from pathlib import Path

import pytest

from router_service.process.config import ProcessSettings, Unusable, load

KEY = "ab" * 32


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out what the machine says of its own."""
    import os

    for name in list(os.environ):
        if name.startswith("LOCKGATE_"):
            monkeypatch.delenv(name)


def written(folder: Path, text: str) -> Path:
    path = folder / "router.yaml"
    path.write_text(text)
    return path


def test_without_a_file_it_is_a_router_that_learns_for_this_machine() -> None:
    loaded = load(None)

    assert loaded.model_dump() == ProcessSettings().model_dump()
    assert (loaded.server.host, loaded.router.type) == ("127.0.0.1", "semknn")


def test_a_file_says_everything_and_the_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("from a file\n")
    monkeypatch.setenv("SEAL", KEY)
    monkeypatch.setenv("LOCKGATE_SERVER__PORT", "9999")
    file = written(
        tmp_path,
        "server: {host: 0.0.0.0, port: 1, token: 'file:token'}\n"
        "database: {url: 'postgresql://me@db/x'}\n"
        "router: {type: fixed, lambda: 2, store: {encryption: '${SEAL}'}}\n",
    )

    loaded = load(file)

    assert loaded.server.token is not None
    assert loaded.server.token.get_secret_value() == "from a file"
    assert (loaded.server.port, loaded.database.url) == (9999, "postgresql+asyncpg://me@db/x")
    assert (loaded.router.type, loaded.router.lambda_) == ("fixed", 2)
    assert loaded.router.store.keys == (bytes.fromhex(KEY),)


def test_the_token_is_where_secrets_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_ROUTER_TOKEN", "secret")
    monkeypatch.setenv("LOCKGATE_SERVER__HOST", "0.0.0.0")

    token = load(None).server.token

    assert token is not None
    assert token.get_secret_value() == "secret"
    assert "secret" not in repr(load(None))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("providers: {}", "it is the configuration of a gateway"),
        ("servers: {}", "servers: there is no such setting"),
        ("server: {port: 1, porte: 2}", "server.porte: there is no such setting"),
        ("server: {token: written-here}", "server.token: write secrets as"),
        ("server: {token: '${NOT_SET}'}", "server.token: the environment variable NOT_SET"),
        ("server: {token: 'file:not-there'}", "server.token: "),
        ("server: {port: 1, port: 2}", "'port' stands twice"),
        ("server: {host: 0.0.0.0}", "server.host: without a token the router is open"),
        ("server: []", "server: "),
        ("database: {url: 'mysql://x'}", "database.url: write sqlite:///PATH or"),
        ("database: {url: 'postgresql://me:word@db/x'}", "database.url: write secrets as"),
        ("router: {url: 'http://other'}", "router.url: there is no such setting"),
        ("router: {store: {encryption: short}}", "router.store.encryption: write secrets as"),
        ("- a list", "the file must be a mapping"),
    ],
)
def test_what_is_wrong_is_told_by_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(Unusable) as caught:
        load(written(tmp_path, text))

    assert told in str(caught.value)
    assert "word@" not in str(caught.value)


def test_a_section_of_the_environment_that_is_not_known_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LOCKGATE_PACING__MODE", "on")

    with pytest.raises(Unusable, match="LOCKGATE_PACING__MODE: there is no section 'pacing'"):
        load(None)


def test_an_empty_token_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_ROUTER_TOKEN", "")

    assert load(None).server.token is None
