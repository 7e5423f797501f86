"""Which faults to act on, and how to mend them so that nothing else in the text can change."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from techniques.core.json import Json
from techniques.parts.answers import AnswerKind
from techniques.parts.critique import SEVERITIES, Finding, Severity
from techniques.parts.decisions import read_json

_ALIKE: Final = 0.8
_MOST_LOADED: Final = 1_000_000  # characters of JSON
_REPLACEABLE: Final = frozenset({"prose", "short", "code"})


def worth_mending(
    findings: Sequence[Finding],
    text: str,
    kind: AnswerKind,
    *,
    earlier: Sequence[Finding] = (),
    floor: Severity = "minor",
) -> list[Finding]:
    """Return the findings about *text*, an answer of *kind*, to act on; worst first.

    Left out are those about what *text* does not say, those that would change nothing, those made
    *earlier* or twice, and those below *floor*.
    """
    there = _places(text, kind)
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda one: -SEVERITIES.index(one.severity)):
        grave = SEVERITIES.index(finding.severity) >= SEVERITIES.index(floor)
        seen = any(_same(finding, other) for other in (*earlier, *kept))
        if grave and not seen and there(finding):
            kept.append(finding)
    return kept


def patched(text: str, findings: Sequence[Finding], kind: AnswerKind) -> str | None:
    """Return *text*, an answer of *kind*, with every finding's fix put in place of its quote.

    None where that cannot be done for all by replacement alone: the model must then rewrite.
    """
    if kind == "json":
        return _document(text, findings)
    return _passages(text, findings) if kind in _REPLACEABLE else None


def _places(text: str, kind: AnswerKind) -> Callable[[Finding], bool]:
    """Return what tells whether a finding is about *text*, which is read only once."""
    if kind != "json":
        return partial(_is_quoted, _spaced(text))
    try:
        return partial(_is_pointed_to, _loaded(text))
    except ValueError:
        return lambda _: False


def _is_quoted(text: str, finding: Finding) -> bool:
    if finding.kind == "missing":
        return True
    quote = _spaced(finding.quote)
    return quote not in {"", _spaced(finding.fix)} and quote in text


def _is_pointed_to(document: Json, finding: Finding) -> bool:
    try:
        _place(document, finding)
    except LookupError:
        return False
    return True


def _passages(text: str, findings: Sequence[Finding]) -> str | None:
    for finding in findings:
        once = finding.kind != "missing" and text.count(finding.quote) == 1
        if not once or len(finding.fix) > 4 * len(finding.quote) + 200:
            return None
        text = text.replace(finding.quote, finding.fix)
    return text


def _document(text: str, findings: Sequence[Finding]) -> str | None:
    """Return the JSON *text* with each fix as the value that the finding's quote points to.

    Source: RFC 6901 (pointers); RFC 6902, sections 4.1 and 4.3 (``add`` and ``replace``).
    """
    try:
        value = _loaded(text)
        for finding in findings:
            _put(value, finding)
    except (ValueError, LookupError):
        return None
    return json.dumps(value, ensure_ascii=False, indent=2 if "\n" in text.strip() else None)


def _loaded(text: str) -> Json:
    """Return the JSON value of *text*.

    Raises:
        ValueError: It has none, or one that is too long to be mended.
    """
    if len(text) > _MOST_LOADED:
        raise ValueError("The answer is too long to be mended.")
    read_json(text)
    return json.loads(text)  # not what was read: this one keeps integers of any length


def _put(document: Json, finding: Finding) -> None:
    """Change *document* as *finding* says.

    Raises:
        LookupError: It points to nowhere; or to what is not there, and does not call it missing.
    """
    place, at = _place(document, finding)
    if finding.kind == "missing" and isinstance(place, list):
        place.append(_value(finding.fix, None))
    elif finding.kind == "missing" and at not in place:
        place[at] = _value(finding.fix, None)
    else:
        place[at] = _value(finding.fix, place[at])


def _place(document: Json, finding: Finding) -> tuple[Json, Json]:
    """Return which object or array of *document*, and where in it, *finding* is about.

    Raises:
        LookupError: It points to nowhere; or to what is not there, and does not call it missing.
    """
    *way, last = _steps(finding.quote)
    place = document
    for step in way:
        place = place[_index(place, step)]
    at = _index(place, last)
    if finding.kind != "missing":
        _ = place[at]
    return place, at


def _steps(pointer: str) -> list[str]:
    if not pointer.startswith("/"):
        raise LookupError(pointer)
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _index(place: Json, step: str) -> Json:
    """Return *step* as what *place*, an object or an array, is indexed by."""
    if isinstance(place, dict):
        return step
    if isinstance(place, list) and re.fullmatch(r"[0-9]{1,9}|-", step):
        return len(place) if step == "-" else int(step)
    raise LookupError(step)


def _value(fix: str, stood: Json) -> Json:
    """Return the value that *fix* spells as JSON, or *fix* itself where it spells none.

    Models leave out the quotes of a string: where one *stood*, 43 is text as well.
    """
    try:
        value = read_json(fix)
    except ValueError:
        return fix
    return fix if isinstance(stood, str) and isinstance(value, int | float) else value


def _same(one: Finding, other: Finding) -> bool:
    mine, theirs = _words(one), _words(other)
    if one.quote and _spaced(one.quote).casefold() == _spaced(other.quote).casefold():
        return True
    return len(mine & theirs) >= _ALIKE * len(mine | theirs)


def _words(finding: Finding) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", f"{finding.quote} {finding.fix}".casefold()))


def _spaced(text: str) -> str:
    return " ".join(text.split())
