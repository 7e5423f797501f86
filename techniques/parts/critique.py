"""A critic's findings: asked for as a list, kept only where they are about the text, applied."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.answers import AnswerKind
from techniques.parts.aside import Aside, Purpose
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import answer_shown

Kind: TypeAlias = Literal["wrong", "missing", "logic", "unclear", "format", "constraint"]
Severity: TypeAlias = Literal["minor", "major", "critical"]

_MOST_FINDINGS: Final = 5
_ALIKE: Final = 0.8
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: the passage it is in ("" where something is missing), and how to mend it."""

    quote: str
    kind: Kind
    fix: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Critique:
    """What a critic said. With ``done`` it sees nothing that is worth a change."""

    done: bool
    findings: tuple[Finding, ...]


def critique_request(aside: Aside, reply: Reply) -> Request:
    """Return the request that asks for the faults of *reply*."""
    answer = aside.fence.around("answer", answer_shown(reply))
    return aside.request(_FAULTFINDING, _TASK, aside.conversation(), answer)


def read_critique(text: str) -> Critique | None:
    """Return what a critic's reply says; None if it cannot be read, which means: stop."""
    said = read_object(text)
    if said is None or said.get("decision") not in {"stop", "continue"}:
        return None
    issues = said.get("issues")
    read = [_finding(issue) for issue in issues] if isinstance(issues, list) else []
    findings = tuple(finding for finding in read if finding is not None)
    return Critique(said["decision"] == "stop", findings)


def worth_mending(
    findings: Sequence[Finding],
    text: str,
    earlier: Sequence[Finding] = (),
    floor: Severity = "minor",
) -> list[Finding]:
    """Return the findings to act on, worst first.

    Left out are those that quote what *text* does not say, those made *earlier* or twice, and
    those below *floor*.
    """
    body = _spaced(text)
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda one: -_SEVERITIES.index(one.severity)):
        real = finding.kind == "missing" or (finding.quote and _spaced(finding.quote) in body)
        grave = _SEVERITIES.index(finding.severity) >= _SEVERITIES.index(floor)
        if real and grave and not any(_same(finding, other) for other in (*earlier, *kept)):
            kept.append(finding)
    return kept[:_MOST_FINDINGS]


def patched(text: str, findings: Sequence[Finding], kind: AnswerKind) -> str | None:
    """Return *text* with every finding's fix put in place of its quote.

    None where that cannot be done for all by replacement alone: the model must then rewrite.
    """
    if kind not in {"prose", "short"}:
        return None
    for finding in findings:
        once = finding.kind != "missing" and text.count(finding.quote) == 1
        if not once or len(finding.fix) > 4 * len(finding.quote) + 200:
            return None
        text = text.replace(finding.quote, finding.fix)
    return text


def correction(findings: Sequence[Finding]) -> str:
    """Return the user turn that asks for the same answer with *findings* mended."""
    lines = [
        f"{place}. ({finding.kind}) "
        + (f'Where it says "{finding.quote}": ' if finding.quote else "")
        + finding.fix
        for place, finding in enumerate(findings, 1)
    ]
    return "\n".join((_REVISE, *lines, _WHOLE))


def repair(defects: Sequence[str]) -> str:
    """Return the user turn that asks for the answer again, without *defects* of form."""
    return "\n".join((_REPAIR, *(f"- {defect}" for defect in defects), _WHOLE))


def _finding(issue: Json) -> Finding | None:
    if not isinstance(issue, dict):
        return None
    quote, fix = issue.get("quote"), issue.get("fix")
    kind = next((known for known in _KINDS if known == issue.get("kind")), None)
    severity = next((known for known in _SEVERITIES if known == issue.get("severity")), None)
    if not isinstance(fix, str) or not fix.strip() or kind is None:
        return None
    return Finding(quote if isinstance(quote, str) else "", kind, fix, severity or "minor")


def _same(one: Finding, other: Finding) -> bool:
    mine, theirs = _words(one), _words(other)
    if one.quote and _spaced(one.quote).casefold() == _spaced(other.quote).casefold():
        return True
    return len(mine & theirs) >= _ALIKE * len(mine | theirs)


def _words(finding: Finding) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", f"{finding.quote} {finding.fix}".casefold()))


def _spaced(text: str) -> str:
    return " ".join(text.split())


_TASK: Final = """\
You look for faults in an answer that an assistant gave to the last request of a conversation. \
Name only what is really wrong for that request: a false statement, a gap, a broken step, an \
unclear passage, a broken format or constraint. For each give the exact passage, word for word \
("" if something is missing), its kind, what should stand in the passage's place (or be added), \
and how grave it is. Matters of taste are no faults. If there is nothing worth a change, say so.
Reply with a JSON object only: {"decision": "stop" or "continue", "issues": [{"quote": ..., \
"kind": "wrong" | "missing" | "logic" | "unclear" | "format" | "constraint", "fix": ..., \
"severity": "critical" | "major" | "minor"}]}. At most five issues."""
_REVISE: Final = """\
A reviewer went over your answer. Make exactly these corrections where they are right, and keep \
everything else as it is:"""
_REPAIR: Final = "Your answer cannot be used as it is:"
_WHOLE: Final = "Give the whole answer again, and nothing but the answer."

_FAULTFINDING: Final = Purpose(
    "critique",
    1024,
    object_schema(
        {
            "decision": {"type": "string", "enum": ["stop", "continue"]},
            "issues": {
                "type": "array",
                "items": object_schema(
                    {
                        "quote": {"type": "string"},
                        "kind": {"type": "string", "enum": list(_KINDS)},
                        "fix": {"type": "string"},
                        "severity": {"type": "string", "enum": list(_SEVERITIES)},
                    }
                ),
            },
        }
    ),
    temperature=0.5,
)
