"""The page of a gateway, in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import orjson
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, Request, expect

from gateway.metering.meters.prometheus import OUTCOMES
from tests.browser.conftest import PATIENCE_MS, Sight, Watched
from tests.browser.looks import contrasts, is_too_wide, nameless, tree
from tests.fakes.client import Exchange, dial, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS
from tests.fakes.script import Answer, completion, error
from tests.patience import PATIENCE_S

expect.set_options(timeout=PATIENCE_MS)
Take = Callable[[str], None]
WIDTHS = (320, 360, 768, 981, 1360)
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
LEAST_CONTRAST = 4.5
OVERLAPS = """async (code) => {
  const { outcome } = await import('/ui/words.js');
  const found = [];
  for (const badge of document.querySelectorAll('#ended .badge, #errors .badge')) {
    const before = badge.textContent;
    badge.textContent = outcome(code);
    const a = badge.getBoundingClientRect();
    for (const other of badge.parentElement.children) {
      const b = other.getBoundingClientRect();
      const beside = b.left >= a.right + 4 || b.right <= a.left;
      const apart = beside || b.top >= a.bottom || b.bottom <= a.top;
      if (other !== badge && b.width && !apart) found.push([badge.textContent, other.textContent]);
    }
    badge.textContent = before;
  }
  return found;
}"""
"""What a word for an end would touch, if it stood in the lists now."""
UNENDING = completion("first").later(600)


def _asked(model: str, **headers: str) -> bytes:
    body = {"model": model, "messages": [{"role": "user", "content": "What is 17 * 23?"}]}
    sent = {"authorization": f"Bearer {KEYS['k1']}", **headers}
    return request("/v1/chat/completions", orjson.dumps(body), sent)


def _ask(watched: Watched, model: str, answer: Answer, **headers: str) -> int:
    watched.upstream.plays(answer)
    return Exchange(watched.gateway.port, _asked(model, **headers)).whole().status


@contextmanager
def _two_at_once(watched: Watched) -> Iterator[Any]:
    """Have one call under way that takes the whole account, and another that is held by it."""
    watched.upstream.plays(UNENDING, completion("second"))
    first = dial(watched.gateway.port, _asked("oa-model"))
    second = None
    try:
        while not watched.upstream.asked:
            watched.gateway.get("/healthz")
        second = dial(watched.gateway.port, _asked("oa-own"))
        yield first
    finally:
        first.close()
        if second is not None:
            second.close()


def _tile(page: Page, name: str) -> Any:
    return page.locator(f".tile[data-name={name}] .big")


def test_the_token_is_asked_for_and_kept_for_the_tab_alone(sight: Sight, watched: Watched) -> None:
    page = sight.page
    page.goto(f"{watched.root}/ui")
    field = page.get_by_label("Admin token")
    expect(field).to_be_focused()
    expect(page.locator("#board")).to_be_hidden()
    field.fill("not-the-token")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("That is not this gateway's admin token.")
    assert all("401" in one for one in sight.complaints)
    sight.complaints.clear()

    field.fill(ADMIN_TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#board")).to_be_visible()
    assert page.url == f"{watched.root}/ui"
    assert ADMIN_TOKEN not in page.content()
    assert page.evaluate("JSON.stringify(localStorage) + document.cookie") == "{}"
    page.reload()
    expect(page.locator("#board")).to_be_visible()


def test_another_tab_asks_again_and_who_signs_out_is_out(sight: Sight, watched: Watched) -> None:
    page = sight.page
    sight.sign_in(watched.root)
    other = page.context.new_page()
    other.goto(f"{watched.root}/ui")
    expect(other.get_by_label("Admin token")).to_be_visible()

    page.get_by_role("button", name="Sign out").click()
    expect(page.locator("#board")).to_be_hidden()
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()
    expect(page.get_by_label("Admin token")).to_be_visible()


def test_a_newcomer_is_shown_a_first_request_that_works(
    sight: Sight, open_root: str, picture: Take
) -> None:
    """No other test makes a call here: it is the first."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    page = sight.page
    page.goto(f"{open_root}/ui")
    expect(page.get_by_role("heading", name="Nothing has come yet")).to_be_visible()
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    picture("first")
    command = page.locator("#first-command").inner_text()
    assert command.startswith(f"curl {open_root}/v1/chat/completions")

    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, check=True, timeout=PATIENCE_S
    )

    assert b"lockgate-simulation" in done.stdout
    expect(page.locator("#ended .badge")).to_have_text("Done")
    expect(page.locator("#ended")).to_contain_text("self_consistency")
    expect(page.locator("#first")).to_be_hidden()
    expect(page.locator("#by-technique")).to_contain_text("self_consistency")
    expect(_tile(page, "spent")).to_have_text(re.compile(r"^\$0\.0+\d+$"))


def test_what_is_held_is_shown_with_its_reason_and_goes_on_before_ones_eyes(
    sight: Sight, watched: Watched, picture: Take
) -> None:
    page = sight.page
    sight.sign_in(watched.root)
    expect(page.locator("#queue-empty")).to_be_visible()
    with _two_at_once(watched) as first:
        expect(_tile(page, "held")).to_have_text("1")
        expect(_tile(page, "executing")).to_have_text("1")
        expect(page.locator("#queue .group h3")).to_contain_text("oa1 waits · 1 under way")
        expect(page.locator("#queue li.wait")).to_contain_text("oa-own · plain call · key k1")
        expect(page.locator("#queue li.wait")).to_contain_text("a call to end")
        states = page.locator("#runs .badge")
        expect(states).to_have_text(["Under way", "Held"])
        meter = page.get_by_role("meter", name="calls at once")
        expect(meter).to_have_attribute("aria-valuetext", "0 of 1 left")
        expect(page).to_have_title("(1 held) Lockgate")
        picture("held")

        first.close()
        ended = page.locator("#ended .badge")
        expect(ended.nth(0)).to_have_text("Done")
        expect(ended.nth(1)).to_have_text("Client left")
        expect(page.locator("#queue-empty")).to_be_visible()
        expect(meter).to_have_attribute("aria-valuetext", "1 of 1 left")
        expect(page).to_have_title("Lockgate")
        assert nameless(page) == []


def test_what_is_not_known_of_the_cost_is_said(sight: Sight, fresh: Watched) -> None:
    assert _ask(fresh, "oa-own", completion("priced")) == 200
    assert [_ask(fresh, "oa-free", completion("no price")) for _ in range(2)] == [200, 200]
    page = sight.page
    sight.sign_in(fresh.root)

    expect(_tile(page, "spent")).to_have_text(re.compile(r"^≥ \$0\.0+\d+$"))
    bars = page.locator("#by-model li")
    expect(bars.nth(0)).to_contain_text(re.compile(r"oa-own\$0\.0+\d+ · 1 call$"))
    expect(bars.nth(1)).to_contain_text("oa-freeunknown · 2 calls")
    budget = page.get_by_role("meter", name="budget of team crew · week")
    expect(budget).to_have_attribute("aria-valuetext", re.compile(r"^\$20\.00 of \$20\.00 left"))


def test_keys_that_have_expired_or_soon_will_are_named(sight: Sight, fresh: Watched) -> None:
    soon = datetime.now(UTC) + timedelta(days=3, hours=1)
    admin = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    for name, expires in (
        ("old", "2020-01-31"),
        ("soon", soon.isoformat()),
        ("late", "2999-01-01"),
    ):
        asked = {"name": name, "expires": expires}
        made = Exchange(
            fresh.gateway.port, request("/admin/keys", orjson.dumps(asked), admin)
        ).whole()
        assert made.status == 201
    sight.sign_in(fresh.root)

    told = sight.page.locator("#keys-go")
    expect(told).to_have_text(re.compile(r"^key old has expired · key soon expires in 3 d"))


def test_the_last_errors_are_shown_with_what_failed(
    sight: Sight, fresh: Watched, picture: Take
) -> None:
    assert _ask(fresh, "oa-model", error(500, "out of order")) == 502
    assert _ask(fresh, "no-such-model", completion("never")) == 404
    fresh.upstream.forget()
    page = sight.page
    sight.sign_in(fresh.root)

    errors = page.locator("#errors li")
    expect(errors).to_have_count(2)
    expect(errors.nth(0)).to_contain_text("Not valid")
    expect(errors.nth(0)).to_contain_text("no call was made")
    expect(errors.nth(1)).to_contain_text("Provider failed")
    expect(errors.nth(1)).to_contain_text("oa (oa-model): server")
    picture("errors")
    shown = errors.nth(1).locator("code").inner_text()
    found = fresh.gateway.get(f"/admin/ledger?request={shown}", ADMIN_TOKEN)
    assert found.json["request"]["outcome"] == "upstream_error"


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_for_an_end_runs_into_what_stands_beside_it(
    sight: Sight, fresh: Watched, width: int
) -> None:
    assert _ask(fresh, "no-such-model", completion("never")) == 404
    page = sight.page
    page.set_viewport_size({"width": width, "height": 1000})
    sight.sign_in(fresh.root)
    expect(page.locator("#errors li")).to_have_count(1)
    expect(page.locator("#ended li")).to_have_count(1)

    for code in OUTCOMES:
        assert page.evaluate(OVERLAPS, code) == [], code


def test_nothing_jumps_when_things_come_and_go(sight: Sight, watched: Watched) -> None:
    page = sight.page
    sight.sign_in(watched.root)

    def places() -> list[Any]:
        return [one.bounding_box() for one in page.locator(".top, .card:visible").all()]

    before = places()
    with _two_at_once(watched):
        expect(_tile(page, "held")).to_have_text("1")
        assert places() == before
    page.context.set_offline(True)
    expect(page.locator("#pulse")).to_contain_text("No answer")
    assert places() == before
    sight.complaints.clear()


def test_it_says_when_the_gateway_is_away_and_goes_on_when_it_is_back(
    sight: Sight, watched: Watched, picture: Take
) -> None:
    page = sight.page
    sight.sign_in(watched.root)
    status = page.get_by_role("status").first
    expect(status).to_have_text("Live")
    page.context.set_offline(True)
    expect(status).to_have_text("No answer")
    expect(page.locator("#pulse-age")).to_contain_text("trying again")
    expect(page.locator("#board")).to_be_visible()
    picture("away")
    page.context.set_offline(False)
    expect(status).to_have_text("Live")
    assert all("ERR_INTERNET_DISCONNECTED" in one for one in sight.complaints)
    sight.complaints.clear()


def test_a_page_that_nobody_sees_asks_for_nothing(sight: Sight, open_root: str) -> None:
    page = sight.page
    asked: list[str] = []

    def note(request: Request) -> None:
        if "/admin/overview" in request.url:
            asked.append(request.url)

    show = """(state) => {
      Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});
      document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.clock.install()
    page.goto(f"{open_root}/ui")
    page.locator("#board").wait_for()
    page.evaluate(show, "hidden")
    page.on("request", note)
    page.clock.run_for(60_000)
    assert asked == []
    with page.expect_response(re.compile("/admin/overview$")):
        page.evaluate(show, "visible")
    expect(page.locator("#pulse")).to_contain_text("Live")


def test_every_text_can_be_read_and_everything_has_a_name(
    sight: Sight, watched: Watched, picture: Take
) -> None:
    page = sight.page

    def hard_to_read(*, at_least: int) -> list[Any]:
        found: list[Any] = []
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            picture(scheme)
            told = contrasts(page)
            assert len(told) > at_least
            found += [(scheme, *one) for one in told if one[1] < LEAST_CONTRAST]
        return found

    page.goto(f"{watched.root}/ui")
    page.get_by_label("Admin token").wait_for()
    assert hard_to_read(at_least=7) == []
    assert nameless(page) == []

    assert _ask(watched, "no-such-model", completion("never")) == 404
    assert _ask(watched, "oa-free", completion("no price")) == 200
    sight.sign_in(watched.root)
    with _two_at_once(watched):
        expect(_tile(page, "held")).to_have_text("1")
        expect(page.locator("#errors li").first).to_be_visible()
        assert hard_to_read(at_least=50) == []
        assert nameless(page) == []
    roles = {role for role, _ in tree(page)}
    assert {"main", "banner", "contentinfo", "region", "status", "meter", "heading"} <= roles


def test_the_theme_is_the_systems_until_another_is_chosen(sight: Sight, open_root: str) -> None:
    page = sight.page

    def is_dark() -> bool:
        rgb = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return max(map(int, re.findall(r"\d+", rgb)[:3])) < 64

    page.emulate_media(color_scheme="dark")
    page.goto(f"{open_root}/ui")
    button = page.get_by_role("button", name="Theme: system")
    expect(button).to_be_visible()
    assert is_dark()
    page.emulate_media(color_scheme="light")
    assert not is_dark()
    button.click()
    assert not is_dark()
    page.get_by_role("button", name="Theme: light").click()
    assert is_dark()
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert is_dark()
    page.get_by_role("button", name="Theme: dark").click()
    assert not is_dark()


def test_it_fits_into_a_narrow_window(sight: Sight, watched: Watched, picture: Take) -> None:
    page = sight.page

    def too_wide() -> list[int]:
        found = []
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 740})
            picture(f"{width}")
            found += [width] * is_too_wide(page)
        return found

    page.goto(f"{watched.root}/ui")
    page.get_by_label("Admin token").wait_for()
    assert too_wide() == []
    assert _ask(watched, "n" * 120, completion("never")) == 404
    session = {"x-lockgate-session": "a-very-long-session-" + "x" * 80}
    assert _ask(watched, "oa-free", completion("no price"), **session) == 200
    sight.sign_in(watched.root)
    with _two_at_once(watched):
        expect(_tile(page, "held")).to_have_text("1")
        expect(page.locator("#ended li").nth(1)).to_be_visible()
        expect(page.locator("#errors li").first).to_be_visible()
        assert too_wide() == []


def test_it_can_be_used_with_a_keyboard_alone(sight: Sight, watched: Watched) -> None:
    page = sight.page
    page.goto(f"{watched.root}/ui")
    expect(page.get_by_label("Admin token")).to_be_focused()
    page.keyboard.type(ADMIN_TOKEN)
    page.keyboard.press("Enter")
    page.locator("#board").wait_for()
    expect(page.locator("main")).to_be_focused()
    page.reload()
    page.locator("#board").wait_for()
    names: list[str] = []
    for _ in range(9):
        page.keyboard.press("Tab")
        told = "[...document.querySelectorAll(':focus-visible')].map((it) => it.innerText.trim()"
        names += page.evaluate(f"{told} && (it.ariaLabel ?? it.innerText))")

    assert [re.sub(r"\s+", " ", name) for name in names][:4] == [
        "Skip to the content",
        "Theme: system",
        "Sign out",
        "Calls and runs under way, and the last that ended",
    ]
    assert "What is held, and why" in names
    assert "What is left of each limit" in names
