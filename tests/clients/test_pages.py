"""What docs/clients tells people to paste works, against a gateway that was just started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.config.embedded import embedded
from tests.clients.desk import SDKS, command_of, node, python_of
from tests.clients.lines import Folder, Ran, native, scripted
from tests.docs.documents import ADDRESS, ROOT, blocks
from tests.fakes.gateway import Gateway

PAGES = sorted(path.stem for path in (ROOT / "docs/clients").glob("*.md"))
OLDER = {"instructor", "llama-index"}
"""Whose pastes want the environment with older SDKs; those of the others, the one of frameworks."""
LINES = ("claude-code", "codex", "aider", "llm")
ONLY_TOLD = {"open-webui", "opencode", "promptfoo", "qwen-code"}
"""Whose pastes no test runs: they are no packages, or large ones."""
SNIPPETS = [
    pytest.param(page, language, text, id=f"{page}-{language}-{place}")
    for page in PAGES
    for language in ("python", "javascript")
    for place, text in enumerate(blocks(f"docs/clients/{page}.md", language))
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    config = {**embedded({}), "server": {"port": 0}}
    with Gateway(tmp_path_factory.mktemp("gateway"), config) as gateway:
        yield f"http://127.0.0.1:{gateway.port}"


def _interpreter(page: str, language: str) -> list[str]:
    if language == "javascript":
        started = command_of("openai", "node")
        if isinstance(started, str):
            pytest.skip(started)
        return [str(node()), "--input-type=module", "-e"]
    environment = "older" if page in OLDER else "frameworks"
    python = python_of(environment)
    if python is None:
        pytest.skip(f"The environment {environment} is not installed: make clients")
    return [str(python), "-c"]


@pytest.mark.parametrize(("page", "language", "text"), SNIPPETS)
def test_a_snippet_says_something(
    page: str, language: str, text: str, address: str, tmp_path: Path
) -> None:
    folder = Folder(tmp_path)
    command = [*_interpreter(page, language), text.replace(ADDRESS, address)]

    ran = folder.run(command, {}, at=SDKS if language == "javascript" else None)

    assert ran.status == 0, ran
    assert re.search(r"\d", ran.said), ran


def _typed(page: str, folder: Folder, address: str, program: str) -> Ran:
    """Type the page's lines of shell, where *program* is found."""
    shell = "\n".join(blocks(f"docs/clients/{page}.md", "sh")).replace(ADDRESS, address)
    shell = shell.replace("codex exec", "codex exec --skip-git-repo-check")
    path = f"{Path(program).parent}:/usr/local/bin:/usr/bin:/bin"
    return folder.run(["bash", "-euc", shell], {"PATH": path})


def test_claude_code_answers(address: str, tmp_path: Path) -> None:
    program = native("@anthropic-ai/claude-code-*/claude")

    ran = _typed("claude-code", Folder(tmp_path), address, program)

    assert ran.status == 0, ran
    assert re.search(r"\d", ran.said), ran
    assert "tool" not in ran.said, ran


def test_codex_answers(address: str, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    (folder.home / ".codex").mkdir()
    usual, alone = blocks("docs/clients/codex.md", "toml")
    settings = (alone + usual).replace(ADDRESS, address)
    (folder.home / ".codex/config.toml").write_text(settings)

    ran = _typed("codex", folder, address, native("@openai/codex-*/vendor/*/bin/codex"))

    assert (ran.status, bool(ran.said.strip())) == (0, True), ran


def test_aider_answers(address: str, tmp_path: Path) -> None:
    ran = _typed("aider", Folder(tmp_path), address, scripted("aider", "aider"))

    assert ran.status == 0, ran
    assert "Tokens:" in ran.said, ran


def test_llm_answers(address: str, tmp_path: Path) -> None:
    folder, program = Folder(tmp_path), scripted("frameworks", "llm")
    logs = Path(folder.run([program, "logs", "path"], {}).said.strip())
    logs.parent.mkdir(parents=True, exist_ok=True)
    [row] = blocks("docs/clients/llm.md", "yaml")
    (logs.parent / "extra-openai-models.yaml").write_text(row.replace(ADDRESS, address))

    ran = _typed("llm", folder, address, program)

    assert ran.status == 0, ran
    assert ran.said.strip()


def test_every_page_is_tried_or_said_not_to_be() -> None:
    tried = {str(param.values[0]) for param in SNIPPETS} | set(LINES)

    assert set(PAGES) == tried | ONLY_TOLD
    assert tried & ONLY_TOLD == set()


def test_every_page_is_linked() -> None:
    index = (ROOT / "docs/clients.md").read_text("utf-8")

    assert [page for page in PAGES if f"(clients/{page}.md)" not in index] == []
