"""The commands by which people get tokens, see what they are asked, and decide."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from gateway.attention.questions import Sought
from gateway.attention.tables import ApprovalTables
from gateway.config import load
from gateway.policy.keys import digest
from gateway.stores.database.engine import opened
from gateway.stores.database.records import now
from tests.gateway.attention.scene import approval
from tests.gateway.serving.test_callers import done, failed

SECRET = "a secret of some length"
FILE = f"""
providers: {{sim: {{dialect: openai_chat, simulated: {{seed: 0}}}}}}
models: [{{name: m, provider: sim}}]
attention:
  persons:
    - {{name: ana, hash: "{digest(SECRET, "ana-token")}"}}
    - {{name: ben, hash: "{digest(SECRET, "ben-token")}"}}
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("LOCKGATE_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", SECRET)
    monkeypatch.chdir(tmp_path)
    Path("lockgate.yaml").write_text(FILE)


async def _kept(*names: str) -> Mapping[str, str]:
    async with opened(load(Path("lockgate.yaml")).database.url) as database:
        store = ApprovalTables(database)
        for name in names:
            await store.add(approval(name, created_at=now(), expires_at=now() + 10**12, options=()))
        return {it.id: f"{it.state} {it.note}" for it in await store.find(Sought(), now())}


def kept(*names: str) -> Mapping[str, str]:
    """Keep questions of these ids, and return how all stand."""
    return anyio.run(_kept, *names)


def test_a_token_is_shown_once_with_what_the_configuration_needs() -> None:
    out = done("approvals", "token", "cleo", "-c", "lockgate.yaml")

    assert out[0].startswith("lp-")
    assert digest(SECRET, out[0]) in out[-1]
    assert '{name: "cleo", hash: ' in out[-1]


def test_questions_are_listed_and_decided_by_the_person() -> None:
    kept("one", "two")
    before = done("approvals", "list", "-c", "lockgate.yaml")
    told = done(
        "approvals", "approve", "one", "--token", "ana-token", "--note", "go", "-c", "lockgate.yaml"
    )
    done("approvals", "reject", "two", "--token", "ana-token", "-c", "lockgate.yaml")
    after = done("approvals", "list", "-c", "lockgate.yaml")
    every = json.loads(
        "\n".join(done("approvals", "list", "--all", "--json", "-c", "lockgate.yaml"))
    )

    assert [line.split()[0] for line in before] == ["id", "two", "one"]
    assert told == ["Approved by ana."]
    assert len(after) == 1
    assert [it["state"] for it in every["approvals"]] == ["rejected", "approved"]
    assert kept()["one"] == "approved go"


def test_nobody_decides_without_a_token_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("one")

    (none,) = failed("approvals", "approve", "one", "-c", "lockgate.yaml")
    (wrong,) = failed("approvals", "approve", "one", "--token", "x", "-c", "lockgate.yaml")
    monkeypatch.setenv("LOCKGATE_PERSON_TOKEN", "ben-token")
    (other,) = failed("approvals", "approve", "one", "-c", "lockgate.yaml")

    assert "LOCKGATE_PERSON_TOKEN" in none
    assert "nobody's token" in wrong
    assert "no question 'one' to ben" in other
    assert kept()["one"].startswith("pending")


def test_a_decision_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("one")
    monkeypatch.setenv("LOCKGATE_PERSON_TOKEN", "ana-token")
    done("approvals", "approve", "one", "-c", "lockgate.yaml")

    (again,) = failed("approvals", "reject", "one", "-c", "lockgate.yaml")

    assert "ended already" in again


def test_without_a_database_there_is_nothing_to_list() -> None:
    Path("lockgate.yaml").write_text(FILE + "database: {url: none}\n")

    (told,) = failed("approvals", "list", "-c", "lockgate.yaml")

    assert "database.url is none" in told
