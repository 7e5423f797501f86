"""From a YAML file and the environment to a configuration, or to one readable error."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError, model_validator
from pydantic_settings import SettingsConfigDict, SettingsError

from gateway.config.embedded import embedded
from gateway.config.partial import Partial
from gateway.config.schema import Config, Dialect, unknown_names
from gateway.credentials import is_credential
from router_service.groundwork.environment import FromEnvironment
from router_service.groundwork.filling import (
    PREFIX,
    Filling,
    Unreadable,
    sections,
    unknown_sections,
)

_SECRET = re.compile(
    r"providers\..+\.api_key|router\.(token|embedding\.api_key|store\.encryption.*)|metrics\.token"
    r"|attention\.persons\..+_secret|journal\.encryption.*"
)
_ADDRESSES = re.compile(r"store\.redis|database\.url|(?:upstream|providers\.[^.]+)\.proxy")
_FILES = re.compile(
    r"reliability\.calibration|router\.(embedding\.folder|acm_linear\.file)"
    r"|pricing\.(prices|tables\.\d+|catalogue\.(file|cache))"
)
_WRITTEN = ((_SECRET, Filling.secret), (_ADDRESSES, Filling.address), (_FILES, Filling.path))
_HEADER = re.compile(r"(?:providers\..+|tracing)\.headers\.([^.]+)")
_SCHEME = re.compile(r"[A-Za-z]+ +")


class ConfigError(Exception):
    """The configuration cannot be used; the message has a line for each fault, with its path.

    ``rest`` is the configuration without what is wrong, None if nothing can be said of that;
    ``follows`` tells of a fault in it whether it may be there only because of what is not.
    """

    def __init__(
        self,
        message: str,
        rest: Config | None = None,
        follows: Callable[[str], bool] = lambda _line: False,
    ) -> None:
        super().__init__(message)
        self.rest = rest
        self.follows = follows


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is only ever in the environment. ``key_secret`` hashes client keys."""

    key_secret: str | None
    admin_token: str | None


class _Settings(FromEnvironment, Config):
    model_config = SettingsConfigDict(env_prefix=PREFIX)


class _Unrelated(_Settings):
    """A configuration of which the parts may name each other wrongly."""

    @model_validator(mode="after")
    def _names_exist(self) -> _Unrelated:
        return self


def load(path: Path | None) -> Config:
    """Return the configuration in the file at *path*, or the embedded one without a path.

    Raises:
        ConfigError: It cannot be read, or a field is wrong, missing or unknown.
    """
    problems: list[str] = []
    tree = embedded(os.environ) if path is None else _tree(path, problems)
    problems += unknown_sections(os.environ, Config.model_fields)
    try:
        if not problems:
            return _Settings(**tree)
    except SettingsError as error:
        raise ConfigError(f"the environment: {error}") from error
    except ValidationError:
        pass
    raise _all_faults(tree, problems)


def _all_faults(tree: dict[str, Any], problems: Sequence[str]) -> ConfigError:
    """Return what says all that is wrong with *tree*, after *problems* that it had before.

    What is wrong is taken out until the rest can be looked at.
    """
    partial = Partial(tree, [line.partition(": ")[0] for line in problems])
    lines = list(problems)
    rest: Config | None = None
    while rest is None:
        try:
            rest = _Unrelated(**partial.tree)
        except SettingsError as error:
            return ConfigError("\n".join([*lines, f"the environment: {error}"]))
        except ValidationError as error:
            found = [line for line in _lines(error) if not partial.follows(line)]
            lines += [line for line in found if line not in lines]
            partial.known += [line.partition(": ")[0] for line in found]
            faults = error.errors(include_url=False, include_input=False)
            if not partial.without([(fault["loc"], fault["type"]) for fault in faults]):
                return ConfigError("\n".join(lines))
    lines += [line for line in unknown_names(rest) if not partial.follows(line)]
    return ConfigError("\n".join(lines), rest, partial.follows)


def secrets() -> Secrets:
    """Return the secrets of the process environment; an empty one is none."""
    key_secret, admin_token = (os.environ.get(PREFIX + n) for n in ("KEY_SECRET", "ADMIN_TOKEN"))
    return Secrets(key_secret or None, admin_token or None)


def _tree(path: Path, problems: list[str]) -> dict[str, Any]:
    filling = Filling(path.parent, os.environ, problems)
    try:
        read = sections(path)
    except Unreadable as error:
        raise ConfigError(str(error)) from error
    return {name: filling.whole(value, name, _filled) for name, value in read.items()}


def _filled(filling: Filling, value: str, at: str) -> str:
    header = _HEADER.fullmatch(at)
    if header and is_credential(header[1]):
        scheme = _SCHEME.match(value)
        said = scheme[0] if scheme else ""
        return said + filling.secret(value.removeprefix(said), at)
    for pattern, fill in _WRITTEN:
        if pattern.fullmatch(at):
            return fill(filling, value, at)
    return filling.plain(value, at)


def _lines(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        at = ".".join(_named(fault["loc"]))
        message = _said(fault["type"], fault["msg"], fault["loc"])
        yield f"{at}: {message}" if at else message


def _said(kind: str, message: str, loc: tuple[int | str, ...]) -> str:
    if loc == ("model_list",):
        return "it is a setting of LiteLLM's: `lockgate import litellm FILE` makes a file of ours"
    if kind == "extra_forbidden":
        allowed = (field.alias or name for name, field in _section(loc).model_fields.items())
        return f"there is no such setting; allowed here: {', '.join(allowed)}"
    plain = message.removeprefix("Value error, ").replace("a valid tuple", "a list")
    if kind == "missing" and loc[-1] == "dialect":
        return f"is missing; it is one of {', '.join(get_args(Dialect))}"
    return plain.replace("Input should be", "must be").replace("Field required", "is missing")


def _section(loc: tuple[int | str, ...]) -> type[BaseModel]:
    """Return the section of the configuration that *loc* is in."""
    section: type[BaseModel] = Config
    named = False  # what comes next is a name of the operator's, or a place in a list
    for part in loc[:-1]:
        field = None if named else section.model_fields.get(str(part))
        named = field is not None and get_origin(field.annotation) in (Mapping, tuple)
        section = (field and _model_in(field.annotation)) or section
    return section


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _named(loc: tuple[int | str, ...]) -> Iterator[str]:
    for part in loc:
        yield "lambda" if part == "lambda_" else str(part)


_FILE = "LOCKGATE_CONFIG_FILE"
_COUNTED = "PROMETHEUS_MULTIPROC_DIR"


def hand_down(path: Path | None, counted: str) -> None:
    """Tell worker processes, which are started from here, which file to load.

    *counted* is the directory where their metrics are summed up; prometheus-client reads its
    name from the environment.
    """
    os.environ[_FILE] = "" if path is None else str(path.absolute())
    os.environ[_COUNTED] = counted


def handed_down() -> Path | None:
    """Return the file that this worker process is to load, None for the embedded defaults."""
    name = os.environ.get(_FILE)
    return Path(name) if name else None
