"""What was measured, as tables, and the bars that it has to reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from bench.quality.arms import BEST, KNOWN, LIKELIEST, LOOPS, PLAIN, POOLS, SIZES, SMALL, VOTING
from bench.quality.replay import Terms
from bench.quality.running import Ran, Tally, plain_majority
from bench.quality.statistics import Estimate, difference, share

_SAVED: Final = {5: 20.0, 10: 35.0, 20: 50.0}
"""Per cent of the samples that a vote of so many must save."""
_POINT: Final = 100.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A thing to reach. ``found`` tells what was found, ``met`` None that it was not measured."""

    name: str
    found: str
    wanted: str
    met: bool | None


def table(name: str, ran: Ran) -> str:
    """Return what came of one set, an arm a line."""
    head = (
        "| technique | right, % (95 %) | against the reference (95 %) | calls | tokens | cost x "
        "| time x | simulated | failed |"
    )
    reference = _reference(ran)
    lines = [head, "|---" * 9 + "|"]
    lines += [_row(label, tally, reference) for label, tally in ran.tallies.items()]
    about = f"**{name}** ({ran.recorded.about}): {len(reference.right)} questions"
    asked = f", each asked {ran.repeats} times" if ran.repeats > 1 else ""
    time = "Times as recorded" if ran.recorded.timed else "Each call taken to last as long"
    return "\n".join((f"{about}{asked}. {time}.", "", *lines, *_notes(ran)))


def bars_table(bars: Sequence[Bar]) -> str:
    """Return *bars* as a table."""
    words = {True: "met", False: "**not met**", None: "not measured"}
    lines = ["| bar | found | has to be | |", "|---|---|---|---|"]
    lines += [f"| {bar.name} | {bar.found} | {bar.wanted} | {words[bar.met]} |" for bar in bars]
    return "\n".join(lines)


def bars(done: Mapping[str, Ran], every: Mapping[str, Ran], terms: Terms) -> list[Bar]:
    """Return all bars, with what *done*, and *every* with all techniques, tell of them."""
    return [
        *_voting(done, terms),
        *_pools(done),
        *_tools(done),
        *_loops(every),
        *_small(done),
    ]


def _reference(ran: Ran) -> Tally:
    """Return what all others are compared with: the plain call, of several models the best."""
    for label in (PLAIN, BEST):
        if label in ran.tallies:
            return ran.tallies[label]
    return next(iter(ran.tallies.values()))


def _row(label: str, tally: Tally, reference: Tally) -> str:
    if sum(tally.failures.values()) == len(tally.right):
        return f"| {label} | none of it answered{' |' * 7} {len(tally.right)} |"
    cost = fmean(tally.cost) / fmean(reference.cost) if sum(reference.cost) else 0.0
    time = tally.seconds_p50 / reference.seconds_p50 if reference.seconds_p50 else 0.0
    made = tally.replayed + tally.played
    cells = (
        label,
        _percent(share(tally.right)),
        "" if tally is reference else _points(difference(tally.right, reference.right)),
        f"{fmean(tally.calls):.2f}",
        f"{fmean(tally.tokens):.0f}",
        f"{cost:.2f}",
        f"{time:.1f}",
        f"{100 * tally.played / made:.0f} %" if made else "",
        str(sum(tally.failures.values()) or ""),
    )
    return f"| {' | '.join(cells)} |"


def _notes(ran: Ran) -> Iterator[str]:
    failures = {
        f"{label}: {what} ({count})": None
        for label, tally in ran.tallies.items()
        for what, count in tally.failures.items()
    }
    again = sum(tally.again for tally in ran.tallies.values())
    if failures:
        yield "\nFailures: " + "; ".join(failures)
    if again:
        yield f"\n{again} draws came after the last recorded answer and got the first ones again."


def _voting(done: Mapping[str, Ran], terms: Terms) -> Iterator[Bar]:
    for size in SIZES:
        found = {
            name: _vote(done[name], size, terms)
            for name in VOTING
            if name in done and f"self_consistency N={size}" in done[name].tallies
        }
        where = "all voting sets together"
        if found:
            lost = fmean(one[0].mean for one in found.values())
            saved = fmean(one[1] for one in found.values())
            yield _vote_bar(f"N = {size}, {where}", (f"{_POINT * lost:+.2f}", lost, saved), size)
        else:
            yield Bar(f"vote, N = {size}, {where}", "-", "", None)
        for name, (lost_by, saved) in found.items():
            told = (_points(lost_by), lost_by.mean, saved)
            yield _vote_bar(f"N = {size}, {name}", told, size)
    yield _minimum(done)


def _vote(ran: Ran, size: int, terms: Terms) -> tuple[Estimate, float]:
    """Return by how much a vote is better than a plain majority, and what it saves, per cent."""
    tally = ran.tallies[f"self_consistency N={size}"]
    plain = plain_majority(ran, terms, ran.recorded.models[0].name, size)
    return difference(tally.right, plain), 100 * (1 - fmean(tally.calls) / size)


def _vote_bar(name: str, told: tuple[str, float, float], size: int) -> Bar:
    points, lost, saved = told
    return Bar(
        f"vote, {name}: points against a plain majority; samples saved",
        f"{points}; {saved:.0f} %",
        f"≥ -0.2; ≥ {_SAVED[size]:.0f} %",
        _POINT * lost >= -0.2 and saved >= _SAVED[size],
    )


def _minimum(done: Mapping[str, Ran]) -> Bar:
    name = "vote, codex_n40: calls where draws do not differ, N = 5, 10, 20"
    if "codex_n40" not in done:
        return Bar(name, "-", "3 (its least)", None)
    tallies = done["codex_n40"].tallies
    calls = [fmean(tallies[f"self_consistency N={size}"].calls) for size in SIZES]
    found = ", ".join(f"{one:.2f}" for one in calls)
    return Bar(name, found, "≤ 3.1 (its least is 3)", max(calls) <= 3.1)


def _pools(done: Mapping[str, Ran]) -> Iterator[Bar]:
    for name in POOLS:
        if name not in done:
            continue
        tallies = done[name].tallies
        best = tallies[BEST].right
        lost = {
            label: difference(tally.right, best)
            for label, tally in tallies.items()
            if label.endswith(KNOWN)
        }
        if lost:
            worst = min(lost, key=lambda label: lost[label].mean)
            yield Bar(
                f"{name}, calibrated: the worst of {len(lost)} against the best member",
                f"{worst.removesuffix(KNOWN)} {_points(lost[worst])}",
                "≥ -0.5",
                _POINT * lost[worst].mean >= -0.5,
            )
        warned = {
            label: tallies[label].warnings["uncalibrated"]
            for label in tallies
            if label + KNOWN in tallies
        }
        if warned:
            silent = [label for label, count in warned.items() if not count]
            found = ", ".join(silent) or "all do"
            yield Bar(f"{name}, uncalibrated: warns", found, "all do", not silent)


def _tools(done: Mapping[str, Ran]) -> Iterator[Bar]:
    name = "bfcl: cascade, right, and cost by gpt-4o's"
    tallies = done["bfcl"].tallies if "bfcl" in done else {}
    if "cascade" not in tallies:
        yield Bar(name, "-", "≥ 87.2 % at ≤ 0.5", None)
        return
    right = share(tallies["cascade"].right)
    cost = fmean(tallies["cascade"].cost) / fmean(tallies[BEST].cost)
    met = right.mean >= 0.872 and cost <= 0.5
    yield Bar(name, f"{_percent(right)} at {cost:.2f}", "≥ 87.2 % at ≤ 0.5", met)


def _loops(every: Mapping[str, Ran]) -> Iterator[Bar]:
    for name, ran in every.items():
        for label, tally in ran.tallies.items():
            if label in LOOPS:
                lost = difference(tally.right, _reference(ran).right)
                yield Bar(
                    f"{label}, {name}: points against its own first draft",
                    _points(lost),
                    "≥ -1",
                    _POINT * lost.mean >= -1,
                )


def _small(done: Mapping[str, Ran]) -> Iterator[Bar]:
    for name in SMALL:
        tallies = done[name].tallies if name in done else {}
        if LIKELIEST in tallies:
            lost = difference(tallies[LIKELIEST].right, tallies[PLAIN].right)
            bar = f"{name}: best of 5 by mean log-probability, points against greedy"
            yield Bar(bar, _points(lost), "≥ 0", lost.mean >= 0)


def _percent(found: Estimate) -> str:
    return f"{100 * found.mean:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def _points(found: Estimate) -> str:
    return f"{100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
