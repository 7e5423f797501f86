"""``lockgate forecast``, against a gateway that runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli import main
from tests.fakes.gateway import KEYS, Gateway, hashed

CONFIG = {
    "server": {"port": 0},
    "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": 0}}},
    "models": [{"name": "sim-small", "provider": "sim", "limits": {"tpm": 6000}}],
    "keys": [{"name": "k1", "hash": hashed(KEYS["k1"])}],
    "database": {"url": "none"},
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Gateway(tmp_path_factory.mktemp("gateway"), CONFIG) as gateway:
        yield f"http://127.0.0.1:{gateway.port}"


def forecast(*arguments: str, key: str | None = KEYS["k1"]) -> tuple[int, str, str]:
    """Run the command; return its exit code, what it says, and what it complains of."""
    environment = {"LOCKGATE_API_KEY": key} if key else {}
    result = CliRunner().invoke(main, ["forecast", *arguments], env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


def test_it_tells_a_run_in_one_line(address: str) -> None:
    code, out, err = forecast("sim-small", "--steps", "12", "--tokens", "900", "--url", address)

    assert code == 0
    assert out.startswith("12 steps of sim-small: ")
    assert out.count("\n") == 1
    assert "waiting" in out
    assert "note: " in err  # nobody has called yet


def test_it_tells_all_in_json(address: str) -> None:
    more = ("--growth", "10", "--concurrency", "2", "--technique", "self_consistency")

    code, out, _ = forecast("sim-small", *more, "--url", f"{address}/v1", "--json")

    told = json.loads(out)
    assert code == 0
    assert (told["concurrency"], told["technique"]) == (2, "self_consistency")


def test_a_deadline_that_is_unlikely_to_be_met_ends_with_one(address: str) -> None:
    run = ("sim-small", "--steps", "9", "--tokens", "1000", "--url", address)

    late, said, _ = forecast(*run, "--deadline", "5")
    early, _, _ = forecast(*run, "--deadline", "5000")

    assert (late, early) == (1, 0)
    assert "done in time with a chance of 0%" in said


def test_point_is_one_line_too(address: str) -> None:
    code, out, _ = forecast("sim-small", "--method", "point", "--steps", "3", "--url", address)

    assert code == 0
    assert out.startswith("3 steps of sim-small: 3,000 tokens, 0.0005 dollars, ")


@pytest.mark.parametrize(
    ("arguments", "key", "words"),
    [
        (("nope",), KEYS["k1"], "404: There is no model 'nope'"),
        (("sim-small", "--steps", "0"), KEYS["k1"], "400: steps: must be greater"),
        (("sim-small",), None, "401: No API key was given"),
    ],
)
def test_what_the_gateway_refuses_is_told(
    address: str, arguments: tuple[str, ...], key: str | None, words: str
) -> None:
    code, out, err = forecast(*arguments, "--url", address, key=key)

    assert (code, out) == (2, "")
    assert words in err


class _Other(BaseHTTPRequestHandler):
    """Something that is no gateway."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(404 if self.path.startswith("/gone") else 200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Other) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_what_is_no_gateway_is_said_to_be_none(other: str) -> None:
    talks = forecast("sim-small", "--url", other)
    refuses = forecast("sim-small", "--url", f"{other}/gone")

    assert (talks[0], refuses[0]) == (2, 2)
    assert "does not answer as a gateway does" in talks[2]
    assert "404: no gateway is there" in refuses[2]


def test_where_nothing_answers_that_is_said() -> None:
    with HTTPServer(("127.0.0.1", 0), _Other) as server:
        port = server.server_port

    code, _, err = forecast("sim-small", "--url", f"http://127.0.0.1:{port}")

    assert code == 2
    assert f"error: http://127.0.0.1:{port}/v1/forecast does not answer" in err


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    code, _, err = forecast("sim-small", "--url", f"file://{tmp_path}")

    assert code == 2
    assert "must begin with http:// or https://" in err
