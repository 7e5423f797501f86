"""Finds what most candidates agree on. The winner is always one of them, word for word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.parts.answers import Expected
from techniques.parts.candidates import Candidate
from techniques.parts.decisions import agreement, names_of
from techniques.parts.stopping import Lead

REFUSAL: Final = "refusal"
_NUMBER: Final = "number|"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Candidates that gave one answer, by place."""

    key: str
    members: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Election:
    """A vote's outcome.

    Attributes:
        chosen: The candidate to commit.
        votes: How many candidates agree with it.
        counts: The sizes of all clusters, largest first.
        agreed: At least two candidates agree, and no other answer has as many.
    """

    chosen: Candidate
    votes: int
    counts: tuple[int, ...]
    agreed: bool


def clusters(candidates: Iterable[Candidate]) -> list[Cluster]:
    """Return the candidates that have a key in clusters, the winning one first.

    Ties: the cluster with candidate 0, then the higher best score, then the lower place.
    """
    grouped: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        key = REFUSAL if candidate.refusal else candidate.key
        if key is not None:
            grouped[key].append(candidate)
    merged = _with_units(grouped)
    found = [Cluster(key, tuple(sorted(group, key=_place))) for key, group in merged.items()]
    return sorted(found, key=_rank)


def lead(candidates: Sequence[Candidate], left: int, *, tools: bool) -> Lead:
    """Return how the vote of *candidates* stands with *left* draws to come.

    Where *tools* may be called the vote is taken in levels, so only what has more votes than all
    the rest together is ahead.
    """
    sizes = [len(cluster.members) for cluster in clusters(candidates)]
    first = sizes[0] if sizes else 0
    rest = sum(sizes[1:]) if tools else max(sizes[1:], default=0)
    return Lead(first, rest, left)


def elect(candidates: Sequence[Candidate], expected: Expected) -> Election:
    """Return what most of *candidates*, of which there is at least one, agree on.

    Without any key the first candidate is chosen.
    """
    voters = _acting_or_not(candidates) if expected.kind == "tool" else list(candidates)
    found = clusters(voters)
    counts = tuple(len(cluster.members) for cluster in found)
    if not found:
        return Election(min(candidates, key=_place), 0, (), agreed=False)
    most = len(found[0].members)
    agreed = most > 1 and sum(count == most for count in counts) == 1
    chosen = representative(found[0].members)
    if chosen.reply.tool_calls and 2 * most <= len(voters):
        chosen = medoid(voters, expected.parameters)
    return Election(chosen, most, tuple(sorted(counts, reverse=True)), agreed)


def representative(members: Sequence[Candidate]) -> Candidate:
    """Return the member to show: best score, then surest of itself, then shortest, then first."""
    return min(
        members,
        key=lambda member: (
            -(member.score if member.score is not None else -1.0),
            -_sureness(member.reply),
            len(member.reply.text),
            member.place,
        ),
    )


def medoid(candidates: Sequence[Candidate], parameters: Mapping[str, Json]) -> Candidate:
    """Return the candidate whose calls agree most, field by field, with the others' calls.

    A real candidate: fields of several are never put together to one.
    """

    def likeness(candidate: Candidate) -> float:
        calls = candidate.reply.tool_calls
        others = [other.reply.tool_calls for other in candidates if other is not candidate]
        return fmean([agreement(calls, theirs, parameters) for theirs in others] or [1.0])

    return max(candidates, key=lambda candidate: (likeness(candidate), -candidate.place))


def labelled(candidates: Sequence[Candidate], labels: Mapping[int, int]) -> list[Candidate]:
    """Return *candidates* keyed by the label of their place; those without a label keep theirs."""
    return [
        replace(candidate, key=f"group|{labels[candidate.place]}")
        if candidate.place in labels
        else candidate
        for candidate in candidates
    ]


def _acting_or_not(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those on the winning side of act or answer, and of acts those with the same tools."""
    acting = [candidate for candidate in candidates if candidate.reply.tool_calls]
    answering = [candidate for candidate in candidates if not candidate.reply.tool_calls]
    if _wins(answering, acting):
        return answering
    by_names: defaultdict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    for candidate in acting:
        by_names[names_of(candidate.reply.tool_calls)].append(candidate)
    return min(by_names.values(), key=_weight)


def _wins(side: Sequence[Candidate], other: Sequence[Candidate]) -> bool:
    return bool(side) and (not other or _weight(side) < _weight(other))


def _weight(group: Sequence[Candidate]) -> tuple[int, int]:
    return -len(group), min(candidate.place for candidate in group)


def _with_units(grouped: Mapping[str, list[Candidate]]) -> dict[str, list[Candidate]]:
    """Let a number without a unit vote for the unit that most others gave the same number."""
    merged = dict(grouped)
    for key in grouped:
        if key.startswith(_NUMBER) and key.endswith("|"):
            same = [other for other in merged if other != key and other.startswith(key)]
            if same:
                best = min(same, key=lambda other: _weight(grouped[other]))
                merged[best] = [*grouped[best], *merged.pop(key)]
    return merged


def _rank(cluster: Cluster) -> tuple[int, bool, float, int]:
    first = cluster.members[0].place
    best = max(-1.0 if member.score is None else member.score for member in cluster.members)
    return -len(cluster.members), first != 0, -best, first


def _place(candidate: Candidate) -> int:
    return candidate.place


def _sureness(reply: Reply) -> float:
    """Return the mean log-probability of a reply's tokens, minus infinity if it has none."""
    content = reply.logprobs.get("content") if isinstance(reply.logprobs, dict) else None
    values = [
        token["logprob"]
        for token in content or ()
        if isinstance(token, dict) and isinstance(token.get("logprob"), int | float)
    ]
    return fmean(values) if values else float("-inf")
