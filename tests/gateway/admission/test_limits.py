"""What answers tell of limits: one sample or more for each row of the table."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from gateway.admission.limits import VENDORS, Vendor, read, vendor_of
from gateway.admission.reading import NOTHING_TOLD, Reading, Told
from tests.gateway.admission.limit_samples import Sample, samples

SAMPLES = samples()
NOW = 1893456000.0  # 2030-01-01T00:00:00Z
AUTO = vendor_of(None, "http://models.example", "openai_chat")
OPENAI, AZURE, ANTHROPIC = VENDORS["openai"], VENDORS["azure"], VENDORS["anthropic"]


def told(vendor: Vendor, headers: Mapping[str, str], status: int = 200, body: bytes = b"") -> Told:
    return read(vendor, headers, status=status, now=NOW, body=body)


def requests(limit: str | None = None, left: str | None = None, reset: str | None = None) -> Told:
    """Read an OpenAI answer with these values."""
    values = {"limit": limit, "remaining": left, "reset": reset}
    given = {f"x-ratelimit-{k}-requests": v for k, v in values.items() if v is not None}
    return told(OPENAI, given)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_47_what_each_vendor_tells_is_read(sample: Sample) -> None:
    assert sample.read() == sample.told


def test_a_47_every_row_of_the_table_has_a_sample() -> None:
    seen = {sample.vendor for sample in SAMPLES} | {"ietf"}  # read as generic

    assert seen == set(VENDORS)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_host_says_whose_it_is(sample: Sample) -> None:
    vendor = vendor_of("auto", sample.base_url, sample.dialect)

    assert vendor.name == ("auto" if sample.vendor == "generic" else sample.vendor)


@pytest.mark.parametrize(
    "sample", [s for s in SAMPLES if s.name.startswith("ietf")], ids=lambda sample: sample.name
)
def test_a_host_may_be_said_to_send_the_standard_headers(sample: Sample) -> None:
    assert sample.read(VENDORS["ietf"]) == sample.told


SHOWN = {"azure_nothing", "anthropic", "anthropic_unified", "mistral", "mistral_by_size"}
SHOWN |= {"together_dynamic", "fireworks", "cerebras"}


@pytest.mark.parametrize(
    "sample", [s for s in SAMPLES if s.name in SHOWN], ids=lambda sample: sample.name
)
def test_an_unknown_host_is_read_as_what_its_headers_look_like(sample: Sample) -> None:
    assert sample.read(AUTO) == sample.told


@pytest.mark.parametrize(
    ("configured", "base_url", "dialect", "name"),
    [
        ("groq", "https://api.openai.com", "openai_chat", "groq"),
        ("auto", "https://api.openai.com/v1", "openai_chat", "openai"),
        (None, "https://API.Groq.com/openai/v1", "openai_chat", "groq"),
        (None, "https://mine.openai.azure.com/openai", "openai_chat", "azure"),
        (None, "https://evilapi.openai.com.example", "openai_chat", "auto"),
        (None, "https://notapi.openai.com", "openai_chat", "auto"),
        (None, "https://claude.example", "anthropic", "anthropic"),
        (None, "http://[", "openai_chat", "auto"),
        (None, "", "openai_chat", "auto"),
    ],
)
def test_the_configuration_goes_before_the_host(
    configured: str | None, base_url: str, dialect: str, name: str
) -> None:
    assert vendor_of(configured, base_url, dialect).name == name


def test_a_vendor_that_does_not_exist_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(KeyError):
        vendor_of("opnai", "", "openai_chat")


def test_an_answer_that_says_nothing_costs_nothing() -> None:
    headers = {"content-type": "application/json", "date": "Tue, 01 Jan 2030 00:00:00 GMT"}

    assert told(AUTO, headers) is NOTHING_TOLD
    assert told(OPENAI, {**headers, "retry-after": "3"}) is NOTHING_TOLD  # it was served


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("2m59.56s", 179.56),
        ("12ms", 0.012),
        ("1d2h", 93_600.0),
        ("1h2m3s", 3723.0),
        ("33", 33.0),
        ("33011.382867", 33011.382867),
        (" 7.66s ", 7.66),
        ("1893456030", 30.0),
        ("1893456030000", 30.0),
        ("Tue, 01 Jan 2030 00:00:30 GMT", 30.0),
        ("Tuesday, 01-Jan-30 00:00:30 GMT", 30.0),
        ("Tue Jan  1 00:00:30 2030", 30.0),
        ("2030-01-01T00:00:30.5Z", 30.5),
        ("2030-01-01t01:00:30+01:00", 30.0),
        ("2029-12-31T23:00:00Z", 0.0),
        ("-3", 0.0),
    ],
)
def test_a_41_resets_of_every_form_are_read(text: str, seconds: float) -> None:
    reading = requests("10", "5", text).readings[0]

    assert reading.reset_s == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "inf", "nan", "-inf", "1e3", "1_0", "12345678", "١٢", "1s1s", "²"]
)
def test_a_47_what_is_no_time_is_no_data_and_its_header_is_named(text: str) -> None:
    read_ = requests("10", "5", text)

    assert read_.readings == (Reading("requests", 60, 10, 5, None, "bucket"),)
    assert read_.unparsed == ("x-ratelimit-reset-requests",)


@pytest.mark.parametrize("text", ["", "many", "inf", "NaN", "-5", "1,000", "9" * 16, "9" * 5000])
def test_a_47_what_is_no_amount_is_no_data_and_its_header_is_named(text: str) -> None:
    read_ = requests("10", text, "1s")

    assert read_.readings == (Reading("requests", 60, 10, None, 1, "bucket"),)
    assert read_.unparsed == ("x-ratelimit-remaining-requests",)


def test_a_41_what_is_missing_is_not_missed() -> None:
    assert requests("10").readings == (Reading("requests", 60, 10, refill="bucket"),)
    assert requests(None, "4").readings == (Reading("requests", 60, None, 4, refill="bucket"),)


def test_a_42_a_moment_is_taken_against_the_answers_own_date() -> None:
    head = "anthropic-ratelimit-requests-"
    headers = {f"{head}limit": "50", f"{head}remaining": "49"}
    headers |= {f"{head}reset": "2030-01-01T00:10:05Z", "date": "Tue, 01 Jan 2030 00:10:00 GMT"}

    assert told(ANTHROPIC, headers).readings[0].reset_s == 5
    assert told(ANTHROPIC, headers | {"date": "nonsense"}).readings[0].reset_s == 605
    old = headers | {"date": "Sat, 01 Dec 2029 00:00:00 GMT"}
    assert told(ANTHROPIC, old).readings[0].reset_s == 605


def test_a_43_a_reset_comes_nearer_with_the_clock_and_is_never_negative() -> None:
    headers = {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "1893456030"}
    first = read(OPENAI, headers, status=200, now=NOW)
    later = [read(OPENAI, headers, status=200, now=NOW + past) for past in (10, 29.5, 60)]

    assert [each.readings[0].reset_s for each in later] == [20, 0.5, 0]
    assert first.readings[0].reset_s == 30


@pytest.mark.parametrize(
    ("status", "wait", "exhausted"), [(429, 4.0, ("requests", 60)), (500, None, None)]
)
def test_a_44_only_a_429_is_a_refusal_by_a_limit(
    status: int, wait: float | None, exhausted: object
) -> None:
    headers = {f"x-ratelimit-{k}-requests": v for k, v in (("limit", "9"), ("remaining", "0"))}
    answer = told(OPENAI, headers | {"x-ratelimit-reset-requests": "4s"}, status)

    assert (answer.retry_after_s, answer.exhausted) == (wait, exhausted)
    assert answer.readings[0].remaining == 0


def test_a_45_nothing_is_made_up_for_a_refusal_that_tells_nothing() -> None:
    assert told(OPENAI, {}, 429, b'{"error":{"message":"slow down"}}') == NOTHING_TOLD


def test_a_46_whose_cached_input_is_free_is_known() -> None:
    free = {name for name, row in VENDORS.items() if row.cached_input_free}

    assert free == {"groq", "anthropic"}


def test_a_48_periods_and_charges_are_those_of_the_vendor() -> None:
    periods = {row.dimension: row.period_s for row in VENDORS["groq"].windows}

    assert periods == {"requests": 86_400, "tokens": 60}
    reserving = {name for name, row in VENDORS.items() if row.charge.startswith("reserve")}
    assert reserving == {"openai", "azure", "cerebras"}
    assert [name for name, row in VENDORS.items() if row.failed_counts] == ["openai"]


@pytest.mark.parametrize(("limit", "left"), [("0", "0"), (None, "0"), ("0", None), ("-1", "-1")])
def test_nothing_left_of_nothing_says_nothing_when_the_call_was_served(
    limit: str | None, left: str | None
) -> None:
    assert requests(limit, left, "0s").readings == ()
    assert requests(limit, left, "0s").unparsed == ()


def test_a_limit_of_nothing_with_a_refusal_means_never() -> None:
    headers = {"x-ratelimit-limit-requests": "0", "x-ratelimit-remaining-requests": "0"}

    assert told(OPENAI, headers, 429).never
    assert not told(OPENAI, headers, 503).never
    assert not told(OPENAI, headers | {"x-ratelimit-limit-requests": "5"}, 429).never


def test_azures_nothing_is_no_reason_to_try_again_at_once() -> None:
    names = ("limit", "remaining", "reset")
    headers = {f"x-ratelimit-{name}-tokens": "-1" for name in names}
    headers["x-ratelimit-reset-tokens"] = "0"

    assert told(AZURE, headers, 429) == NOTHING_TOLD


def test_where_more_is_left_than_the_limit_the_limit_has_grown() -> None:
    assert requests("10", "12").readings == (Reading("requests", 60, 12, 12, refill="bucket"),)


@pytest.mark.parametrize(("left", "margin"), [("4000", 500), ("4001", 0), ("0", 0)])
def test_half_a_unit_is_taken_off_what_was_rounded(left: str, margin: int) -> None:
    head = "anthropic-ratelimit-input-tokens-"
    reading = told(ANTHROPIC, {f"{head}limit": "9000", f"{head}remaining": left}).readings[0]

    assert reading.remaining == float(left) - margin


def test_the_soonest_reset_of_what_is_full_is_waited_for_where_nothing_else_is_said() -> None:
    headers: dict[str, str] = {}
    for what, left, reset in (("requests", "0", "9s"), ("tokens", "0", "7s")):
        headers |= {f"x-ratelimit-limit-{what}": "100", f"x-ratelimit-remaining-{what}": left}
        headers[f"x-ratelimit-reset-{what}"] = reset
    told_ = told(OPENAI, headers, 429)

    assert told_.retry_after_s == 7
    assert told_.exhausted == ("requests", 60)
    assert told(OPENAI, headers | {"retry-after": "60"}, 429).retry_after_s == 60
    assert told(OPENAI, headers, 429, b"try again in 2.5s").retry_after_s == 2.5
    headers |= {"x-ratelimit-remaining-tokens": "50"}
    assert told(OPENAI, headers, 429).retry_after_s == 9


def test_of_a_subscription_the_window_is_waited_for_that_is_full() -> None:
    head = "anthropic-ratelimit-unified-"
    headers = {f"{head}status": "rejected", f"{head}representative-claim": "seven_day"}
    headers |= {f"{head}5h-utilization": "0.2", f"{head}5h-reset": str(NOW + 60)}
    headers |= {f"{head}7d-utilization": "0.99", f"{head}7d-reset": str(NOW + 90_000)}
    refusal = told(ANTHROPIC, headers, 429)

    assert refusal.retry_after_s == 90_000
    assert refusal.exhausted == ("tokens", 604_800)


def test_a_limit_on_bytes_is_not_one_on_calls() -> None:
    headers = {"ratelimit-policy": '"size";q=9;qu="content-bytes";w=60', "ratelimit": '"size";r=5'}

    assert told(VENDORS["ietf"], headers).readings == ()


def test_a_date_without_a_zone_is_universal_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert requests("10", "5", "Tue Jan  1 00:00:41 2030").readings[0].reset_s == 41
    finally:
        monkeypatch.undo()
        time.tzset()


def test_azures_slices_of_ten_seconds_are_told_by_its_minutes() -> None:
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "34",
    }

    assert told(VENDORS["azure"], headers).readings == (
        Reading("requests", 60, 60, 59, 34, "fixed"),
        Reading("requests", 10, 10, None, 34, "fixed"),
    )
