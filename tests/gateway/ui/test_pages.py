"""The page and its files, as they are served: to anyone, and with nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gateway import ui
from gateway.ui.pages import page_routes
from tests.gateway.surfaces.test_operations import KEYS, serving

FOLDER = Path(ui.__path__[0])
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in {".css", ".html", ".js", ".svg"})
CODE = [path for path in FILES if path.suffix == ".js"]
PATHS = ["/ui" if path.name == "page.html" else f"/ui/{path.name}" for path in FILES]
_MOST_LINES = 300


class Tags(HTMLParser):
    """Collects tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def tags() -> list[tuple[str, dict[str, str | None]]]:
    return Tags((FOLDER / "page.html").read_text("utf-8")).found


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("path", PATHS)
async def test_every_file_is_served_to_anyone_under_a_strict_policy(path: str) -> None:
    async with serving("admin", keys=KEYS) as gateway:
        answer = await gateway.ask(path)
        again = await gateway.ask(path, {"if-none-match": f'"x", {answer.headers["etag"]}'})
        changed = await gateway.ask(path, {"if-none-match": '"another"'})
    policy = dict(
        part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; ")
    )

    assert (answer.status, again.status, changed.status) == (200, 304, 200)
    assert again.body == b""
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not re.search(r"unsafe|\*|https?:|data:", answer.headers["content-security-policy"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_page_is_found_with_a_slash_at_its_end_and_nothing_else_is() -> None:
    async with serving() as gateway:
        slash = await gateway.ask("/ui/")
        outside = [
            (await gateway.ask(path)).status
            for path in ("/ui/pages.py", "/ui/__init__.py", "/ui/../app.py", "/ui/x.js")
        ]

    assert (slash.status, slash.headers["location"]) == (307, "/ui")
    assert outside == [404] * 4


def test_every_file_is_served() -> None:
    assert sorted(route.path for route in page_routes()) == sorted(PATHS)


def test_the_page_asks_for_its_own_files_only(
    tags: list[tuple[str, dict[str, str | None]]],
) -> None:
    asked = {value for _, attrs in tags for name in ("src", "href") if (value := attrs.get(name))}

    assert {f"/{one}" for one in asked if not one.startswith("#")} <= set(PATHS)
    for path in CODE:
        imported = re.findall(r'from "\./([^"]+)"', path.read_text("utf-8"))
        assert {f"/ui/{name}" for name in imported} <= set(PATHS)


def test_the_markup_has_no_code_and_no_style_in_it(
    tags: list[tuple[str, dict[str, str | None]]],
) -> None:
    scripts = [attrs for tag, attrs in tags if tag == "script"]

    assert not [tag for tag, _ in tags if tag == "style"]
    assert all(attrs.get("src") for attrs in scripts)
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]
    assert not [tag for tag, attrs in tags if "style" in attrs]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_names_another_host_or_makes_markup_or_code_of_text(path: Path) -> None:
    text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    if path.suffix == ".svg" or path.name == "plots.js":
        assert "//www" not in text

    assert not re.search(r"https?://|//cdn|@import|url\(", text)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser",
        text,
    )
    assert len(text.splitlines()) <= _MOST_LINES


def _stored() -> Iterator[tuple[str, str]]:
    for path in CODE:
        yield from re.findall(r"(\w+Storage)\.setItem\((\w+|\"[^\"]+\")", path.read_text("utf-8"))


def test_the_token_is_kept_for_the_tab_only_and_never_in_an_address() -> None:
    assert set(_stored()) == {("sessionStorage", "KEY"), ("localStorage", '"lockgate-theme"')}
    main = (FOLDER / "main.js").read_text("utf-8")
    assert re.findall(r"fetch\(([^,]+),", main) == ["this.path", '"ui/access"']
    assert re.findall(r'new Poll\("([^"]+)"', main) == ["admin/overview", "admin/overview/today"]


def test_every_element_that_the_code_asks_for_is_there(
    tags: list[tuple[str, dict[str, str | None]]],
) -> None:
    there = [attrs["id"] for _, attrs in tags if "id" in attrs]
    asked = {name for path in CODE for name in re.findall(r'\bat\("([^"]+)"\)', path.read_text())}

    assert len(there) == len(set(there))
    assert asked <= set(there)
    referred = {
        name
        for _, attrs in tags
        for of in ("aria-labelledby", "aria-describedby", "for")
        for name in (attrs.get(of) or "").split()
    }
    assert referred <= set(there)
