"""Tables as CSV, and as JSON line by line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

import orjson
from starlette.responses import Response

from techniques.core.json import Json, JsonObject

FROM_CLIENTS: Final = frozenset({"run", "session", "tags"})
"""Columns with texts that clients wrote."""

CSV: Final = "text/csv; charset=utf-8"
NDJSON: Final = "application/x-ndjson"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[JsonObject], *, head: bool = True) -> str:
    """Return *rows* as lines of CSV, with *head* under the names of *columns*.

    A text of a client's that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    if head:
        writer.writerow(columns)
    writer.writerows([_cell(name, row[name]) for name in columns] for row in rows)
    return text.getvalue()


def csv_answer(text: str, name: str) -> Response:
    """Return *text*, which is CSV, as a file called *name*."""
    return Response(text, media_type=CSV, headers=attached(name, "csv"))


def attached(name: str, form: str) -> dict[str, str]:
    """Return the headers of a file called *name*, in the form *form*."""
    return {"content-disposition": f'attachment; filename="lockgate-{name}.{form}"'}


def json_lines(rows: Iterable[JsonObject]) -> bytes:
    """Return each of *rows* as a line of JSON."""
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def _cell(name: str, value: Json) -> Json:
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return " ".join(map(str, value))
        case str() if name in FROM_CLIENTS and value.startswith(_FORMULA):
            return f"'{value}"
        case _:
            return value
