"""The file of prompts that a router is calibrated by, and what was done of it already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from router_service.contract import Observation
from techniques.core.json import Json


class UnusablePrompts(Exception):
    """The file of prompts, or of what was learnt of them, cannot be used; a line for each fault."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A conversation to be continued; ``reference`` is a right answer, None if none is known.

    ``name`` is its own, or made of what it says. ``category`` is what it is said to be about.
    """

    name: str
    messages: Sequence[Json]
    reference: str | None = None
    category: str = ""


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str | int | None = None
    prompt: str | None = None
    messages: list[dict[str, Json]] | None = Field(None, min_length=1)
    reference: str | int | float | None = None
    category: str | None = None

    @model_validator(mode="after")
    def _one_prompt(self) -> _Row:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either prompt or messages")
        return self


def read_prompts(text: str) -> list[Prompt]:
    """Return the prompts in *text*, a JSON object a line, each once.

    Each has ``prompt`` or ``messages``, and may have ``reference``, ``category`` and ``id``; what
    else it has does not matter.

    Raises:
        UnusablePrompts: A line is none, or there is no line.
    """
    found: dict[str, Prompt] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            prompt = _prompt(_Row.model_validate_json(line))
        except ValidationError as error:
            problems.append(_told(number, error))
            continue
        found.setdefault(prompt.name, prompt)
    if problems or not found:
        raise UnusablePrompts("\n".join(problems) or "there is no prompt")
    return list(found.values())


def _prompt(row: _Row) -> Prompt:
    asked: list[Json] = [{"role": "user", "content": row.prompt}]
    messages: list[Json] = list(row.messages) if row.messages else asked
    reference = None if row.reference is None else str(row.reference)
    said = orjson.dumps([messages, reference], option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(said, digest_size=12).hexdigest()
    name = digest if row.id is None else f"{str(row.id)[:64]}-{digest[:8]}"
    return Prompt(name, messages, reference, row.category or "")


def _told(number: int, error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    at = ".".join(map(str, fault["loc"]))
    return f"line {number}: {f'{at}: ' if at else ''}{fault['msg']}"


class Written:
    """The file that observations are written to, a line each, and who is in it already.

    All of one prompt are written at once, so a run that is broken off leaves none half done. A last
    line that was cut off is cut away.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.done: set[str] = set()
        if path.exists():
            self._mend()

    def add(self, rows: Iterable[Observation]) -> None:
        """Write *rows*, those of one request, at the end."""
        lines = [row.model_dump_json(by_alias=True) + "\n" for row in rows]
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(lines))
            file.flush()

    def rows(self) -> Iterator[Observation]:
        """Yield all that is written."""
        if not self._path.exists():
            return
        with self._path.open(encoding="utf-8") as file:
            for line in file:
                yield Observation.model_validate_json(line)

    def _mend(self) -> None:
        raw = self._path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self.done.add(Observation.model_validate_json(line).request_id)
            except ValidationError as error:
                raise UnusablePrompts(f"{self._path} {_told(number, error)}") from None
        if len(whole) < len(raw):
            with self._path.open("r+b") as file:
                file.truncate(len(whole))
