"""A critic's findings: asked for as a list, kept only where they are about the text, applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.answers import AnswerKind
from techniques.parts.aside import Aside, Purpose
from techniques.parts.decisions import spelled
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import answer_shown, shortened

Kind: TypeAlias = Literal["wrong", "missing", "logic", "unclear", "format", "constraint"]
Severity: TypeAlias = Literal["minor", "major", "critical"]
Lens: TypeAlias = Literal[
    "everything", "correctness", "completeness", "logic", "clarity", "constraints"
]

SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""From the least grave to the gravest."""

_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_MOST_READ: Final = 20  # issues; who lists more does not mean them
_LONGEST: Final = 200  # characters shown of a passage that was dealt with


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: the passage it is in ("" where something is missing), and how to mend it.

    Of a JSON answer, ``quote`` is the pointer to the value at fault, and ``fix`` the right value.
    """

    quote: str
    kind: Kind
    fix: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Critique:
    """What a critic said. With ``done`` it sees nothing that is worth a change."""

    done: bool
    findings: tuple[Finding, ...]


def critique_request(
    aside: Aside,
    reply: Reply,
    kind: AnswerKind = "prose",
    *,
    lens: Lens = "everything",
    settled: Sequence[str] = (),
) -> Request:
    """Return the request that asks for the faults that *lens* shows of *reply*, of *kind*.

    Of earlier critiques the critic sees the passages that are *settled* and nothing else: their
    words would lead it to say the same again.
    """
    answer = aside.fence.around("answer", answer_shown(reply))
    passages = [_TASK, _LENSES[lens], _FIELDS if kind == "json" else _PASSAGES]
    shown = [aside.conversation(), answer]
    if quotes := [shortened(quote, _LONGEST) for quote in settled if quote]:
        passages.append(_SETTLED)
        shown.append(aside.fence.around("settled", "\n".join(quotes)))
    purpose = _FAULTS_OF_FIELDS if kind == "json" else _FAULTS
    return aside.request(purpose, *(passage for passage in passages if passage), *shown)


def read_critique(text: str) -> Critique | None:
    """Return what a critic's reply says; None if it cannot be read, which means: stop."""
    said = read_object(text)
    if said is None or said.get("decision") not in ("stop", "continue"):
        return None
    issues = said.get("issues")
    read = [_finding(issue) for issue in issues[:_MOST_READ]] if isinstance(issues, list) else []
    findings = tuple(finding for finding in read if finding is not None)
    return Critique(said["decision"] == "stop", findings)


def correction(
    findings: Sequence[Finding], kind: AnswerKind = "prose", defects: Sequence[str] = ()
) -> str:
    """Return the user turn that asks for the same answer, of *kind*, with *findings* mended.

    *defects* are what is wrong with the form of an earlier try.
    """
    where = "At" if kind == "json" else "Where it says"
    lines = [
        f"{place}. ({finding.kind}) "
        + (f'{where} "{finding.quote}": ' if finding.quote else "")
        + finding.fix
        for place, finding in enumerate(findings, 1)
    ]
    form = (_BROKEN, *(f"- {defect}" for defect in defects)) if defects else ()
    return "\n".join((_REVISE, *lines, *form, _WHOLE))


def repair(defects: Sequence[str]) -> str:
    """Return the user turn that asks for the answer again, without *defects* of form."""
    return "\n".join((_REPAIR, *(f"- {defect}" for defect in defects), _WHOLE))


def _finding(issue: Json) -> Finding | None:
    if not isinstance(issue, dict):
        return None
    quote, fix = issue.get("path", issue.get("quote")), issue.get("value", issue.get("fix"))
    if "value" in issue and not isinstance(fix, str):
        fix = spelled(fix)
    kind = next((known for known in _KINDS if known == issue.get("kind")), None)
    severity = next((known for known in SEVERITIES if known == issue.get("severity")), None)
    if not isinstance(fix, str) or not fix.strip() or kind is None:
        return None
    return Finding(quote if isinstance(quote, str) else "", kind, fix, severity or "minor")


_TASK: Final = """\
You look for faults in an answer that an assistant gave to the last request of a conversation. \
Name only what is really wrong for that request: a false statement, a gap, a broken step, an \
unclear passage, a broken format or constraint. Matters of taste are no faults."""
_LENSES: Final[Mapping[Lens, str]] = {
    "everything": "",
    "correctness": "This time look at one thing only: whether its statements and result are right.",
    "completeness": "This time look at one thing only: whether everything that was asked for is "
    "there.",
    "logic": "This time look at one thing only: whether each step follows from those before, and "
    "nothing in it contradicts itself.",
    "clarity": "This time look at one thing only: whether a reader can take each passage only as "
    "it is meant.",
    "constraints": "This time look at one thing only: whether all limits that were set are kept, "
    "of form, length, language and content.",
}
_PASSAGES: Final = """\
For each fault give the exact passage, word for word ("" if something is missing), its kind, what \
should stand in the passage's place (or be added), and how grave it is. If there is nothing worth \
a change, say so.
Reply with a JSON object only: {"decision": "stop" or "continue", "issues": [{"quote": ..., \
"kind": "wrong" | "missing" | "logic" | "unclear" | "format" | "constraint", "fix": ..., \
"severity": "critical" | "major" | "minor"}]}. At most five issues."""
_FIELDS: Final = """\
The answer is JSON. For each fault give the JSON pointer of the value at fault, such as \
/items/0/name (or of where a value is missing), its kind, the right value as JSON text, and how \
grave it is. If there is nothing worth a change, say so.
Reply with a JSON object only: {"decision": "stop" or "continue", "issues": [{"path": ..., \
"kind": "wrong" | "missing" | "logic" | "unclear" | "format" | "constraint", "value": ..., \
"severity": "critical" | "major" | "minor"}]}. At most five issues."""
_SETTLED: Final = """\
Passages that have been dealt with are listed as settled. Leave them and look elsewhere."""
_REVISE: Final = """\
A reviewer went over your answer. Make exactly these corrections where they are right, and keep \
everything else as it is:"""
_BROKEN: Final = "An earlier try could not be used. It broke these rules of form:"
_REPAIR: Final = "Your answer cannot be used as it is:"
_WHOLE: Final = "Give the whole answer again, and nothing but the answer."


def _purpose(place: str, mended: str) -> Purpose:
    issue = {
        place: {"type": "string"},
        "kind": {"type": "string", "enum": list(_KINDS)},
        mended: {"type": "string"},
        "severity": {"type": "string", "enum": list(SEVERITIES)},
    }
    schema = {
        "decision": {"type": "string", "enum": ["stop", "continue"]},
        "issues": {"type": "array", "items": object_schema(issue)},
    }
    return Purpose("critique", 1024, object_schema(schema), temperature=0.5)


_FAULTS: Final = _purpose("quote", "fix")
_FAULTS_OF_FIELDS: Final = _purpose("path", "value")
