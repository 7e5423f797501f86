"""Who can be asked, and by which token each is known: nobody is believed to be who they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gateway.attention.quota import Quota
from gateway.config.attention import AttentionConfig, PersonConfig
from gateway.policy.keys import Caller, KeyRing
from techniques.core.errors import Unauthenticated


@dataclass(frozen=True, slots=True)
class Person:
    """A person, how often they are asked, and the webhook that is told of it."""

    name: str
    quota: Quota
    webhook: str | None = None
    secret: str = ""


class Persons:
    """The persons by name, and by the token in a request."""

    def __init__(self, secret: str, persons: Iterable[tuple[str, Person]]) -> None:
        known = list(persons)
        self._ring = KeyRing(secret, [(hashed, Caller(person.name)) for hashed, person in known])
        self._by_name = {person.name: person for _, person in known}

    def named(self, name: str) -> Person | None:
        """Return the person of that name."""
        return self._by_name.get(name)

    def all(self) -> list[Person]:
        """Return all."""
        return list(self._by_name.values())

    def who(self, headers: Mapping[str, str]) -> Person | None:
        """Return the person whose token is in *headers*, None if it is nobody's."""
        try:
            caller = self._ring.find(self._ring.digest_in(headers))
        except Unauthenticated:
            return None
        return None if caller is None else self._by_name[caller.name or ""]


def persons_of(stated: AttentionConfig, secret: str) -> Persons:
    """Return the persons that a configuration states."""
    return Persons(secret, [(row.hash, _person(row, stated)) for row in stated.persons])


def _person(row: PersonConfig, stated: AttentionConfig) -> Person:
    quota = Quota(
        pool=f"person:{row.name}",
        name=f"person:{row.name}",
        unit="asks",
        most=row.asks or stated.asks,
        period_ms=round(1000 * (row.period or stated.period)),
    )
    secret = row.webhook_secret
    return Person(row.name, quota, row.webhook, secret.get_secret_value() if secret else "")
