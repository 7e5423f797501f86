"""What was measured, as tables, and the bars that it has to reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from statistics import fmean
from typing import Final

from bench.quality.arms import (
    BEST,
    KNOWN,
    LIKELIEST,
    LOOPS,
    PLAIN,
    POOLS,
    SIZES,
    SMALL,
    VOTING,
)
from bench.quality.replay import Terms
from bench.quality.running import Ran, Tally, plain_majority
from bench.quality.statistics import Estimate, difference, share
from techniques.parts.stopping import FIRST_WAVE

_SAVED: Final = {5: 20.0, 10: 35.0, 20: 50.0}
"""Per cent of the samples that a vote of so many must save."""
_LOSS: Final = -0.2
_HARDLY: Final = 3.1
"""Calls that a vote may take where draws hardly differ: its least, and a few questions more."""
_POINT: Final = 100.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A thing to reach.

    ``found`` tells what was found. ``met`` is None where it was not measured; ``near`` tells of one
    that was missed whether the interval reaches it.
    """

    name: str
    found: str
    wanted: str
    met: bool | None
    near: bool = False

    @property
    def verdict(self) -> str:
        """What to say of it."""
        if self.met is None:
            return "not measured"
        return "met" if self.met else f"**not met**{', within the noise' if self.near else ''}"


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
    asked = _asked(ran)
    time = "Times as recorded" if ran.recorded.timed else "Each call taken to last as long"
    return "\n".join((f"{about}{asked}. {time}.", "", *lines, *_notes(ran)))


def _asked(ran: Ran) -> str:
    """Tell how often each question was asked, where that is more than once."""
    often = sorted({tally.repeats for tally in ran.tallies.values()})
    if often[-1:] in ([], [1]):
        return ""
    return f", each asked {' or '.join(map(str, often))} times"


def bars_table(bars: Sequence[Bar]) -> str:
    """Return *bars* as a table."""
    lines = ["| bar | found | has to be | |", "|---|---|---|---|"]
    lines += [f"| {bar.name} | {bar.found} | {bar.wanted} | {bar.verdict} |" for bar in bars]
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
        "" if tally is reference else points(tally.against(reference)),
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
        name = f"vote, N = {size}, the mean of all voting sets"
        if not found:
            yield Bar(name, "-", _wanted(size), None)
            continue
        lost = fmean(one[0].mean for one in found.values())
        saved = fmean(one[1] for one in found.values())
        yield Bar(
            f"{name}: points against a plain majority; samples saved",
            f"{_POINT * lost:+.2f}; {saved:.0f} %",
            _wanted(size),
            _POINT * lost >= _LOSS and saved >= _SAVED[size],
        )
        for where, (by, kept) in found.items():
            yield Bar(
                f"vote, N = {size}, {where}",
                f"{points(by)}; {kept:.0f} %",
                _wanted(size),
                _POINT * by.mean >= _LOSS and kept >= _SAVED[size],
                _POINT * by.high >= _LOSS and kept >= _SAVED[size],
            )
    yield _minimum(done)


def _vote(ran: Ran, size: int, terms: Terms) -> tuple[Estimate, float]:
    """Return by how much a vote is better than a plain majority, and what it saves, per cent."""
    tally = ran.tallies[f"self_consistency N={size}"]
    plain = plain_majority(ran.recorded, terms, size, tally.repeats)
    return difference(tally.right, plain), 100 * (1 - fmean(tally.calls) / size)


def _wanted(size: int) -> str:
    return f"≥ {_LOSS}; ≥ {_SAVED[size]:.0f} %"


def _minimum(done: Mapping[str, Ran]) -> Bar:
    """Return how many calls are made on questions whose draws hardly differ.

    Beside it stands how many on those alone whose draws are all the same.
    """
    name = "vote, codex_n40, draws hardly differ: calls, N = 5, 10, 20"
    wanted = f"≤ {_HARDLY}, its least is {FIRST_WAVE}"
    ran = done.get("codex_n40")
    if ran is None or f"self_consistency N={SIZES[0]}" not in ran.tallies:
        return Bar(name, "-", wanted, None)
    model = ran.recorded.models[0].name
    alike = [
        len({sample.answer for sample in question.samples[model]}) == 1
        for question in ran.recorded.questions
    ]
    calls = [ran.tallies[f"self_consistency N={size}"].calls for size in SIZES]
    whole = ", ".join(f"{fmean(one):.2f}" for one in calls)
    same = ", ".join(f"{fmean(compress(one, alike)):.2f}" for one in calls) if any(alike) else "-"
    found = f"{whole} (on the {sum(alike)} of {len(alike)} whose draws are all the same {same})"
    return Bar(name, found, wanted, max(map(fmean, calls)) <= _HARDLY)


def _pools(done: Mapping[str, Ran]) -> Iterator[Bar]:
    for name in POOLS:
        if name not in done:
            continue
        tallies = done[name].tallies
        lost = {
            label: tally.against(tallies[BEST])
            for label, tally in tallies.items()
            if label.endswith(KNOWN)
        }
        if lost:
            worst = min(lost, key=lambda label: lost[label].mean)
            yield Bar(
                f"{name}, calibrated: the worst of {len(lost)} against the best member",
                f"{worst.removesuffix(KNOWN)} {points(lost[worst])}",
                "≥ -0.5",
                _POINT * lost[worst].mean >= -0.5,
                _POINT * lost[worst].high >= -0.5,
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
    name, wanted = "bfcl: cascade, right, and cost by gpt-4o's", "≥ 87.2 %; ≤ 0.5"
    tallies = done["bfcl"].tallies if "bfcl" in done else {}
    if "cascade" not in tallies:
        yield Bar(name, "-", wanted, None)
        return
    right = share(tallies["cascade"].right)
    cost = fmean(tallies["cascade"].cost) / fmean(tallies[BEST].cost)
    met, near = right.mean >= 0.872, right.high >= 0.872
    found = f"{_percent(right)}; {cost:.2f}"
    yield Bar(name, found, wanted, met and cost <= 0.5, near and cost <= 0.5)


def _loops(every: Mapping[str, Ran]) -> Iterator[Bar]:
    for name, ran in every.items():
        for label, tally in ran.tallies.items():
            if label in LOOPS:
                lost = tally.against(_reference(ran))
                yield Bar(
                    f"{label}, {name}: points against its own first draft",
                    points(lost),
                    "≥ -1",
                    _POINT * lost.mean >= -1,
                    _POINT * lost.high >= -1,
                )


def _small(done: Mapping[str, Ran]) -> Iterator[Bar]:
    for name in SMALL:
        tallies = done[name].tallies if name in done else {}
        if LIKELIEST in tallies:
            lost = tallies[LIKELIEST].against(tallies[PLAIN])
            bar = f"{name}: best of 5 by mean log-probability, points against greedy"
            yield Bar(bar, points(lost), "≥ 0", lost.mean >= 0)


def _percent(found: Estimate) -> str:
    return f"{100 * found.mean:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def points(found: Estimate) -> str:
    """Return *found*, a share, in points with its interval."""
    return f"{100 * found.mean:+.1f} ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
