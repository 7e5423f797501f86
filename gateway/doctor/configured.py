"""What the configuration by itself tells: prices, journal, what is kept, what was measured."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import date
from typing import Final

import anyio.to_thread

from gateway.clock import utc_now
from gateway.config import Config, KeyConfig, TeamConfig
from gateway.config.calibration import CalibrationFile
from gateway.doctor.case import Case
from gateway.doctor.finding import Finding, Level
from gateway.keeping import stored_keys
from gateway.preflight import remarks
from gateway.pricelist import guesses, price_list
from gateway.stores.database.engine import DatabaseUnusable

_DAY_S: Final = 86_400
_OLD_DAYS: Final = 90
_SHORT: Final = 16
_MAKES: Final = "export {}=\"$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')\""
_TOLD_ELSEWHERE: Final = (
    "LOCKGATE_ADMIN_TOKEN",
    "no price is known",
    "without a database",
    ".expires: ",
)


async def configuration(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell what is remarkable in a configuration that can be used."""
    config = case.config
    name = str(case.file) if case.file else "the embedded configuration"
    counts = (_counted(len(config.models), "model"), _counted(len(config.keys), "key"))
    more = " and more in the database" if await _stored(case) else ""
    yield Finding("configuration", "ok", f"{name}: {', '.join(counts)}{more}")
    for line in await anyio.to_thread.run_sync(remarks, config, case.known):
        if not any(part in line for part in _TOLD_ELSEWHERE):
            yield Finding("configuration", "note", line)


async def secrets(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell whether the secrets of the environment are there, and long enough."""
    known, admin, key = case.known, "LOCKGATE_ADMIN_TOKEN", "LOCKGATE_KEY_SECRET"
    if known.admin_token:
        yield _long_enough(admin, known.admin_token)
    else:
        why = "the admin routes are closed, also to reloads"
        yield Finding("secrets", "warning", f"{admin} is not set", why, _MAKES.format(admin))
    stored = await _stored(case)
    if known.key_secret:
        void = "; keys that were made with the old one are invalid then"
        yield _long_enough(key, known.key_secret, void)
    elif case.config.keys or stored:
        why = "the gateway does not start: it could check nobody's key"
        fix = f"export {key}=…, the secret that the keys were made with"
        yield Finding("secrets", "error", f"{key} is not set, and there are keys", why, fix)
    else:
        why = "no client key can be made or checked"
        yield Finding("secrets", "note", f"{key} is not set", why, _MAKES.format(key))
    if not case.config.keys and stored is False:
        what = f"no keys: whoever reaches {case.config.server.host} may call"
        yield Finding("secrets", "note", what, fix="lockgate key create NAME")


def _long_enough(name: str, text: str, void: str = "") -> Finding:
    if len(text) >= _SHORT:
        return Finding("secrets", "ok", f"{name} is set")
    fix = _MAKES.format(name) + void
    what = f"{name} has {len(text)} characters"
    return Finding("secrets", "warning", what, "a short one can be guessed", fix)


async def _stored(case: Case) -> bool | None:
    """Return whether the database has keys, None where it cannot tell."""
    if "database" in case.unread:
        return None
    try:
        return await stored_keys(case.config)
    except DatabaseUnusable:
        return None


async def prices(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell which models have no price, or one that is guessed."""
    config = case.config
    rows = await anyio.to_thread.run_sync(price_list, config)
    names = dict.fromkeys(
        str(row["model"])
        for row in rows
        if row["source"] == "unknown" and config.providers[str(row["provider"])].simulated is None
    )
    if len(names) < len(config.models):
        priced = _counted(len(config.models) - len(names), "model")
        yield Finding("prices", "ok", f"{priced} with a price")
    owners: tuple[KeyConfig | TeamConfig, ...] = (*config.keys, *config.teams)
    level: Level = "error" if any(row.all_budgets for row in owners) else "warning"
    for name in names:
        why = "its calls are served with cost unknown, and keys with a budget may not make them"
        fix = f"models.{name}.price: {{input: DOLLARS, output: DOLLARS}}, a million tokens each"
        yield Finding("prices", level, f"models.{name}: no price is known", why, fix)
    for line in await anyio.to_thread.run_sync(guesses, config):
        why = "what is charged, and what budgets hold by, may be far from the truth"
        yield Finding("prices", "warning", line, why, "models.NAME.price, or pricing.guess: never")


async def journal(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell whether runs outlive what they are carried out by."""
    config = case.config
    where = config.journal.durability
    if where == "database" and not config.database.kept:
        where = "memory"
    shared = config.server.workers > 1 or config.store.redis is not None
    if where == "off":
        why = "a run that breaks off begins anew, and what it had bought is paid for again"
        yield Finding(
            "journal", "warning", "runs are not written down", why, "journal.durability: database"
        )
    elif where == "memory" and shared:
        why = "a run goes on only at the worker that it began with, and ends with it"
        fix = "journal.durability: database, with a database.url"
        yield Finding("journal", "warning", "runs are written down in memory only", why, fix)
    elif where == "memory":
        why = "they end with the process"
        yield Finding("journal", "note", "runs are written down in memory only", why)
    else:
        kept = f"runs are written down in the {where}"
        yield Finding("journal", "ok", f"{kept}, for {config.journal.retention:g} s")
    if config.store.redis is not None and config.database.url.startswith("sqlite"):
        why = "gateways on other machines have keys, budgets and runs of their own"
        fix = "database.url: postgresql://USER:${PASSWORD}@HOST/NAME"
        what = "replicas share a store, and the database is a file of this machine"
        yield Finding("journal", "warning", what, why, fix)


async def capture(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell what is kept of prompts and answers."""
    if case.config.traffic:
        what = "traffic is read, but not in effect in this version: nothing is captured"
        yield Finding("capture", "note", what)
    else:
        yield Finding("capture", "ok", "traffic is not captured")
    encrypted = bool(case.config.journal.keys)
    if case.config.journal.durability != "off":
        what = "the journal keeps requests and answers of runs until their retention is over"
        yield _kept(what, encrypted=encrypted)
    if case.config.responses.store == "on":
        days = case.config.responses.retention / _DAY_S
        what = f"requests and answers of the Responses API are kept for {days:g} days after use"
        yield _kept(what, encrypted=encrypted)


def _kept(what: str, *, encrypted: bool) -> Finding:
    if encrypted:
        return Finding("capture", "ok", f"{what}, encrypted")
    fix = "journal.encryption: ${NAME}, of a key by `openssl rand -hex 32`"
    return Finding("capture", "note", f"{what}, as they are", fix=fix)


async def calibration(case: Case) -> AsyncGenerator[Finding, None]:
    """Tell how old what was measured of models and judges is."""
    file = case.config.reliability.calibration
    if file is None:
        what = "nothing was measured of models and judges: their votes weigh the same"
        yield Finding("calibration", "skipped", what)
        return
    read = await anyio.to_thread.run_sync(file.read_bytes)
    made = CalibrationFile.model_validate_json(read).made
    try:
        days = (utc_now().date() - date.fromisoformat(made)).days
    except ValueError:
        yield Finding("calibration", "note", f"{file} does not say when it was measured")
        return
    if days > _OLD_DAYS:
        why = "models that are served under a name change"
        fix = f"lockgate calibrate QUESTIONS.jsonl --models {_names(case.config)} -o {file}"
        yield Finding("calibration", "warning", f"{file} is {days} days old", why, fix)
    else:
        yield Finding("calibration", "ok", f"{file} is {_counted(days, 'day')} old")


def _names(config: Config) -> str:
    return ",".join(model.name for model in config.models)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
