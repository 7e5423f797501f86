"""The command that tells what calls came to."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import orjson
import pytest
from sqlalchemy import text

from gateway.stores.database.engine import opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.rows import LedgerRow
from tests.gateway.serving.test_callers import done, failed
from tests.gateway.serving.test_cli import lockgate
from tests.gateway.stores.database.scene import ledger_row

URL = "sqlite+aiosqlite:///lockgate.db"
DURING = ("--since", "2025-11-24", "--until", "2025-11-25")


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("LOCKGATE_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


async def _write(rows: Sequence[LedgerRow], then: str | None) -> None:
    async with opened(URL) as database:
        await LedgerTable(database).write(rows)
        if then is not None:
            async with database.writing() as connection:
                await connection.execute(text(then))


def written(*rows: LedgerRow, then: str | None = None) -> None:
    anyio.run(_write, rows, then)


def said(*arguments: str) -> str:
    return "\n".join(failed(*arguments))


def test_a_bill_is_a_table_with_a_total_and_says_what_is_not_exact() -> None:
    plain = {"cache_write_tokens": 0, "reasoning_tokens": 0}
    written(
        ledger_row("a.0", cost=10**15 + 5 * 10**11, input_tokens=12_345, **plain),
        ledger_row("b.0", cost=10**9, estimated=True, model="smart", **plain),
        ledger_row("c.0", cost=None, key=None, model="\x1b[31m", **{**plain, "images": 2}),
    )

    assert done("bill", *DURING) == [
        "2025-11-24T00:00:00+00:00 to 2025-11-25T00:00:00+00:00",
        "",
        "key    model  calls   input  output  images          usd  unknown  estimated",
        "app    fast       1  12,345       5       0    1,000.500        0      0.000",
        "app    smart      1      10       5       0        0.001        0      0.001",
        "-      ?[31m      1      10       5       2      ≥ 0.000        1      0.000",
        "----------------------------------------------------------------------------",
        "total             3  12,365      15       2  ≥ 1,000.501        1      0.001",
        "",
        "What 1 call cost is not known, and not in the sum.",
        "The tokens of 1 call were estimated: 0.001 of the sum.",
    ]


def test_a_bill_of_nothing_is_zero() -> None:
    written()

    assert done("bill", *DURING, "--by", "")[2:] == [
        "calls  input  output   usd",
        "--------------------------",
        "    0      0       0  0.00",
    ]


def test_a_bill_is_of_what_one_asks_for_in_the_form_that_one_asks_for() -> None:
    written(ledger_row("a.0", role="judge", cost=7), ledger_row("b.0"), ledger_row("c.0", key="x"))
    narrow = ("bill", "key=app", *DURING, "--by", "role,day")

    told = orjson.loads("\n".join(done(*narrow, "--format", "json")))
    (first, second) = csv.DictReader(io.StringIO("\n".join(done(*narrow, "--format", "csv"))))

    assert [(line["role"], line["day"]) for line in told["lines"]] == [
        ("answer", "2025-11-24"),
        ("judge", "2025-11-24"),
    ]
    assert told["total"]["cost_usd"] == "0.000001500007"
    assert (first["calls"], second["cost_usd"]) == ("1", "0.000000000007")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nope=1",), "nope: is not known; there are request, run, key"),
        (("key",), "'key' is not FIELD=VALUE"),
        (("--by", "tags"), "by: 'tags' is none of key, team"),
        (("--since", "last week"), "since: must be a day or an instant"),
        (("--since", "2026-01-02", "--until", "2026-01-01"), "until: 2026-01-01T00:00:00+00:00"),
    ],
)
def test_what_cannot_be_meant_is_said(arguments: tuple[str, ...], why: str) -> None:
    written()

    assert why in said("bill", *arguments)


def test_a_bill_makes_and_changes_no_database() -> None:
    assert "lockgate.db: there is no such file" in said("bill")
    assert list(Path.cwd().iterdir()) == []
    written(then="UPDATE alembic_version SET version_num = 'v0004'")
    before = Path("lockgate.db").read_bytes()

    assert "not those of this release" in said("bill")
    assert Path("lockgate.db").read_bytes() == before


def test_a_database_that_cannot_be_read_is_named_without_its_password() -> None:
    Path("lockgate.db").write_bytes(b"nothing of the kind" * 100)
    Path("away.yaml").write_text("database: {url: 'postgresql://me:hidden@127.0.0.1:1/x'}\n")
    Path("none.yaml").write_text("database: {url: none}\n")

    assert "file is not a database" in said("bill")
    assert "hidden" not in said("bill", "-c", "away.yaml")
    assert "is not kept" in said("bill", "-c", "none.yaml")
    assert "No such file" in said("bill", "-c", "missing.yaml")


CONFIG = """
providers: {sim: {dialect: openai_chat, simulated: {}}}
models: [{name: fast, provider: sim, model: sim-small}]
teams: [{name: research}]
"""


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("key=ap", "note: no key is called 'ap'. Did you mean app?"),
        ("key=zzzz", "note: no key is called 'zzzz'."),
        ("team=reserch", "note: no team is called 'reserch'. Did you mean research?"),
        ("model=fst", "note: no model is called 'fst'. Did you mean fast?"),
        ("provider=simm", "note: no provider is called 'simm'. Did you mean sim?"),
        ("key=app", None),  # it has made no call in that time
        ("key=gone", None),  # it is no more, and made calls once
        ("key=", None),
        ("outcome=ko", None),  # no list says what there can be
        ("model=smart", None),
    ],
)
def test_a_bill_of_nothing_says_which_name_nobody_has(
    monkeypatch: pytest.MonkeyPatch, asked: str, hint: str | None
) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "a secret of some length")
    Path("lockgate.yaml").write_text(CONFIG)
    done("key", "create", "app", "-c", "lockgate.yaml")
    written(ledger_row("a.0", key="gone", model="smart"))

    during = ("--since", "2024-01-01", "--until", "2024-01-02", "--format", "json")
    code, out, err = lockgate("bill", asked, *during, "-c", "lockgate.yaml")

    assert (code, err) == (0, [] if hint is None else [hint])
    assert orjson.loads("\n".join(out))["total"]["calls"] == 0


def test_a_bill_of_something_gives_no_hint() -> None:
    written(ledger_row("a.0", key="gone"))

    assert lockgate("bill", "key=gone", *DURING)[2] == []
