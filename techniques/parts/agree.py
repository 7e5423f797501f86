"""Finds what most candidates agree on. The winner is always one of them, word for word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from pricing.record import record
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.parts.answers import Expected
from techniques.parts.candidates import Candidate
from techniques.parts.confidence import tokens_of
from techniques.parts.decisions import agreement, decisions, fields, names_of
from techniques.parts.keys import TEXT, keyed
from techniques.parts.stopping import Lead

REFUSAL: Final = "refusal"
_NUMBER: Final = "number|"
_DIGITS: Final = 9  # of a sum of floats: what differs after them is a tie


@record(frozen=True, slots=True)
class Cluster:
    """Candidates that gave one answer, by place."""

    key: str
    members: tuple[Candidate, ...]

    @property
    def weight(self) -> float:
        """What its votes weigh together."""
        return total(self.members)

    @property
    def votes(self) -> float:
        """How many votes that is, where a model that is trusted less has less than one."""
        return sum(member.trust for member in self.members)


@record(frozen=True, slots=True)
class Election:
    """A vote's outcome.

    Attributes:
        chosen: The candidate to commit.
        votes: How many candidates agree with it.
        counts: The sizes of all clusters, the winning one first.
        totals: What the votes of each of them weigh together.
        agreed: At least two candidates agree, and no other answer has as much weight.
    """

    chosen: Candidate
    votes: int
    counts: tuple[int, ...]
    totals: tuple[float, ...]
    agreed: bool


def clusters(candidates: Iterable[Candidate]) -> list[Cluster]:
    """Return the candidates that have a key in clusters, the winning one first.

    The one of most weight wins. Ties: the cluster with candidate 0, then the one with more
    members, then the higher best score, then the lower place.
    """
    grouped: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        key = REFUSAL if candidate.refusal else candidate.key
        if key is not None:
            grouped[key].append(candidate)
    merged = _with_units(grouped)
    found = [Cluster(key, tuple(sorted(group, key=_place))) for key, group in merged.items()]
    return sorted(found, key=_rank)


def lead(
    candidates: Sequence[Candidate],
    left: int,
    *,
    levels: bool,
    coming: tuple[float, ...] | None = None,
) -> Lead:
    """Return how the vote of *candidates* stands with *left* draws to come.

    *coming* is the most that each of these can weigh, None for 1 each.

    Where the vote is taken in *levels* (act or answer, then which tool), or clusters may yet be
    joined by a voter, only what has more votes than all the rest together is ahead.
    """
    found = clusters(candidates)
    sizes = [cluster.votes for cluster in found]
    totals = [cluster.weight for cluster in found]
    against = sum(sizes[1:])
    second = against if levels else max(sizes[1:], default=0)
    ahead = sum(totals[:1]) - (sum(totals[1:]) if levels else max(totals[1:], default=0))
    return Lead(sum(sizes[:1]), second, left, ahead, against - second, coming)


def contenders(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those who vote in the end: the larger side of calling a tool and answering.

    Of those that call tools, the ones that call the same tools as most.
    """
    acting = [candidate for candidate in candidates if candidate.reply.tool_calls]
    answering = [candidate for candidate in candidates if not candidate.reply.tool_calls]
    if not acting or (answering and _standing(answering) < _standing(acting)):
        return answering
    by_names: defaultdict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    for candidate in acting:
        by_names[names_of(candidate.reply.tool_calls)].append(candidate)
    return min(by_names.values(), key=_standing)


def comparable(voters: Sequence[Candidate], expected: Expected, *, json: bool = True) -> bool:
    """Tell whether it can be read off *voters*, however few, if two of them agree.

    Of JSON only its decisions can; without *json* its prose is to count, too.
    """
    if any(voter.reply.tool_calls for voter in voters[:1]):
        return True
    return keyed(expected.text) or (json and expected.text == "json")


def elect(voters: Sequence[Candidate], expected: Expected) -> Election:
    """Return what most of *voters*, of which there is at least one, agree on.

    Without any key the first is chosen. Tool calls without an absolute majority give way to the
    one that is most like all others.
    """
    found = clusters(voters)
    counts = tuple(len(cluster.members) for cluster in found)
    totals = tuple(cluster.weight for cluster in found)
    if not found:
        return Election(min(voters, key=worth), 0, (), (), agreed=False)
    agreed = counts[0] > 1 and totals.count(totals[0]) == 1
    chosen = representative(found[0].members)
    if chosen.reply.tool_calls and 2 * totals[0] <= total(voters):
        chosen = medoid(voters, expected.parameters)
    return Election(chosen, counts[0], counts, totals, agreed)


def runners_up(candidates: Sequence[Candidate], chosen: Candidate) -> list[Candidate]:
    """Return who stands for each of the other answers than the *chosen* one's, the best first."""
    others = [
        cluster.members
        for cluster in clusters(candidates)
        if all(member.place != chosen.place for member in cluster.members)
    ]
    return [representative(members) for members in others]


def representative(members: Sequence[Candidate]) -> Candidate:
    """Return the member to show: best score, then surest of itself, then shortest, then first."""
    return min(
        members,
        key=lambda member: (
            *worth(member)[:2],
            -_sureness(member.reply),
            len(member.reply.text),
            member.place,
        ),
    )


def medoid(candidates: Sequence[Candidate], parameters: Mapping[str, Json]) -> Candidate:
    """Return the candidate whose calls agree most, field by field, with the others' calls.

    A real candidate: fields of several are never put together to one.
    """
    said = fields([candidate.reply.tool_calls for candidate in candidates], parameters)
    return _central(candidates, said)


def closest(candidates: Sequence[Candidate], schema: Json) -> Candidate:
    """Return the candidate whose JSON agrees most, field by field, with the others'."""
    said = decisions([candidate.reply.text for candidate in candidates], schema)
    return _central(candidates, said)


def unanimous(candidates: Sequence[Candidate]) -> bool:
    """Tell whether all of *candidates*, of which there is at least one, have the same key."""
    keys = {None if candidate.refusal else candidate.key for candidate in candidates}
    return len(keys) == 1 and None not in keys


def unsorted(candidates: Sequence[Candidate]) -> bool:
    """Tell whether a voter's view of unlike texts could change who wins."""
    found = clusters(candidates)
    if not any(cluster.key.startswith(TEXT) for cluster in found):
        return False
    return 2 * found[0].weight <= sum(cluster.weight for cluster in found)


def worth(candidate: Candidate) -> tuple[float, float, int]:
    """Return the rank by a judge's score, then by confidence, then by place; the best is least.

    What is not known comes after all that is.
    """
    known = (candidate.score, candidate.sureness)
    score, sureness = (1.0 if value is None else -value for value in known)
    return score, sureness, candidate.place


def total(candidates: Iterable[Candidate]) -> float:
    """Return what the votes of *candidates* weigh together."""
    return sum(candidate.weight for candidate in candidates)


def labelled(candidates: Sequence[Candidate], labels: Mapping[int, int]) -> list[Candidate]:
    """Return *candidates* keyed by the label of their place; those without a label keep theirs."""
    return [
        replace(candidate, key=f"group|{labels[candidate.place]}")
        if candidate.place in labels
        else candidate
        for candidate in candidates
    ]


def _central(candidates: Sequence[Candidate], said: Sequence[Mapping[str, Json]]) -> Candidate:
    """Return the candidate that *said* what is most like all, itself too, each by its weight."""

    def place(at: int) -> tuple[float, int]:
        like = (
            other.weight * agreement(said[at], theirs)
            for other, theirs in zip(candidates, said, strict=True)
        )
        return round(sum(like), _DIGITS), -candidates[at].place

    return candidates[max(range(len(candidates)), key=place)]


def _standing(group: Sequence[Candidate]) -> tuple[float, int]:
    return -total(group), min(candidate.place for candidate in group)


def _with_units(grouped: Mapping[str, list[Candidate]]) -> dict[str, list[Candidate]]:
    """Let a number without a unit vote for the unit that most others gave the same number."""
    merged = dict(grouped)
    for key in grouped:
        if key.startswith(_NUMBER) and key.endswith("|"):
            same = [other for other in merged if other != key and other.startswith(key)]
            if same:
                best = min(same, key=lambda other: _standing(grouped[other]))
                merged[best] = [*grouped[best], *merged.pop(key)]
    return merged


def _rank(cluster: Cluster) -> tuple[float, bool, int, float, int]:
    first = cluster.members[0].place
    best = min(worth(member)[0] for member in cluster.members)
    return -cluster.weight, first != 0, -len(cluster.members), best, first


def _place(candidate: Candidate) -> int:
    return candidate.place


def _sureness(reply: Reply) -> float:
    """Return the mean log-probability of a reply's tokens, minus infinity if it has none."""
    values = [logprob for _, logprob in tokens_of(reply.logprobs)]
    return fmean(values) if values else float("-inf")
