"""``lockgate router fit`` and ``inspect``: weights of ``acm_linear``, for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from router_service.contract import Observation
    from router_service.learning.training import Trained
    from router_service.process.config import ProcessSettings
    from router_service.store.fits import Kept

ResultT = TypeVar("ResultT")
_MOST: Final = 100_000
_CONFIG = typer.Option("-c", "--config", help="The router's configuration file.")
_DATABASE = typer.Option("--database", help="Where observations are kept; else database.url.")
_ROWS = typer.Argument(help="Observations, a JSON object a line; none: those of the database.")
_OUTPUT = typer.Option("-o", "--output", help="The file to write, for router.acm_linear.file.")
_FORCE = typer.Option("--force", help="Write weights also if they are not worth it.")
_TARGET = typer.Option("--target", help="What is learnt: gains, or which arm is best.")
_LAMBDA = typer.Option("--lambda", min=0.0, help="What a plain call must buy; else router.lambda.")
_FILE = typer.Argument(help="A file with weights; none: what is served by the database.")


class Targets(StrEnum):
    """What may be learnt."""

    RIDGE = "ridge"
    LOGIT = "logit"


def fit(  # noqa: PLR0913, PLR0917 - a parameter an option
    rows: Annotated[Path | None, _ROWS] = None,
    output: Annotated[Path | None, _OUTPUT] = None,
    config: Annotated[Path | None, _CONFIG] = None,
    database: Annotated[str | None, _DATABASE] = None,
    target: Annotated[Targets, _TARGET] = Targets.RIDGE,
    lambda_: Annotated[float | None, _LAMBDA] = None,
    *,
    force: Annotated[bool, _FORCE] = False,
) -> None:
    """Train weights for acm_linear, tell what they are worth, and write them to a file.

    Nothing that is served changes by it: POST /v1/fit tries what it has found, and serves it.
    """
    from router_service.learning import artifacts
    from router_service.learning.training import NotWorthIt, doubt, told, weighed

    settings = _settings(config, database)
    known = _read(rows) if rows is not None else _stored(settings)
    price = settings.router.lambda_ if lambda_ is None else lambda_
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        trained = weighed(known, target=target.value, lambda_=price, created=now)
    except NotWorthIt as error:
        _stop(str(error), 1)
    for line in (*_figures(trained), *told(trained.artifact)):
        typer.echo(line)
    if (why := doubt(trained)) is not None and not force:
        _stop(f"{why}; nothing is written", 1)
    if output is not None:
        try:
            artifacts.write(trained.artifact, output)
        except OSError as error:
            _stop(f"{output}: {error.strerror}", 2)
        typer.echo(f"Written to {output}.")


def inspect(
    file: Annotated[Path | None, _FILE] = None,
    config: Annotated[Path | None, _CONFIG] = None,
    database: Annotated[str | None, _DATABASE] = None,
) -> None:
    """Tell what weights say: those of a file, or what is served of fits, and by whom."""
    from router_service.learning import artifacts
    from router_service.learning.training import told
    from router_service.parameters import Weights

    if file is not None:
        try:
            artifact = artifacts.read(file)
        except (OSError, ValueError) as error:
            _stop(f"{file}: {error}", 2)
        _tell([f"trained on {artifact.trained_on}, {artifact.created}", *told(artifact)])
        return
    settings = _settings(config, database)
    kept = _served(settings)
    if kept is None:
        _tell([f"{settings.router.type}: no fit is served"])
        return
    at = datetime.fromtimestamp(kept.at, UTC).isoformat(timespec="seconds")
    _tell([f"revision {kept.revision}, {at}, by {kept.by or 'nobody named'}"])
    _tell([f"{name}: {kept.report[name]}" for name in _SHOWN if name in kept.report])
    found = kept.found
    _tell(told(found.artifact) if isinstance(found, Weights) else [found.model_dump_json()])


_SHOWN: Final = ("why", "rows", "tried", "gain", "best_fixed", "calibration")


def _figures(trained: Trained) -> Sequence[str]:
    regret = "" if trained.regret is None else f", {trained.regret:.2f} below the best arm of each"
    slope = "not known" if trained.slope is None else f"{trained.slope:.2f}"
    return (
        f"{trained.requests} requests; out of fold {trained.utility:+.2f} points a request{regret}",
        f"the best fixed arm, {trained.fixed}: {trained.fixed_utility:+.2f}; above it "
        f"{trained.margin:+.2f}, standard error {trained.error:.2f}",
        f"gains come {slope} times as foretold",
    )


def _settings(config: Path | None, database: str | None) -> ProcessSettings:
    from router_service.groundwork.addresses import driven
    from router_service.process.config import Unusable, load

    try:
        settings = load(config)
        if database is None:
            return settings
        url = driven(database)
    except (Unusable, ValueError) as error:
        _stop(str(error), 2)
    return settings.model_copy(
        update={"database": settings.database.model_copy(update={"url": url})}
    )


def _read(file: Path) -> list[Observation]:
    from pydantic import ValidationError

    from router_service.contract import Observation

    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        _stop(f"{file}: {error.strerror}", 2)
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found += [Observation.model_validate_json(line)] if line.strip() else []
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            at = ".".join(map(str, fault["loc"]))
            _stop(f"{file}: line {number}: {at}: {fault['msg']}", 2)
    return found


def _stored(settings: ProcessSettings) -> list[Observation]:
    import anyio

    from router_service.groundwork.database import as_it_is
    from router_service.store.observations import ObservationTable

    async def read() -> list[Observation]:
        async with as_it_is(settings.database.url) as database:
            return await ObservationTable(database, settings.router.store.keys).recent(_MOST)

    return _answered(lambda: anyio.run(read))


def _served(settings: ProcessSettings) -> Kept | None:
    import anyio

    from router_service.groundwork.database import as_it_is
    from router_service.store.fits import FitTable

    async def read() -> Kept | None:
        async with as_it_is(settings.database.url) as database:
            return await FitTable(database, settings.router.type).served()

    return _answered(lambda: anyio.run(read))


def _answered(read: Callable[[], ResultT]) -> ResultT:
    """Return what *read* gives; a database that cannot be read ends the command."""
    from router_service.groundwork.database import DatabaseLost, DatabaseUnusable

    try:
        return read()
    except (DatabaseLost, DatabaseUnusable) as error:
        _stop(f"database.url: {error}", 2)


def _tell(lines: Sequence[str]) -> None:
    for line in lines:
        typer.echo(line)


def _stop(message: str, code: int) -> NoReturn:
    for line in message.splitlines():
        typer.echo(f"error: {line}", err=True)
    raise typer.Exit(code)
