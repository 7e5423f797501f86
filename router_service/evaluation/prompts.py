"""The prompts of an evaluation, and what is known of their right answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from router_service.evaluation.hashing import hash_of
from techniques.core.json import Json, JsonObject
from techniques.parts.scoring import MODES

_MOST_TOLD: Final = 20


class UnusablePrompts(Exception):
    """The file has no prompt that can be used; the message says why."""


class Prompt(BaseModel):
    """One conversation to be continued.

    Only ``messages``, ``tools`` and ``response_format`` are ever sent to what is evaluated. ``id``
    is what people call it; what it is known by is the ``hash`` of what is sent.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    id: str = ""
    messages: tuple[JsonObject, ...] = Field(min_length=1)
    tools: tuple[JsonObject, ...] = ()
    response_format: JsonObject | None = None
    category: str = ""
    reference: str | None = None
    score_mode: str | None = None
    metadata: JsonObject = {}

    @model_validator(mode="before")
    @classmethod
    def _one_question(cls, row: Any) -> Any:
        if not isinstance(row, dict):
            raise ValueError("it is no object")  # noqa: TRY004 - it is told with the others
        if ("prompt" in row) == ("messages" in row):
            raise ValueError("give either prompt or messages")
        if "prompt" not in row:
            return row
        if not isinstance(row["prompt"], str) or not row["prompt"].strip():
            raise ValueError("prompt: it must be a text that is not empty")
        asked = {"role": "user", "content": row["prompt"]}
        return {**{name: row[name] for name in row if name != "prompt"}, "messages": [asked]}

    @field_validator("id", "reference", mode="before")
    @classmethod
    def _worded(cls, value: Any) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return str(value) if is_number else value

    @field_validator("score_mode")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in (*MODES, "judge"):
            raise ValueError(f"there is no such mode; there are: {', '.join((*MODES, 'judge'))}")
        return value

    @cached_property
    def hash(self) -> str:
        """What it is known by."""
        return hash_of(self.sent())

    @property
    def document(self) -> str:
        """What it is about; prompts of one document are no independent evidence."""
        named = self.metadata.get("document")
        return self.hash if named is None else f"document {named}"

    def sent(self) -> JsonObject:
        """Return what of it goes into a request's body."""
        parts: JsonObject = {"messages": list(self.messages)}
        if self.tools:
            parts["tools"] = list(self.tools)
        if self.response_format is not None:
            parts["response_format"] = self.response_format
        return parts


_FIELDS: Final = (*Prompt.model_fields, "prompt")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts that can be used, each once, and a line for each that cannot, or not as it is."""

    usable: tuple[Prompt, ...]
    problems: tuple[str, ...] = ()

    def told(self) -> Sequence[str]:
        """Return the problems, of very many the first ones."""
        more = len(self.problems) - _MOST_TOLD
        rest = [f"and {more} more lines like that"] if more > 0 else []
        return [*self.problems[:_MOST_TOLD], *rest]


def read_prompts(text: str) -> Prompts:
    """Return the prompts in *text*, a JSON object a line; nothing that is usable is lost.

    Raises:
        UnusablePrompts: There is none.
    """
    problems: list[str] = []
    unread: Counter[str] = Counter()
    found: dict[str, Prompt] = {}
    names: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            prompt, strange = _read(line, f"line {number}")
        except (ValidationError, orjson.JSONDecodeError) as error:
            problems.append(f"line {number}: {_worded(error)}")
            continue
        if prompt.hash in found:
            problems.append(f"line {number}: it asks the same as {found[prompt.hash].id}")
            continue
        if prompt.id in names:
            told = f"{prompt.id} (line {number})"
            problems.append(f"line {number}: its id is taken, and it is called {told!r}")
            prompt = prompt.model_copy(update={"id": told})
        found[prompt.hash] = prompt
        names.add(prompt.id)
        unread.update(strange)
    problems += [_unread(name, lines) for name, lines in unread.items()]
    if not found:
        raise UnusablePrompts("\n".join(problems) or "there is no prompt")
    return Prompts(tuple(found.values()), tuple(problems))


def limited(prompts: Prompts, most: int | None) -> Prompts:
    """Return the first *most* of *prompts*; None: all."""
    return prompts if most is None else Prompts(prompts.usable[:most], prompts.problems)


def _unread(name: str, lines: int) -> str:
    asked = "".join(f"; is {meant} meant?" for meant in get_close_matches(name, _FIELDS, 1))
    return f"{name!r}, in {lines} {'line' if lines == 1 else 'lines'}: nothing reads it{asked}"


def _read(line: str, name: str) -> tuple[Prompt, Sequence[str]]:
    """Return the prompt in *line*, and the fields of it that nothing reads."""
    row: Json = orjson.loads(line)
    prompt = Prompt.model_validate(row)
    strange = [field for field in row if field not in _FIELDS]
    return prompt if prompt.id else prompt.model_copy(update={"id": name}), strange


def _worded(error: ValidationError | orjson.JSONDecodeError) -> str:
    if isinstance(error, orjson.JSONDecodeError):
        return f"it is no JSON: {error.msg}"
    return "; ".join(_lines(error))


def _lines(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        at = ".".join(map(str, fault["loc"]))
        yield f"{at}: {_said(fault)}" if at else _said(fault)


def _said(fault: Mapping[str, Any]) -> str:
    return str(fault["msg"]).removeprefix("Value error, ")
