"""The tables in the documents are those of the code, and links lead somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import generate, links
from docs.generate import TABLES, documents, filled
from tests.docs.documents import ROOT


@pytest.mark.parametrize("page", documents(), ids=lambda page: str(page.relative_to(ROOT)))
def test_a_document_is_up_to_date_and_its_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")

    assert filled(text) == text, "run: make docs"
    assert list(links.dead(page)) == []


def test_every_table_stands_in_a_document() -> None:
    text = "".join(page.read_text("utf-8") for page in documents())

    assert [name for name in TABLES if f"<!-- begin {name} -->" not in text] == []


def test_a_table_that_is_old_is_found() -> None:
    old = "<!-- begin settings -->\nold\n<!-- end settings -->\n"

    assert "server.port" in filled(old)


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A heading, with `code`\n[a](#a-heading-with-code) [b](#b) [c](c.md) [d](page.md#d)\n"
        "[e](https://example.com) [f](page.md)\n"
    )

    assert list(links.dead(page)) == ["#b", "c.md", "page.md#d"]


def test_the_generator_wants_to_be_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main([]) == 2
    assert "--write or --check" in capsys.readouterr().err


def test_metrics_are_listed_under_the_names_that_prometheus_sees() -> None:
    table = generate.metrics()

    assert "| `lockgate_requests_total` | counter | `dialect`, `model`" in table
    assert "| `lockgate_requests_in_flight` | gauge | `dialect` |" in table
