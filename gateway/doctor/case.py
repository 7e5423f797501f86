"""What is examined: a configuration, and where a gateway with it may be reached."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr
from sqlalchemy.engine import make_url

from gateway.config import Config, Secrets
from gateway.credentials import is_credential
from gateway.doctor.finding import Finding


@dataclass(frozen=True, slots=True)
class Case:
    """*file* None: the embedded configuration. ``url`` is where a gateway runs, if one does.

    ``must_run``: one has to. ``through`` is where clients reach it. ``offline``: providers are left
    alone. ``within_s`` is how long a check may take. ``unread`` are sections in which something is
    wrong: what *config* has there may be a default, and not what was meant.
    """

    file: Path | None
    config: Config
    known: Secrets
    url: str = ""
    through: str | None = None
    offline: bool = False
    within_s: float = 10.0
    must_run: bool = False
    unread: frozenset[str] = frozenset()

    @property
    def secrets(self) -> list[str]:
        """All texts that must not be told."""
        own = [self.known.key_secret, self.known.admin_token, _password(self.config)]
        return [text for text in (*own, *_secrets(self.config), *_headers(self.config)) if text]


Check: TypeAlias = Callable[[Case], AsyncGenerator[Finding, None]]
"""Looks at one thing. It may wait, never block, and is cut off when its time is over."""


def _password(config: Config) -> str | None:
    """Return the password of the database, None without one."""
    return str(make_url(config.database.url).password or "") if config.database.kept else None


def _secrets(value: object) -> Iterator[str]:
    """Yield the texts of all secrets in *value*, and the passwords of addresses among them."""
    if isinstance(value, SecretStr):
        text = value.get_secret_value()
        yield text
        for address in text.split(",") if "://" in text else ():
            yield address.partition("://")[2].rpartition("@")[0].rpartition(":")[2]
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, dict | tuple | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _secrets(inner)


def _headers(config: Config) -> Iterator[str]:
    for row in config.providers.values():
        yield urlsplit(row.base_url).password or ""
        for name, value in row.headers.items():
            if is_credential(name):
                yield value
                yield value.rpartition(" ")[2]
