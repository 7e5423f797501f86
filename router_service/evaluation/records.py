"""What was asked, answered and judged: one line each, in a file that survives being cut off."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from techniques.core.json import JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Part, Refusal, Text, ToolCall

UNREACHED: Final = "unreached"
"""The kind of failure of which nobody was there to be asked."""

_PIECE: Final = 1 << 20


class Key(NamedTuple):
    """Which answer it is: whose, to what, and the how manieth."""

    config: str
    prompt: str
    repeat: int


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ConfigRow(_Row):
    """A configuration as it was, without secrets."""

    kind: Literal["config"] = "config"
    name: str
    config_hash: str
    stated: JsonObject


class PromptRow(_Row):
    """A prompt, so that the file can be understood, and learnt from, by itself."""

    kind: Literal["prompt"] = "prompt"
    id: str
    prompt_hash: str
    sent: JsonObject
    category: str = ""
    metadata: JsonObject = {}


class _Keyed(_Row):
    config_hash: str
    prompt_hash: str
    repeat: int

    @property
    def key(self) -> Key:
        """Which answer it is or is about."""
        return Key(self.config_hash, self.prompt_hash, self.repeat)


class AnswerRow(_Keyed):
    """What came of one request. ``error`` is "" where an answer came.

    Times are milliseconds, of a failure too. ``cost_usd`` None: not known. ``at`` is in seconds
    since 1970. Tokens are those of the answer alone, the cost is that of all calls; ``cost_tier``
    is how well Lockgate says that it knows it. ``retries``: how often it was asked for again,
    having been refused; the times of an answer are those of the last try.
    """

    kind: Literal["answer"] = "answer"
    config: str
    prompt: str
    at: float = 0.0
    text: str = ""
    thinking: str = ""
    refusal: str = ""
    tool_calls: tuple[JsonObject, ...] = ()
    finish_reason: str = ""
    model: str = ""
    error: str = ""
    error_kind: str = ""
    status: int | None = None
    latency_ms: float
    first_token_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cost_source: str = "unknown"
    cost_tier: str = ""
    calls: int | None = None
    retries: int = 0
    technique: str = ""
    route: str = ""
    request_id: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def degraded(self) -> bool:
        """Whether it was not answered as it was asked for: the server gave a warning."""
        return bool(self.warnings)

    @property
    def is_unasked(self) -> bool:
        """Whether nobody was there to be asked, so that it says nothing of who would answer."""
        return self.error_kind == UNREACHED

    def reply(self) -> Reply:
        """Return the answer as a grader reads it."""
        parts: list[Part] = [Text(self.text)] if self.text else []
        if self.refusal:
            parts.append(Refusal(self.refusal))
        parts += [
            ToolCall(str(one.get("id", "")), str(one["name"]), str(one.get("arguments", "")))
            for one in self.tool_calls
            if "name" in one
        ]
        return Reply(tuple(parts), "refusal" if self.refusal else "stop")


class GradeRow(_Keyed):
    """What an answer is worth, 0 to 1, by the grader of that hash; None: it could not be told.

    ``judge_error`` is why the judge gave no score where it was the call that failed.
    """

    kind: Literal["grade"] = "grade"
    grader_hash: str
    mode: str = ""
    quality: float | None = None
    exact: float | None = None
    judged: float | None = None
    unparsable: bool = False
    judge_error: str = ""
    schema_valid: bool | None = None
    refused: bool = False
    note: str = ""


class RescoreRow(_Keyed):
    """A second score by the same judge of the same answer."""

    kind: Literal["rescore"] = "rescore"
    grader_hash: str
    judged: float | None


class SwapRow(_Row):
    """Which of two answers a judge preferred, in both orders."""

    kind: Literal["swap"] = "swap"
    grader_hash: str
    prompt_hash: str
    first: str
    second: str
    repeat: int
    as_given: str | None
    swapped: str | None


Row: TypeAlias = Annotated[
    ConfigRow | PromptRow | AnswerRow | GradeRow | RescoreRow | SwapRow, Field(discriminator="kind")
]
_ROW: Final[TypeAdapter[Row]] = TypeAdapter(Row)


class InUse(Exception):
    """Another evaluation writes into the same file."""


@dataclass
class Records:
    """All that is in a file of records, by what it is about; of two lines the later holds."""

    configs: dict[str, ConfigRow] = field(default_factory=dict)
    prompts: dict[str, PromptRow] = field(default_factory=dict)
    answers: dict[Key, AnswerRow] = field(default_factory=dict)
    grades: dict[tuple[Key, str], GradeRow] = field(default_factory=dict)
    rescores: dict[tuple[Key, str], RescoreRow] = field(default_factory=dict)
    swaps: dict[tuple[str, str, str, str, int], SwapRow] = field(default_factory=dict)
    unreadable: int = 0

    def take(self, row: Row) -> None:
        """Take *row* in."""
        match row:
            case ConfigRow():
                self.configs[row.config_hash] = row
            case PromptRow():
                self.prompts[row.prompt_hash] = row
            case AnswerRow():
                self.answers[row.key] = row
            case GradeRow():
                self.grades[row.key, row.grader_hash] = row
            case RescoreRow():
                self.rescores[row.key, row.grader_hash] = row
            case SwapRow():
                place = (row.grader_hash, row.prompt_hash, row.first, row.second, row.repeat)
                self.swaps[place] = row


class RecordFile:
    """The file, held for one evaluation alone; each row is on its way to the disk when told."""

    def __init__(self, path: Path) -> None:
        """Open the file at *path*, made if need be; a last line that was cut off is taken away.

        Raises:
            InUse: Another evaluation holds it.
            OSError: It cannot be opened.
        """
        self._file = path.open("a+b", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise InUse(f"{path}: another evaluation writes into it") from error
        self._mend()
        self.records = Records()
        for line in _lines(path):
            self._take(line)

    def add(self, row: Row) -> None:
        """Take *row* in and write it down."""
        self.records.take(row)
        rest = memoryview(row.model_dump_json(exclude_defaults=False).encode() + b"\n")
        while rest:
            rest = rest[self._file.write(rest) or 0 :]

    def close(self) -> None:
        """Let others write."""
        if self._file.closed:
            return
        os.fsync(self._file.fileno())
        self._file.close()

    def _take(self, line: bytes) -> None:
        try:
            self.records.take(_ROW.validate_json(line))
        except ValidationError:
            self.records.unreadable += 1

    def _mend(self) -> None:
        """Cut what follows the last line end: a process was stopped while it wrote."""
        size = end = self._file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _PIECE)
            self._file.seek(start)
            found = self._file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            self._file.truncate(end)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield line
