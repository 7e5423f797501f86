"""What docs/ollama.md says of Ollama's API: it names all that is read and served, and works."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from gateway.app import DIALECTS
from gateway.config.embedded import embedded
from gateway.surfaces import ollama as surface
from gateway.wire.ollama import decode
from gateway.wire.ollama.fields import EFFORTS, OPTIONS
from gateway.wire.ollama.models import VERSION
from tests.docs.documents import ADDRESS, ROOT, blocks, run
from tests.fakes.gateway import Gateway

PAGE = "docs/ollama.md"
TEXT = (ROOT / PAGE).read_text("utf-8")


def test_it_names_every_field_that_is_read() -> None:
    read = {*decode.CHAT, *decode.GENERATE, *OPTIONS, *EFFORTS} - {"model", "stream", "options"}

    assert {name for name in read if f"`{name}`" not in TEXT} == set()


def test_it_names_every_path_that_is_served() -> None:
    source = Path(surface.__file__).read_text("utf-8")
    served = set(re.findall(r'"(/api/[a-z]+)', source)) | {
        path for path in DIALECTS if path.startswith("/api/")
    }

    assert len(served) > 10
    assert {path for path in served if path not in TEXT} == set()
    assert f"`{VERSION}`" in TEXT


def test_its_snippet_works(tmp_path: Path) -> None:
    pytest.importorskip("ollama")
    with Gateway(tmp_path, {**embedded({}), "server": {"port": 0}}) as gateway:
        address = f"http://127.0.0.1:{gateway.port}"
        script = "\n".join(blocks(PAGE, "python")).replace(ADDRESS, address)

        assert re.search(r"\d", run([sys.executable, "-c", script], tmp_path))
