"""The configuration of the router's own process: a YAML file, and the environment over it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from router_service.groundwork.addresses import driven
from router_service.groundwork.environment import FromEnvironment
from router_service.groundwork.filling import (
    PREFIX,
    Filling,
    Unreadable,
    sections,
    unknown_sections,
)
from router_service.groundwork.nearby import is_loopback
from router_service.groundwork.section import Section
from router_service.learning.artifacts import with_weights
from router_service.settings import RouterSettings

_TOKEN: Final = "LOCKGATE_ROUTER_TOKEN"
_SECRET: Final = re.compile(
    r"server\.(metrics_)?token|router\.store\.encryption.*|router\.embedding\.api_key"
)
_WEIGHTS: Final = "router.acm_linear.file"
"""Named from the folder of the configuration."""
_OF_A_GATEWAY: Final = (
    "it is the configuration of a gateway, and the router has one of its own (docs/router.md); "
    "`fit` and `inspect` read what a gateway has learnt by itself with --database and its "
    "database.url"
)


class Unusable(Exception):
    """The configuration cannot be used; the message has a line for each fault, with its path."""


class ServerSettings(Section):
    """Where it listens, and who may ask.

    Who has ``token`` may do everything; without one it listens on a loopback address only.
    ``/metrics`` wants ``metrics_token``, and nothing without one. A body has at most ``max_body``
    bytes, an import ``max_import``.
    """

    host: str = "127.0.0.1"
    port: int = Field(8090, ge=0, le=65535)
    token: SecretStr | None = Field(None, min_length=1)
    metrics_token: SecretStr | None = Field(None, min_length=1)
    max_body: int = Field(1_048_576, ge=1_024)
    max_import: int = Field(1_073_741_824, ge=1_024)
    drain_s: int = Field(5, ge=0, le=3_600)


class DatabaseSettings(Section):
    """Where what was observed is kept: alone, or beside the gateway's tables.

    ``pool`` bounds the connections of the process. What other processes have written is read every
    ``refresh_s`` seconds, and learnt.
    """

    url: str = driven("sqlite:///router.db")
    pool: int = Field(5, ge=2, le=100)
    refresh_s: float = Field(5.0, ge=0.1, le=3_600)

    @field_validator("url")
    @classmethod
    def _driven(cls, url: str) -> str:
        return driven(url)


class AgentCodecSettings(Section):
    """What is told to, and thought of, those who ask as clients of AgentCodec do (``/route``).

    Their vectors are those of ``model``, and of the ``encoder`` of that name in what was observed.
    ``techniques`` are what they can do; its first is what they do without a router.
    """

    model: str = "BAAI/bge-small-en-v1.5"
    encoder: str = "fastembed:BAAI/bge-small-en-v1.5:384"
    techniques: tuple[str, ...] = Field(
        (
            "baseline",
            "self_consistency",
            "self_refine",
            "chain_of_verification",
            "best_of_n",
            "cisc",
            "mixture_of_agents",
            "diversity_sc",
            "diversity_mrc",
            "harq_ir",
            "turbo",
            "fountain",
        ),
        min_length=1,
        max_length=64,
    )


class OwnRouterSettings(RouterSettings):
    """As in the gateway's configuration; a process of its own is there for a router that learns."""

    type: Literal["fixed", "semknn", "acm_table", "acm_linear"] = "semknn"


class ProcessSettings(Section):
    """All of it. ``router`` is what that section is in the gateway's configuration."""

    server: ServerSettings = ServerSettings()
    database: DatabaseSettings = DatabaseSettings()
    router: OwnRouterSettings = OwnRouterSettings()
    agentcodec: AgentCodecSettings = AgentCodecSettings()

    @model_validator(mode="after")
    def _is_closed(self) -> ProcessSettings:
        if self.server.token is None and not is_loopback(self.server.host):
            raise ValueError(
                f"server.host: without a token the router is open, and {self.server.host} can be "
                f"reached from other machines; set {_TOKEN} or use 127.0.0.1"
            )
        return self


class _Settings(FromEnvironment, ProcessSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX)


def load(path: Path | None) -> ProcessSettings:
    """Return the configuration in the file at *path*, the default one without a path.

    Raises:
        Unusable: It cannot be read, or a field is wrong or unknown.
    """
    problems: list[str] = []
    tree = {} if path is None else _tree(path, problems)
    problems += unknown_sections(os.environ, ProcessSettings.model_fields)
    if problems:
        raise Unusable("\n".join(problems))
    _add_token(tree)
    try:
        return _weighed(_Settings(**tree))
    except SettingsError as error:
        raise Unusable(f"the environment: {error}") from error
    except ValidationError as error:
        raise Unusable("\n".join(_lines(error))) from error


def _weighed(settings: ProcessSettings) -> ProcessSettings:
    """Return *settings* with the weights of the file that they name."""
    try:
        router = with_weights(settings.router)
    except (OSError, ValueError) as error:
        raise Unusable(f"{_WEIGHTS}: {error}") from error
    return settings.model_copy(update={"router": router})


def _add_token(tree: dict[str, Any]) -> None:
    """Take the token from where secrets are, unless the file names another place."""
    server = tree.setdefault("server", {})
    token = os.environ.get(_TOKEN)
    if token and isinstance(server, dict):
        server.setdefault("token", token)


def _tree(path: Path, problems: list[str]) -> dict[str, Any]:
    filling = Filling(path.parent, os.environ, problems)
    try:
        read = sections(path)
    except Unreadable as error:
        raise Unusable(str(error)) from error
    if "providers" in read or "models" in read:
        raise Unusable(f"{path}: {_OF_A_GATEWAY}")
    return {name: filling.whole(value, name, _filled) for name, value in read.items()}


def _filled(filling: Filling, value: str, at: str) -> str:
    if _SECRET.fullmatch(at):
        return filling.secret(value, at)
    if at == _WEIGHTS:
        return filling.path(value, at)
    return filling.address(value, at) if at == "database.url" else filling.plain(value, at)


def _lines(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        at = ".".join("lambda" if part == "lambda_" else str(part) for part in fault["loc"])
        said = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            said = "there is no such setting"
        yield f"{at}: {said}" if at else said
