"""A report on a terminal: everything that matters on one screen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from rich.console import Console, Group, JustifyMethod
from rich.table import Table
from rich.text import Text

from router_service.evaluation.report import Report
from router_service.evaluation.reports.rows import (
    COMPARED,
    SUMMARY,
    audit_lines,
    comparison_rows,
    direction,
    frontier_lines,
    headline,
    shown_verdicts,
    summary_rows,
    verdict_line,
)

_STYLES: Final = {1: "green", -1: "red", 0: ""}
_OUTCOMES: Final = {"pass": "green", "block": "bold red", "unknown": "yellow"}
_WIDTH: Final = 132
"""Where the output is no terminal."""
_LEFT_OUT: Final = (
    (120, frozenset({"first s", "test", "d_z", "warned"})),
    (98, frozenset({"p95 s", "baseline", "+/=/-"})),
    (80, frozenset({"calls", "failed", "frontier", "value"})),
)
"""What a terminal of less than so many columns does not show: the file has it."""


def show(report: Report, console: Console) -> None:
    """Print *report*."""
    console.print(Group(*_parts(report, console.width)))


def console_of(*, is_terminal: bool) -> Console:
    """Return a console; one that is no terminal is wide enough for the tables."""
    return Console(highlight=False, width=None if is_terminal else _WIDTH)


def _parts(report: Report, width: int) -> Iterator[Table | Text]:
    hidden = {name for least, names in _LEFT_OUT if width < least for name in names}
    yield Text(headline(report), style="bold")
    yield _table(_shown(SUMMARY, summary_rows(report), hidden), [""] * len(report.summaries))
    if report.comparisons:
        yield Text(f"compared with {report.summaries[0].name}", style="bold")
        styles = [_STYLES[direction(one)] for one in report.comparisons]
        yield _table(_shown(COMPARED, _once(comparison_rows(report)), hidden), styles)
    for line in (*frontier_lines(report), *audit_lines(report)):
        yield Text(line)
    for note in report.notes:
        yield Text(f"note: {_plain(note)}", style="yellow")
    for one in shown_verdicts(report):
        yield Text(verdict_line(one), style=_OUTCOMES[one.outcome])


def _once(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield *rows*, the name of a candidate only in its first."""
    before = ""
    for row in rows:
        yield ("" if row[0] == before else row[0], *row[1:])
        before = row[0]


def _shown(
    head: Sequence[str], rows: Iterable[Sequence[str]], hidden: Collection[str]
) -> Iterator[Sequence[str]]:
    """Yield *head* and *rows* without the columns that are *hidden*."""
    for row in (head, *rows):
        yield [cell for name, cell in zip(head, row, strict=True) if name not in hidden]


def _table(rows: Iterable[Sequence[str]], styles: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    head, *rest = rows
    for place, name in enumerate(head):
        side: JustifyMethod = "left" if not place else "right"
        table.add_column(name, justify=side, no_wrap=not place, overflow="fold")
    for row, style in zip(rest, styles, strict=True):
        table.add_row(*(Text(_plain(cell)) for cell in row), style=style)
    return table


def _plain(text: str) -> str:
    """Return *text* without what could speak to the terminal: servers wrote some of it."""
    return "".join(c if c.isprintable() else "?" for c in text)
