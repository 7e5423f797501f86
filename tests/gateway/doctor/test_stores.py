"""What is told of the store and of the database."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.doctor.database import database
from gateway.doctor.store import store
from gateway.stores.database.engine import opened
from techniques.core.json import Json
from tests.gateway.doctor.scene import bad, case, looked, silent
from tests.services.valkey import Valkey, valkey_cluster


def about(url: str, **stated: Json) -> list[tuple[str, str]]:
    return bad(looked(store, case(store={"redis": url, **stated}, within_s=3.0)))


def test_a_store_that_keeps_what_it_is_given_is_well(valkey: Valkey) -> None:
    found = looked(store, case(store={"redis": valkey.url}))

    assert bad(found) == []
    told = " ".join(it.what for it in found)
    assert "Valkey" in told
    assert "maxmemory-policy is noeviction" in told
    assert "its clock is off by" in told


def test_one_that_drops_what_it_is_given_is_an_error_once_it_can_be_full() -> None:
    with Valkey(("--maxmemory-policy", "allkeys-lru")) as unbounded:
        found = looked(store, case(store={"redis": unbounded.url}))
        assert bad(found) == []
        assert [it.level for it in found if "allkeys-lru" in it.what] == ["note"]
        with unbounded.client() as client:
            client.config_set("maxmemory", "1gb")
        found = looked(store, case(store={"redis": unbounded.url}))

    ((level, what),) = bad(found)
    assert (level, what) == ("error", "maxmemory-policy is allkeys-lru")
    (fix,) = [it.fix for it in found if it.level == "error"]
    assert fix.startswith("redis-cli CONFIG SET maxmemory-policy noeviction")


def test_one_that_is_nearly_full_is_warned_of() -> None:
    with Valkey() as full:
        with full.client() as client:
            client.set("x", b"x" * 2**25)
        with full.client() as client:  # what the first has sent is counted as long as it is there
            used = int(client.info("memory")["used_memory"])
            client.config_set("maxmemory", used)
        (found,) = about(full.url)

    assert found[0] == "warning"
    assert "MiB are used" in found[1]


def test_one_that_is_gone_or_mute_or_wants_a_password_is_told_without_the_password() -> None:
    with Valkey() as locked, silent() as port:
        with locked.client() as client:
            client.config_set("requirepass", "right-canary")
        wrong = about(f"redis://:wrong-canary@127.0.0.1:{locked.port}/0")
        right = about(f"redis://:right-canary@127.0.0.1:{locked.port}/0")
        mute = about(f"redis://:mute-canary@127.0.0.1:{port}/0")
    gone = about("redis://:gone-canary@127.0.0.1:1/0")

    assert right == []
    assert [level for found in (wrong, mute, gone) for level, _ in found] == ["error"] * 3
    assert "127.0.0.1:1/0 does not answer" in gone[0][1]
    assert f"127.0.0.1:{port}/0 does not answer" in mute[0][1]
    assert "canary" not in repr((wrong, mute, gone))


def test_a_cluster_is_looked_at_by_one_of_its_nodes() -> None:
    with valkey_cluster() as nodes:
        found = looked(store, case(store={"redis": nodes[0].url, "cluster": True}))

    assert bad(found) == []
    assert any("Valkey" in it.what for it in found)


def test_several_workers_without_a_store_are_warned_of_and_one_is_not() -> None:
    assert bad(looked(store, case())) == []
    (found,) = bad(looked(store, case(server={"workers": 3})))
    assert found == ("warning", "3 workers share no store")


def test_a_database_that_is_as_it_should_be_is_well(database_url: str) -> None:
    async def make() -> None:
        async with opened(database_url):
            pass

    anyio.run(make)
    found = looked(database, case(database={"url": database_url}))

    assert bad(found) == []
    assert any("revision v0" in it.what for it in found)


def test_one_that_is_not_made_yet_is_left_unmade(tmp_path: Path) -> None:
    file = tmp_path / "lockgate.db"
    found = looked(database, case(database={"url": f"sqlite:///{file}"}))

    assert bad(found) == []
    assert not file.exists()


def test_one_of_a_newer_release_is_an_error_and_of_an_older_is_none(tmp_path: Path) -> None:
    def revised(revision: str) -> list[tuple[str, str]]:
        file = tmp_path / f"{revision}.db"
        with sqlite3.connect(file) as made:
            made.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
            made.execute("INSERT INTO alembic_version VALUES (?)", (revision,))
        return bad(looked(database, case(database={"url": f"sqlite:///{file}"})))

    assert revised("v0001") == []
    ((level, what),) = revised("v9999")
    assert (level, "revision v9999" in what) == ("error", True)


def test_one_that_is_no_database_or_is_not_there_is_an_error_without_its_password(
    tmp_path: Path,
) -> None:
    (tmp_path / "x.db").write_text("no database " * 100)
    garbled = bad(looked(database, case(database={"url": f"sqlite:///{tmp_path}/x.db"})))
    nowhere = bad(looked(database, case(database={"url": f"sqlite:///{tmp_path}/no/x.db"})))
    gone = bad(looked(database, case(database={"url": "postgresql://u:canary@127.0.0.1:1/x"})))

    assert [level for level, _ in (*garbled, *nowhere, *gone)] == ["error"] * 3
    assert "there is no folder" in nowhere[0][1]
    assert "canary" not in repr(gone)


@pytest.mark.parametrize(
    ("free", "level"), [(50 * 2**20, "error"), (500 * 2**20, "warning"), (5 * 2**30, None)]
)
def test_little_room_is_told_before_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str | None
) -> None:
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage)
    found = bad(looked(database, case(database={"url": f"sqlite:///{tmp_path}/x.db"})))

    assert [how for how, _ in found] == ([level] if level else [])


def test_more_connections_than_the_server_has_are_warned_of(database_url: str) -> None:
    sections: dict[str, Any] = {
        "database": {"url": database_url, "pool": 100},
        "server": {"workers": 3},
    }
    found = bad(looked(database, case(**sections)))

    assert bool(found) == database_url.startswith("postgresql")
    assert all("may want 300 connections" in what for _, what in found)
