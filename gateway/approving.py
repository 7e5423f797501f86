"""The command ``approvals``: tokens for people, what they are asked, and their decisions."""

from __future__ import annotations

import secrets as dice
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import anyio
import orjson
import typer

from gateway.attention.persons import Person, persons_of
from gateway.attention.questions import Approval, Decision, Sought
from gateway.attention.tables import ApprovalTables
from gateway.attention.telling import told
from gateway.config import Config, Secrets
from gateway.loading import FILE, checked, stop
from gateway.policy.keys import digest
from gateway.stores.database.engine import DatabaseLost, DatabaseUnusable, opened
from gateway.stores.database.records import now
from gateway.tabling import table

approvals = typer.Typer(no_args_is_help=True, help="Questions to people.")

_COLUMNS: Final = ("id", "state", "person", "kind", "question", "asked_by", "expires_at")
_TOKEN = typer.Option(
    "--token", envvar="LOCKGATE_PERSON_TOKEN", help="Yours; better in LOCKGATE_PERSON_TOKEN."
)
_JSON = typer.Option("--json", help="Tell it in JSON.")
_ALL = typer.Option("--all", help="Those too that have ended.")
_OPTION = typer.Option("--option", help="Which of its options.")
_NOTE = typer.Option("--note", help="A word to whoever asked.")
ConfigFile: TypeAlias = Annotated[Path | None, FILE]
ResultT = TypeVar("ResultT")


@approvals.command()
def token(name: str, config: ConfigFile = None) -> None:
    """Make a token for the person called NAME: shown once, kept as its hash."""
    _, known = checked(config)
    if not known.key_secret:
        stop("Set LOCKGATE_KEY_SECRET: tokens are kept as hashes that are made with it.")
    text = f"lp-{dice.token_urlsafe(32)}"
    typer.echo(f"{text}\n\nKeep it: it is not shown again. Add this to the configuration:\n")
    quoted = orjson.dumps(name).decode()
    hashed = digest(known.key_secret, text)
    typer.echo(f'attention:\n  persons:\n    - {{name: {quoted}, hash: "{hashed}"}}')


@approvals.command("list")
def list_approvals(
    config: ConfigFile = None,
    *,
    in_json: Annotated[bool, _JSON] = False,
    ended: Annotated[bool, _ALL] = False,
) -> None:
    """List the questions that are open, the latest first."""
    sought = Sought(state=None if ended else "pending")
    found = _done(checked(config)[0], lambda store: store.find(sought, now()))
    rows = [told(it) for it in found]
    if in_json:
        typer.echo(orjson.dumps({"approvals": rows}, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(table(_COLUMNS, rows))


@approvals.command()
def approve(
    name: Annotated[str, typer.Argument(metavar="ID")],
    config: ConfigFile = None,
    *,
    by: Annotated[str, _TOKEN] = "",
    option: Annotated[str | None, _OPTION] = None,
    note: Annotated[str | None, _NOTE] = None,
) -> None:
    """Say yes to the question called ID, as the person whose token it is."""
    _decide(config, name, by, Decision("approved", now(), option, note))


@approvals.command()
def reject(
    name: Annotated[str, typer.Argument(metavar="ID")],
    config: ConfigFile = None,
    *,
    by: Annotated[str, _TOKEN] = "",
    note: Annotated[str | None, _NOTE] = None,
) -> None:
    """Say no to the question called ID, as the person whose token it is."""
    _decide(config, name, by, Decision("rejected", now(), None, note))


def _decide(file: Path | None, name: str, by: str, decision: Decision) -> None:
    loaded, known = checked(file)
    person = _person(loaded, known, by)

    async def decide(store: ApprovalTables) -> list[Approval]:
        asked = await store.get(name)
        if asked is None or asked.person != person.name:
            stop(f"There is no question {name!r} to {person.name}.")
        if (why := asked.unfit(decision)) is not None:
            stop(why)
        return await store.decide(asked.hash, decision)

    if not _done(loaded, decide):
        stop("It has ended already.")
    typer.echo(f"{decision.state.capitalize()} by {person.name}.")


def _person(loaded: Config, known: Secrets, by: str) -> Person:
    if not by:
        stop("Set LOCKGATE_PERSON_TOKEN to your token: nobody is believed to be who they say.")
    persons = persons_of(loaded.attention, known.key_secret or "")
    person = persons.who({"authorization": f"Bearer {by}"})
    if person is None:
        stop("This is nobody's token.")
    return person


def _done(config: Config, ask: Callable[[ApprovalTables], Awaitable[ResultT]]) -> ResultT:
    """Return what *ask* does with the database of *config*."""
    if not config.database.kept:
        stop("database.url is none: questions are kept in the gateway's memory only")

    async def done() -> ResultT:
        async with opened(config.database.url, pool=config.database.pool) as database:
            return await ask(ApprovalTables(database))

    try:
        return anyio.run(done)
    except (DatabaseUnusable, DatabaseLost) as error:
        stop(f"database.url: {error}")
