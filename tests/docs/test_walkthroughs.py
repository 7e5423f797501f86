"""Pages whose examples stand on each other: typed from top to bottom, each does what is said.

A comment behind a command says the status of its answer, and words that are in it. JSON with an
``object`` is such an answer, and has its fields.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from gateway.config.embedded import embedded
from techniques.core.json import Json, JsonObject
from tests.docs.documents import ADDRESS, ROOT, blocks, command_of, fences, lines, run
from tests.fakes.gateway import Gateway, hashed

_TOKEN = "lp-canary-person-31d0"
_STATUS = "\n%{http_code}"
_SAID = re.compile(r"^(.*\S)\s+# (\d{3})\b(.*)$")
_NUMBERED = re.compile(r"\bap_[0-9a-f]{24}\b")


def _example() -> JsonObject:
    stated: JsonObject = yaml.safe_load(
        (ROOT / "deploy/examples/small-limit.yaml").read_text("utf-8")
    )
    return stated


def _limited(minute_s: float) -> JsonObject:
    """Return the example with a small limit, of which a minute has so many seconds here."""
    stated = _example()
    stated["providers"]["sim"]["limits"]["minute_s"] = minute_s
    return stated


def _asking() -> JsonObject:
    """Return what docs/attention.md configures, with a token that is known here."""
    stated = embedded({})
    for text in blocks("docs/attention.md", "yaml"):
        stated |= yaml.safe_load(text)
    stated["attention"]["persons"] = [{"name": "ana", "hash": hashed(_TOKEN)}]
    return stated


PAGES: dict[str, Callable[[], JsonObject]] = {
    "docs/attention.md": _asking,
    "docs/eval.md": partial(embedded, {}),
    "docs/forecast.md": partial(_limited, 6),
    "docs/pacing.md": partial(_limited, 4),
    "docs/runs.md": partial(_limited, 1),
}


class _Reader:
    """Types what a page shows, to the gateway at *address*, in *folder*."""

    def __init__(self, folder: Path, address: str) -> None:
        self.typed = 0
        self._folder = folder
        self._address = address
        self._question = ""
        self._answers: dict[str, JsonObject] = {}

    def type(self, language: str, block: str) -> None:
        """Type all of *block*, if it is something to type; compare it, if it is an answer."""
        if language == "json" and (shown := json.loads(block)).get("object"):
            assert _fields(shown) == _fields(self._answers[shown["object"]])
        if language == "python":
            assert self._run([sys.executable, "-c", block.replace(ADDRESS, self._address)]).strip()
            self.typed += 1
        for line in lines(block) if language == "sh" else ():
            if not line.startswith(("make ", "export ", "llama-server ")):
                self._type(line.replace("APPROVAL_ID", self._question))
                self.typed += 1

    def _type(self, line: str) -> None:
        said = _SAID.match(line)
        line, status, words = said.groups() if said else (line, "2", "")
        line = line.replace(ADDRESS, self._address)
        if not line.startswith("curl "):
            assert self._run(command_of(line)).strip()
            return
        shown = self._run(command_of(line.replace("curl ", f"curl -sS -w '{_STATUS}' ", 1)))
        answer, _, told = shown.rpartition("\n")
        assert told.startswith(status), f"{line}\n{shown}"
        assert all(word in answer for word in words.split()), f"{line}\n{shown}"
        if answer.startswith('{"object"'):
            self._answers[json.loads(answer)["object"]] = json.loads(answer)
        self._question = next(iter(_NUMBERED.findall(answer)), self._question)

    def _run(self, arguments: list[str]) -> str:
        return run(arguments, self._folder, LOCKGATE_PERSON_TOKEN=_TOKEN)


def _fields(value: Json) -> Json:
    """Return the names in *value*, and in what it holds."""
    return {name: _fields(it) for name, it in value.items()} if isinstance(value, dict) else None


def test_the_account_with_a_small_limit_is_the_one_that_is_shown() -> None:
    assert _example() in [yaml.safe_load(block) for block in blocks("docs/pacing.md", "yaml")]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_does_what_it_says(page: str, tmp_path: Path) -> None:
    with Gateway(tmp_path, {**PAGES[page](), "server": {"port": 0}}) as gateway:
        reader = _Reader(tmp_path, f"http://127.0.0.1:{gateway.port}")
        for language, block in fences(page):
            reader.type(language, block)

    assert reader.typed
