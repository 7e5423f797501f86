"""What is compared: a server, a model there, and how it is to answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from router_service.evaluation.hashing import hash_of
from techniques.core.json import Json, JsonObject

Environment = Callable[[str], str | None]
"""Returns what a variable of the environment is, None if it is not set."""

Reader = Callable[[str], Any]
"""Returns the value in the YAML file of that name.

Raises:
    ValueError: It cannot be read.
"""

_NAME: Final = re.compile(r"[\w.+-]{1,64}")
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET: Final = re.compile(r"(?i).*(authorization|auth|key|token|secret|password|cookie).*")
_OWN: Final = frozenset({"model", "messages", "tools", "response_format", "stream"})


class UnusableConfiguration(Exception):
    """A configuration cannot be used; the message has a line for each fault."""


class Configuration(BaseModel):
    """How prompts are asked. ``name`` and credentials are no part of what it is known by.

    ``headers`` and ``body`` go with each request as they are; ``technique``, ``params`` and
    ``lambda`` are Lockgate's headers of that name. ``pricing`` is in dollars per million tokens,
    for servers that do not tell what a call costs. ``family`` is whose model answers, guessed by
    the name of the model if it is not said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: str
    base_url: str
    model: str
    dialect: str = "openai_chat"
    api_key: str | None = Field(None, repr=False)
    headers: Mapping[str, str] = Field({}, repr=False)
    technique: str | None = None
    params: JsonObject = {}
    lambda_: float | None = Field(None, alias="lambda", ge=0, allow_inf_nan=False)
    body: JsonObject = {}
    pricing: JsonObject | None = None
    family: str = ""
    timeout_s: float = Field(300.0, gt=0, le=3600)

    @field_validator("name")
    @classmethod
    def _short(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("letters, digits, '.', '+', '-' and '_' make a name, 64 at most")
        return name

    @field_validator("base_url")
    @classmethod
    def _address(cls, url: str) -> str:
        at = urlsplit(url)
        if at.scheme not in {"http", "https"} or not at.hostname:
            raise ValueError(f"{url!r} must begin with http:// or https:// and name a host")
        if at.username or at.password:
            raise ValueError("write credentials as api_key: ${NAME}, not in the address")
        return url.rstrip("/")

    @field_validator("body")
    @classmethod
    def _not_ours(cls, body: JsonObject) -> JsonObject:
        if taken := sorted(_OWN & set(body)):
            raise ValueError(f"{', '.join(taken)}: that is said elsewhere")
        return body

    @cached_property
    def hash(self) -> str:
        """What it is known by: what changes an answer, its cost or its time."""
        shown = self.shown()
        return hash_of({key: shown[key] for key in shown if key != "family"})

    def shown(self) -> JsonObject:
        """Return it without its name and without secrets, as far as it says more than a default."""
        told: JsonObject = self.model_dump(by_alias=True, exclude_defaults=True, mode="json")
        del told["name"]
        told.pop("api_key", None)
        if self.headers:
            told["headers"] = {
                name.lower(): "***" if _SECRET.fullmatch(name) else value
                for name, value in self.headers.items()
            }
        return told

    def wishes(self) -> Mapping[str, str]:
        """Return the headers that ask for a technique, and those that were stated."""
        asked = {}
        if self.technique is not None:
            asked["x-lockgate-technique"] = self.technique
        if self.params:
            asked["x-lockgate-params"] = orjson.dumps(self.params).decode()
        if self.lambda_ is not None:
            asked["x-lockgate-lambda"] = f"{self.lambda_:g}"
        return asked | {name.lower(): value for name, value in self.headers.items()}


def configuration(stated: str, environment: Environment, read: Reader) -> Configuration:
    """Return the configuration that ``NAME=FILE [field=value …]`` or ``NAME=URL …`` states.

    Fields after the file win over what stands in it; ``params.n=3``, ``headers.x-team=a`` and
    ``body.temperature=0`` set one entry. A value is read as JSON if it is any, else as a text.

    Raises:
        UnusableConfiguration: It cannot be read, or a field is wrong, missing or unknown.
    """
    name, equals, rest = stated.partition("=")
    if not equals or not rest.strip() or "://" in name:
        raise UnusableConfiguration(f"{stated!r} is not NAME=FILE or NAME=URL")
    try:
        place, *fields = shlex.split(rest)
        tree = {"base_url": place} if "://" in place else dict(_mapping(read(place)))
        for field in fields:
            _set(tree, field)
        tree["name"] = name.strip()
        _reveal(tree, environment)
        return Configuration.model_validate(tree)
    except ValidationError as error:
        raise UnusableConfiguration("\n".join(_lines(name, error))) from error
    except ValueError as error:
        raise UnusableConfiguration(f"{name}: {error}") from error


def _mapping(tree: Any) -> Mapping[str, Json]:
    if not isinstance(tree, dict):
        raise ValueError("the file must have fields, such as base_url and model")  # noqa: TRY004
    return tree


def _set(tree: JsonObject, field: str) -> None:
    key, equals, value = field.partition("=")
    if not equals:
        raise ValueError(f"{field!r} is not field=value")
    outer, _, inner = key.partition(".")
    if not inner:
        tree[outer] = _value(value) if outer not in {"model", "technique", "family"} else value
        return
    entries = tree.get(outer) or {}
    text = outer == "headers"
    tree[outer] = {**_mapping(entries), inner: value if text else _value(value)}


def _value(text: str) -> Json:
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value


def _reveal(tree: JsonObject, environment: Environment) -> None:
    """Put what is in the environment in the place of its names; a secret must be such a name."""
    for name in ("base_url", "api_key"):
        if isinstance(stated := tree.get(name), str):
            tree[name] = _revealed(name, stated, environment)
    headers = tree.get("headers")
    if isinstance(headers, dict):
        tree["headers"] = {
            name: _revealed(f"headers.{name}", str(value), environment)
            for name, value in headers.items()
        }


def _revealed(at: str, text: str, environment: Environment) -> str:
    name = at.rpartition(".")[2]
    if _SECRET.fullmatch(name) and not _VARIABLE.search(text):
        raise ValueError(f"{at}: write secrets as ${{NAME}}, never themselves")

    def variable(match: re.Match[str]) -> str:
        found = environment(match[1])
        if found is None:
            raise ValueError(f"{at}: the environment variable {match[1]} is not set")
        return found

    return _VARIABLE.sub(variable, text)


def _lines(name: str, error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        at = ".".join(map(str, fault["loc"]))
        yield f"{name}: {at}: {str(fault['msg']).removeprefix('Value error, ')}"


_FAMILIES: Final = (
    ("openai", r"gpt|chatgpt|davinci|o[1345](?:-|$)"),
    ("anthropic", r"claude"),
    ("google", r"gemini|gemma|palm"),
    ("meta", r"llama"),
    ("qwen", r"qwen|qwq"),
    ("mistral", r"mistral|mixtral|codestral|ministral|magistral"),
    ("deepseek", r"deepseek"),
    ("xai", r"grok"),
    ("microsoft", r"phi(?:-|\d)"),
    ("cohere", r"command"),
    ("zhipu", r"glm"),
    ("moonshot", r"kimi|moonshot"),
    ("simulated", r"sim-"),
)


def family_of(stated: Configuration) -> str:
    """Return whose model answers, "" if neither that is said nor its name tells it."""
    if stated.family:
        return stated.family.lower()
    name = stated.model.lower().rpartition("/")[2]
    found = (
        family for family, known in _FAMILIES if re.match(rf"(?:.*[^a-z0-9])?(?:{known})", name)
    )
    return next(found, "")
