"""A headless Chromium, where there is one, and gateways to look at with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from gateway.config.embedded import embedded
from tests.fakes.gateway import ADMIN_TOKEN, Gateway, settings
from tests.fakes.upstream import ScriptedUpstream, dead_port

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 20_000
DESK = (1360, 1000)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Run one browser for the tests of a module; none is ever fetched.

    It is over before other tests begin: playwright has an event loop in this thread until then.
    """
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Sight:
    """A page of a fresh browser, and what it complained of."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Take note of what *page* complains of."""
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def sign_in(self, root: str, token: str = ADMIN_TOKEN) -> None:
        """Open the page at *root* and give the token."""
        self.page.goto(f"{root}/ui")
        self.page.get_by_label("Admin token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator("#board").wait_for()


@pytest.fixture
def sight(chromium: Browser) -> Iterator[Sight]:
    """Open a page; at the end it must not have complained."""
    width, height = DESK
    context = chromium.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE_MS)
    sight = Sight(context.new_page())
    sight.watch(sight.page)
    yield sight
    context.close()
    assert sight.complaints == []


@dataclass(frozen=True)
class Watched:
    """A gateway with keys and a token, over an upstream that plays scripts."""

    gateway: Gateway
    upstream: ScriptedUpstream

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.gateway.port}"


@contextmanager
def _watched(folder: Path) -> Iterator[Watched]:
    held, dead = dead_port()
    with held, ScriptedUpstream() as upstream:
        changes = {
            "pacing": {"mode": "on"},
            "upstream": {"retries": 0},
            "providers": {"oa": {"limits": {"concurrency": 1, "rpm": 600}}},
            "teams": [{"name": "crew", "budget": {"usd": 20, "period": "week"}}],
        }
        with Gateway(folder, settings(upstream.port, dead, changes)) as gateway:
            yield Watched(gateway, upstream)


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Share a gateway whose account ``oa`` takes one call at a time."""
    with _watched(tmp_path_factory.mktemp("watched")) as watched:
        yield watched


@pytest.fixture
def fresh(tmp_path: Path, sight: Sight) -> Iterator[Watched]:
    """Start a gateway like that, to which nothing has come yet; the page leaves before it ends."""
    folder = tmp_path / "fresh"
    folder.mkdir()
    with _watched(folder) as watched:
        yield watched
        sight.page.goto("about:blank")


@pytest.fixture(scope="session")
def open_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start what ``make run`` starts: no keys, no token, a simulation."""
    folder = tmp_path_factory.mktemp("open")
    config = {**embedded({}), "server": {"port": 0}}
    with Gateway(folder, config, {"LOCKGATE_ADMIN_TOKEN": ""}) as gateway:
        yield f"http://127.0.0.1:{gateway.port}"


@pytest.fixture
def picture(tmp_path: Path, sight: Sight) -> Callable[[str], None]:
    """Return what takes a picture of the page, for who wants to see what a test saw."""

    def take(name: str) -> None:
        sight.page.screenshot(path=tmp_path / f"{name}.png", full_page=True)

    return take
