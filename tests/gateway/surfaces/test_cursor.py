from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from starlette.requests import Request

from gateway.stores.journal.journal import place_of
from gateway.stores.journal.records import RunName, RunRecord, Standing, Stored
from gateway.surfaces.cursor import after_of, cursor_of
from techniques.core.errors import RequestRejected


def request(query: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "headers": []})


def packed(value: Any) -> str:
    return urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


@pytest.mark.parametrize("name", ["run", "task 1/2 é", "😀" * 100, "?&=+%", "a>b?c"])
def test_a_cursor_leads_back_to_its_place(name: str) -> None:
    record = RunRecord(RunName("key", name), "body", "plan", "secret", 1_764_000_000_123)
    cursor = cursor_of(Stored(record, Standing(), 0))
    assert quote(cursor, safe="") == cursor
    assert after_of(request(f"cursor={cursor}")) == place_of(record)


def test_without_a_cursor_it_is_the_first_page() -> None:
    assert after_of(request("limit=3")) is None


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "!!!!",
        "é",
        packed([1, "key"]),
        packed([1, "key", "run", 2]),
        packed(["1", "key", "run"]),
        packed([True, "key", "run"]),
        packed([1.5, "key", "run"]),
        packed([-1, "key", "run"]),
        packed([2**63, "key", "run"]),
        packed([1, None, "run"]),
        packed([1, "key", "a\0b"]),
        packed({"a": 1, "b": 2, "c": 3}),
        packed(1),
        packed([1, "key", "run"]) + "!",
        packed([1, "key", "x" * 5000]),
        urlsafe_b64encode(b'[1, "key", "\\ud800"]').decode(),
        urlsafe_b64encode(b"\xff\xff").decode(),
    ],
)
def test_an_odd_cursor_is_refused_and_named(cursor: str) -> None:
    with pytest.raises(RequestRejected) as told:
        after_of(request(f"cursor={quote(cursor)}"))
    assert told.value.param == "cursor"
