"""The command ``forecast``: asks a gateway that runs what a run of many steps will take."""

from __future__ import annotations

import http.client
from typing import Annotated, Final, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import orjson
import typer

from gateway.loading import stop
from techniques.core.json import Json, JsonObject

_WAIT_S: Final = 120.0
_LIKELY: Final = 0.5

_STEPS = typer.Option("--steps", help="How many requests, one after the other.")
_TOKENS = typer.Option("--tokens", help="Tokens of the first step, input and output.")
_GROWTH = typer.Option("--growth", help="Tokens that come to it at each step, besides the answer.")
_AGENTS = typer.Option("--concurrency", help="How many do the same at the same time.")
_DEADLINE = typer.Option("--deadline", help="Seconds in which all is to be done.")
_TECHNIQUE = typer.Option("--technique", help="The technique; without it the gateway's default.")
_METHOD = typer.Option("--method", help="monte_carlo or point.")
_URL = typer.Option("--url", help="Where the gateway is.")
_KEY = typer.Option("--key", envvar="LOCKGATE_API_KEY", help="Your key, if it has keys.")
_JSON = typer.Option("--json", help="Tell all of it, in JSON.")


def forecast(  # noqa: PLR0913 - each is an option of the command
    model: str,
    *,
    steps: Annotated[int, _STEPS] = 1,
    tokens: Annotated[int, _TOKENS] = 1000,
    growth: Annotated[int, _GROWTH] = 0,
    concurrency: Annotated[int, _AGENTS] = 1,
    deadline: Annotated[float | None, _DEADLINE] = None,
    technique: Annotated[str | None, _TECHNIQUE] = None,
    method: Annotated[str, _METHOD] = "monte_carlo",
    url: Annotated[str, _URL] = "http://127.0.0.1:8080",
    key: Annotated[str | None, _KEY] = None,
    in_json: Annotated[bool, _JSON] = False,
) -> None:
    """Tell what a run of MODEL will use, cost and wait for, as the limits stand now.

    Ends with 1 if it is unlikely to be done in time.
    """
    asked: JsonObject = {
        "model": model,
        "steps": steps,
        "tokens_per_step": tokens,
        "growth_per_step": growth,
        "concurrency": concurrency,
        "deadline_ms": None if deadline is None else round(1000 * deadline),
        "technique": technique,
        "method": method,
    }
    told = _ask(url, key, {name: value for name, value in asked.items() if value is not None})
    if in_json:
        typer.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2))
    else:
        typer.echo(told["text"])
        for note in told.get("notes", ()):
            typer.echo(f"note: {note}", err=True)
    if told["chance"] is not None and told["chance"] < _LIKELY:
        raise typer.Exit(1)


def _ask(url: str, key: str | None, asked: JsonObject) -> JsonObject:
    """Return the gateway's answer; the command ends where there is none."""
    if urlsplit(url).scheme not in ("http", "https"):
        stop(f"--url: {url!r} must begin with http:// or https://")
    headers = {"content-type": "application/json"}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    address = f"{url.rstrip('/').removesuffix('/v1')}/v1/forecast"
    try:
        with urlopen(Request(address, orjson.dumps(asked), headers), timeout=_WAIT_S) as response:
            return _object(response.read(), address)
    except HTTPError as error:
        _refused(error, address)
    except (URLError, TimeoutError, http.client.HTTPException, ValueError) as error:
        stop(f"{address} does not answer: {getattr(error, 'reason', error)}")


def _object(raw: bytes, address: str) -> JsonObject:
    try:
        told: Json = orjson.loads(raw)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or told.get("object") != "forecast":
        stop(f"{address} does not answer as a gateway does.")
    return told


def _refused(error: HTTPError, address: str) -> NoReturn:
    try:
        message = orjson.loads(error.read())["error"]["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = "no gateway is there"
    stop(f"{address}: {error.code}: {message}")
