"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import orjson

from router_service.evaluation.report import Report
from router_service.evaluation.reports.rows import (
    COMPARED,
    SUMMARY,
    audit_lines,
    comparison_rows,
    frontier_lines,
    headline,
    shown_verdicts,
    summary_rows,
    verdict_line,
)


def markdown(report: Report, plot: str | None = None) -> str:
    """Return *report* as Markdown; *plot* is the address of its picture."""
    return "\n".join(_lines(report, plot)) + "\n"


def _lines(report: Report, plot: str | None) -> Iterator[str]:
    yield "# Evaluation\n"
    yield f"{headline(report)}. Seed {report.seed}. Costs are dollars per 1,000 answers.\n"
    yield from _table(SUMMARY, summary_rows(report))
    if plot is not None:
        yield f"\n![Cost against quality]({plot})"
    yield from _categories(report)
    if report.comparisons:
        yield f"\n## Compared with {report.summaries[0].name}\n"
        yield from _table((*COMPARED, "shift", "p", "d_z 95 %"), _compared(report))
        yield (
            "\n*p adj.* is adjusted over all tests of this report (Benjamini-Hochberg); *+/=/-* is "
            "on how many prompts the candidate is better, level and worse; *MDE* is the least "
            "difference found four times of five; *shift* is the Hodges-Lehmann estimate, in the "
            "unit of the metric (cost: dollars, times: milliseconds)."
        )
    for title, lines in (
        ("Frontier", frontier_lines(report)),
        ("Judge", audit_lines(report)),
        ("Gate", map(verdict_line, shown_verdicts(report))),
        ("Notes", iter(report.notes)),
    ):
        yield from _section(title, lines)
    yield "\n## Configurations\n"
    for one in report.summaries:
        yield f"* `{one.name}`: `{orjson.dumps(one.stated.shown()).decode()}`"


def _compared(report: Report) -> Iterator[tuple[str, ...]]:
    rows = comparison_rows(report)
    for row, one in zip(rows, report.comparisons, strict=True):
        size = one.effect
        level = "-" if size is None else f"{size[1].low:+.2f} to {size[1].high:+.2f}"
        yield (*row, f"{one.shift:+.4g}", f"{one.tested.p:.3g}", level)


def _categories(report: Report) -> Iterator[str]:
    names = list(dict.fromkeys(name for one in report.summaries for name in one.by_category))
    if len(names) < 2:
        return
    yield "\n## Quality by category\n"
    rows = (
        (one.name, *(f"{one.by_category[n]:.3f}" if n in one.by_category else "-" for n in names))
        for one in report.summaries
    )
    yield from _table(("configuration", *names), rows)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    told = list(lines)
    if told:
        yield f"\n## {title}\n"
        yield from (f"* {_escaped(line)}" for line in told)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(map(_escaped, row))} |"


def _escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
