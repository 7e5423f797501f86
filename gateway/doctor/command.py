"""The command ``doctor``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import anyio
import orjson
import typer

from gateway.config import Config, ConfigError, load, secrets
from gateway.doctor.case import Case
from gateway.doctor.examining import beside, checks_of, examine, is_over
from gateway.doctor.finding import Finding, as_json, code_of, rendered, without
from gateway.loading import FILE, Unfit, judge, read

_URL = typer.Option("--url", help="A gateway that runs; else the one where the file says.")
_THROUGH = typer.Option("--through", help="The address that clients use, to time a stream there.")
_OFFLINE = typer.Option("--offline", help="Ask no provider.")
_TIMEOUT = typer.Option("--timeout", min=0.1, max=300.0, help="Seconds that a check may take.")
_JSON = typer.Option("--json", help="Tell it in JSON.")


def doctor(  # noqa: PLR0913 - each is an option of the command
    config: Annotated[Path | None, FILE] = None,
    *,
    url: Annotated[str | None, _URL] = None,
    through: Annotated[str | None, _THROUGH] = None,
    offline: Annotated[bool, _OFFLINE] = False,
    timeout: Annotated[float, _TIMEOUT] = 10.0,
    in_json: Annotated[bool, _JSON] = False,
) -> None:
    """Say what is wrong with a gateway and what it stands on, why, and what mends it.

    Ends with 0 where nothing is, with 1 where there are warnings, with 2 where there are errors.
    """
    known, loaded = secrets(), _Loaded(config)
    beside(loaded.load, timeout)
    findings = list(loaded.findings)
    if loaded.config is not None:
        address = url or _address(loaded.config)
        must_run = url is not None
        case = Case(
            config,
            loaded.config,
            known,
            address,
            through,
            offline,
            timeout,
            must_run=must_run,
            unread=loaded.unread,
        )
        findings = without(case.secrets, findings)
        findings += examine(case, checks_of(case)[1 if findings else 0 :])
    told = orjson.dumps(as_json(findings), option=orjson.OPT_INDENT_2).decode()
    typer.echo(told if in_json else rendered(findings))
    sys.stdout.flush()
    if not is_over():  # what hangs would keep the interpreter from its end
        os._exit(code_of(findings))
    raise typer.Exit(code_of(findings))


class _Loaded:
    """The configuration, or as much of it as can be used, and what is wrong with it."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.config: Config | None = None
        self.unread: frozenset[str] = frozenset()
        why = "what it names hangs: a folder of another machine, or its database"
        self.findings = [Finding("configuration", "error", f"{file} cannot be read in time", why)]

    def load(self) -> None:
        """Load it, and look at all that cannot work."""
        known = secrets()
        try:
            loaded = read(self._file, known)
            anyio.run(judge, loaded, known)
        except Unfit as unfit:
            why = "the gateway does not start with it, and refuses to reload it"
            fix = f"correct {self._file or 'the environment'}"
            faults = [Finding("configuration", "error", line, why, fix) for line in unfit.lines]
            self.config, self.findings = self._rest(), faults
        else:
            self.config, self.findings = loaded, []

    def _rest(self) -> Config | None:
        try:
            return load(self._file)
        except ConfigError as error:
            paths = (line.partition(": ")[0] for line in str(error).splitlines())
            self.unread = frozenset(path.partition(".")[0] for path in paths)
            return error.rest


def _address(config: Config) -> str:
    host = config.server.host
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{config.server.port}"
