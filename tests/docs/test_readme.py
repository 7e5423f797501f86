"""What the documents tell people to type works, against a gateway that was just started."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli import main
from gateway.config import Config
from gateway.config.embedded import embedded
from gateway.pastes import pastes
from tests.docs.documents import ADDRESS, ROOT, blocks, command_of, commands, run
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import Gateway

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/clients.md",
    "docs/ollama.md",
    "docs/operations.md",
    "docs/pricing.md",
    "docs/ui.md",
    "docs/billing.md",
)
PAGES = [
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
    if blocks(str(path.relative_to(ROOT)), "sh")
]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
COMMANDS = [
    pytest.param(line, id=f"{document}-{place}")
    for document in DOCUMENTS
    for place, line in enumerate(commands(document))
    if not line.startswith(("make ", "export ", "docker "))  # tests/deploy looks at the last
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the gateway runs in."""
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with Gateway(home, {**embedded({}), "server": {"port": 0}}) as gateway:
        yield f"http://127.0.0.1:{gateway.port}"


def _asked(address: str) -> str:
    """Make a call, and return the name of it."""
    body = b'{"model": "sim-small", "messages": [{"role": "user", "content": "hi"}]}'
    sent = request("/v1/chat/completions", body, {"content-type": "application/json"})
    return Exchange(int(address.rpartition(":")[2]), sent).whole().request_id


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_works(line: str, address: str, home: Path, tmp_path: Path) -> None:
    folder = home if line.startswith("lockgate bill") else tmp_path
    if line.startswith("curl ") and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if "REQUEST_ID" in line:
        line = line.replace("REQUEST_ID", _asked(address))
    line = line.replace(ADDRESS, address).replace("curl ", "curl --fail-with-body -sS ", 1)

    assert run(command_of(line), folder)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_of_the_shell_can_be_pasted(page: str) -> None:
    for block in blocks(page, "sh"):
        read = subprocess.run(
            ["bash", "-n"], input=block, capture_output=True, text=True, check=False
        )

        assert not read.stderr, block


@pytest.mark.parametrize("document", ["README.md", "docs/clients.md"])
def test_the_snippets_of_python_work(document: str, address: str, tmp_path: Path) -> None:
    script = "\n".join(blocks(document, "python")).replace(ADDRESS, address)

    said = run([sys.executable, "-c", script], tmp_path)

    assert re.search(r"\d", said)


def test_what_make_is_asked_for_exists() -> None:
    asked = [line for document in DOCUMENTS for line in commands(document) if "make " in line]

    assert {line.split()[1] for line in asked} >= {"run", "test", "check", "bench"}
    assert {target for line in asked for target in line.split()[1:]} <= TARGETS


def test_make_run_starts_what_these_tests_start() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\nrun:")[2].partition("\n\n")[0]

    assert "$(BIN)/lockgate serve" in recipe


def test_the_readme_shows_what_the_start_prints() -> None:
    def plain(text: str) -> str:
        lines = (line.strip() for line in text.splitlines())
        return "\n".join(line for line in lines if line and not line.startswith("#"))

    printed = plain(pastes(ADDRESS, Config.model_validate(embedded({})), keyed=False))
    curl = next(block for block in blocks("README.md", "sh") if block.startswith("curl"))

    assert plain(curl) in printed
    assert [block for block in blocks("README.md", "python") if plain(block) not in printed] == []


def test_every_command_in_the_table_exists() -> None:
    rows = re.findall(r"^\| `lockgate ([^`]+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    names = [[word for word in row.split() if word.islower() and word[0].isalpha()] for row in rows]

    assert names == [
        ["serve"],
        ["check"],
        ["doctor"],
        ["key", "new"],
        ["key", "create"],
        ["team", "create"],
        ["budget", "list"],
        ["bill"],
        ["approvals", "list"],
        ["runs", "list"],
        ["responses", "erase"],
        ["import", "litellm"],
        ["techniques"],
        ["router"],
        ["simulate"],
        ["demo"],
        ["forecast"],
        ["calibrate"],
        ["eval"],
    ]
    for name in names:
        assert CliRunner().invoke(main, [*name, "--help"]).exit_code == 0


def test_the_readme_lists_every_surface() -> None:
    served_by = [ROOT / "gateway" / "app.py", *(ROOT / "gateway" / "surfaces").rglob("*.py")]
    sources = "".join(path.read_text("utf-8") for path in served_by)
    served = set(re.findall(r"\"(/v1/[a-z]{2,})", sources))
    listed = (
        (ROOT / "README.md").read_text("utf-8").partition("* Surfaces:")[2].partition("\n* ")[0]
    )

    assert served > {"/v1/chat", "/v1/messages", "/v1/models", "/v1/runs", "/v1/approvals"}
    assert [path for path in sorted(served) if f"`{path}" not in listed] == []


def test_the_readme_leads_to_every_document() -> None:
    listed = (ROOT / "README.md").read_text("utf-8").partition("## Documents\n")[2]
    pages = [f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))]

    assert [page for page in pages if f"]({page})" not in listed] == []


def test_the_changelog_tells_of_every_surface() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")

    assert all(path in text for path in ("/v1/chat/completions", "/v1/messages", "/v1/models"))
