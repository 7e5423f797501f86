"""The commands ``key``, ``team`` and ``budget``: who may call, and what they may spend."""

from __future__ import annotations

import secrets as dice
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import anyio
import orjson
import typer
from pydantic import BaseModel, ValidationError

from gateway.clock import utc_now
from gateway.config import ConfigError, load, secrets
from gateway.keeping import registering
from gateway.loading import FILE, stop
from gateway.policy.asked import (
    BudgetChange,
    Faulty,
    KeyChange,
    NewBudget,
    NewKey,
    NewTeam,
    fault_of,
)
from gateway.policy.expiry import how_soon
from gateway.policy.keys import digest
from gateway.policy.register import BudgetName, Made, Register
from gateway.stores.database.engine import DatabaseLost, DatabaseUnusable
from gateway.stores.database.records import NotThere, OwnerKind, Taken
from gateway.tabling import budget_table, key_table, table
from techniques.core.json import Json, JsonObject

keys = typer.Typer(no_args_is_help=True, help="Client keys.")
teams = typer.Typer(no_args_is_help=True, help="Teams: keys that share budgets.")
budgets = typer.Typer(no_args_is_help=True, help="Budgets of keys and of teams.")
COMMANDS: Final = {"key": keys, "team": teams, "budget": budgets}

_SHORT: Final = 16
_JSON = typer.Option("--json", help="Tell it in JSON.")
_FIELDS = typer.Argument(
    metavar="[FIELD=VALUE]…",
    help="team, models, techniques (commas between), priority, weight, rpm, tpm, concurrency, "
    "max_calls, max_cost_usd, deadline_ms, journal, expires (2027-01-31, or with a time: "
    "2027-01-31T18:00:00Z); `none` takes a limit away. "
    "A new key also takes budget=USD/PERIOD or budget=USD/PERIOD/TIMEZONE, more than once.",
)
_BUDGETS = typer.Argument(
    metavar="[budget=USD/PERIOD[/TIMEZONE]]…", help="PERIOD is day, week, month or total."
)
_BUDGET = typer.Argument(
    metavar="FIELD=VALUE…", help="usd, tz (such as Europe/Berlin), and of a new one period."
)
_KIND = typer.Argument(metavar="key|team")
_CAPS: Final = frozenset({"max_calls", "max_cost_usd", "deadline_ms"})

ResultT = TypeVar("ResultT")
AskedT = TypeVar("AskedT", bound=BaseModel)
Config: TypeAlias = Annotated[Path | None, FILE]
InJson: TypeAlias = Annotated[bool, _JSON]


@keys.command()
def new(name: Annotated[str, typer.Argument()] = "default") -> None:
    """Make a client key called NAME: shown once, kept in the configuration as its hash."""
    secret = secrets().key_secret
    if not secret:
        secret = dice.token_urlsafe(32)
        typer.echo("LOCKGATE_KEY_SECRET is not set. Here is one; the gateway needs the same:\n")
        typer.echo(f"export LOCKGATE_KEY_SECRET={secret}\n")
    elif len(secret) < _SHORT:
        typer.echo("note: LOCKGATE_KEY_SECRET is short; 32 random characters are safe", err=True)
    key = f"lg-{dice.token_urlsafe(32)}"
    typer.echo(f"{key}\n\nKeep it: it is not shown again. Add this to the configuration:\n")
    quoted = orjson.dumps(name).decode()  # any name is so one of YAML's, too
    typer.echo(f'keys:\n  - {{name: {quoted}, hash: "{digest(secret, key)}"}}')


@keys.command("create")
def create_key(
    name: str,
    fields: Annotated[list[str] | None, _FIELDS] = None,
    config: Config = None,
    *,
    in_json: InJson = False,
) -> None:
    """Make a key called NAME in the database; it is shown once, and works at once."""
    asked = _read(NewKey, {"name": name, **_fields(fields)})
    _show_made(_done(config, lambda register: register.create_key(asked)), in_json=in_json)


@keys.command("list")
def list_keys(config: Config = None, *, in_json: InJson = False) -> None:
    """List all keys, those of the configuration first."""
    found = _done(config, lambda register: register.keys())
    typer.echo(_json({"keys": found}) if in_json else key_table(found, utc_now()))


@keys.command("show")
def show_key(name: str, config: Config = None) -> None:
    """Tell all of the key called NAME but what it is."""
    for key in _done(config, lambda register: register.keys()):
        if key["name"] == name:
            typer.echo(_json(key))
            return
    stop(f"There is no key {name!r}.")


@keys.command("set")
def set_key(
    name: str,
    fields: Annotated[list[str], _FIELDS],
    config: Config = None,
    *,
    in_json: InJson = False,
) -> None:
    """Change what the key called NAME may do, at once everywhere."""
    asked = _read(KeyChange, _fields(fields))
    changed = _done(config, lambda register: register.change_key(name, asked))
    typer.echo(_json(changed) if in_json else f"Changed {name}.")
    _warn_of_end(changed)


@keys.command("rotate")
def rotate_key(name: str, config: Config = None, *, in_json: InJson = False) -> None:
    """Give the key called NAME a new text, shown once; the old one is refused at once."""
    _show_made(_done(config, lambda register: register.rotate_key(name)), in_json=in_json)


@keys.command("revoke")
def revoke_key(name: str, config: Config = None) -> None:
    """Revoke the key called NAME, at once everywhere and for ever."""
    _done(config, lambda register: register.revoke_key(name))
    typer.echo(f"Revoked {name}.")


@teams.command("create")
def create_team(
    name: str, fields: Annotated[list[str] | None, _BUDGETS] = None, config: Config = None
) -> None:
    """Make a team called NAME."""
    asked = _read(NewTeam, {"name": name, **_fields(fields)})
    _done(config, lambda register: register.create_team(asked))
    typer.echo(f"Made team {name}.")


@teams.command("list")
def list_teams(config: Config = None, *, in_json: InJson = False) -> None:
    """List all teams."""
    found = _done(config, lambda register: register.teams())
    typer.echo(_json({"teams": found}) if in_json else table(("name", "source"), found))


@teams.command("remove")
def remove_team(name: str, config: Config = None) -> None:
    """Forget the team called NAME, which no key belongs to, and its budgets."""
    _done(config, lambda register: register.remove_team(name))
    typer.echo(f"Removed team {name}.")


@budgets.command("list")
def list_budgets(config: Config = None, *, in_json: InJson = False) -> None:
    """List all budgets, and what is spent and left of each in its present period."""
    found = _done(config, lambda register: register.budgets(utc_now()))
    typer.echo(_json({"budgets": found}) if in_json else budget_table(found))


@budgets.command("create")
def create_budget(
    kind: Annotated[OwnerKind, _KIND],
    name: str,
    fields: Annotated[list[str], _BUDGET],
    config: Config = None,
) -> None:
    """Give the key or the team called NAME a budget: usd=50 period=month tz=Europe/Berlin."""
    asked = _read(NewBudget, {kind: name, **_fields(fields)})
    _done(config, lambda register: register.create_budget(asked, utc_now()))
    typer.echo(f"Made the budget of {kind} {name}.")


@budgets.command("set")
def set_budget(
    kind: Annotated[OwnerKind, _KIND],
    name: str,
    period: str,
    fields: Annotated[list[str], _BUDGET],
    *,
    config: Config = None,
) -> None:
    """Change the budget that the key or the team called NAME has for PERIOD."""
    asked, named = _read(BudgetChange, _fields(fields)), BudgetName(kind, name, period)
    _done(config, lambda register: register.change_budget(named, asked, utc_now()))
    typer.echo(f"Changed the budget of {kind} {name}.")


@budgets.command("remove")
def remove_budget(
    kind: Annotated[OwnerKind, _KIND], name: str, period: str, config: Config = None
) -> None:
    """Take away the budget that the key or the team called NAME has for PERIOD."""
    named = BudgetName(kind, name, period)
    _done(config, lambda register: register.remove_budget(named))
    typer.echo(f"Removed the budget of {kind} {name}.")


def _fields(pairs: Sequence[str] | None) -> dict[str, Json]:
    """Return *pairs* of FIELD=VALUE as the fields of a JSON object would be."""
    fields: dict[str, Json] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals:
            stop(f"{pair}: write FIELD=VALUE")
        if name == "budget":
            fields["budgets"] = [*fields.get("budgets", ()), _budget(value)]
        elif name in _CAPS:
            fields["caps"] = {**fields.get("caps", {}), name: _value(name, value)}
        else:
            fields[name] = _value(name, value)
    return fields


def _value(name: str, text: str) -> Json:
    if text == "none":
        return None
    if name in ("models", "techniques"):
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _budget(text: str) -> dict[str, Json]:
    return dict(zip(("usd", "period", "tz"), text.split("/", 2), strict=False))


def _read(form: type[AskedT], fields: Mapping[str, Json]) -> AskedT:
    try:
        return form.model_validate(fields)
    except ValidationError as error:
        stop(str(fault_of(error)))


def _done(file: Path | None, ask: Callable[[Register], Awaitable[ResultT]]) -> ResultT:
    """Return what *ask* does with the register of the configuration in *file*."""

    async def done() -> ResultT:
        async with registering(loaded, secrets()) as register:
            return await ask(register)

    try:
        loaded = load(file)
        return anyio.run(done)
    except (ConfigError, Faulty, NotThere, Taken) as error:
        stop(str(error))
    except (DatabaseUnusable, DatabaseLost) as error:
        stop(f"database.url: {error}")


def _warn_of_end(key: JsonObject) -> None:
    """Tell who made or changed *key* if it is refused from the first call on."""
    end = key["expires"]
    if end and (expires := datetime.fromisoformat(end)) <= (now := utc_now()):
        typer.echo(f"note: it {how_soon(expires, now)}: nobody is served by it", err=True)


def _show_made(made: Made, *, in_json: bool) -> None:
    _warn_of_end(made.told)
    if in_json:
        typer.echo(_json({"key": made.text, **made.told}))
        return
    typer.echo(made.text)
    typer.echo("Keep it: it is not shown again.", err=True)


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
