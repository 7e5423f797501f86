"""The rows that facts become."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from gateway.metering.meters.durable import rows_of
from gateway.stores.database.rows import MOST, LedgerRow
from pricing.usage import Usage
from tests.gateway.metering.facts import request, row

KINDS = [field.name for field in fields(Usage) if field.name != "faulty"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_token_has_a_column_and_none_is_too_large_for_it(kind: str) -> None:
    counts: dict[str, Any] = {name: 100 + place for place, name in enumerate(KINDS)}
    usage = Usage(**counts)
    several = usage.cache_write_tokens + usage.cache_write_1h_tokens
    expected = several if kind == "cache_write_tokens" else getattr(usage, kind)

    (held,) = rows_of(request(rows=(row(usage=usage),)))
    (huge,) = rows_of(request(rows=(row(usage=Usage(**{**counts, kind: 10**30})),)))

    assert getattr(held, kind) == expected
    assert 2**61 < getattr(huge, kind) <= MOST
    assert all(value <= MOST for value in huge if isinstance(value, int))


def test_a_row_says_how_its_request_was_carried_out_and_by_which_price() -> None:
    call = row(price="table:oa/fast", caveats=("peak_rate", "audio_at_text_rate"))
    told = request(technique="cisc", session="s\0-1", tags="nightly, job=7  x", rows=(call,))

    (held,) = rows_of(told)

    assert (held.technique, held.price) == ("cisc", "table:oa/fast")
    assert held.session == "s\N{REPLACEMENT CHARACTER}-1"
    assert held.tags == "nightly job=7 x"
    assert held.caveats == "peak_rate audio_at_text_rate"


def test_what_a_request_does_not_say_stands_nowhere() -> None:
    (held,) = rows_of(request())

    assert held[LedgerRow._fields.index("session") :] == (None,) * 4 + (0,) * 6
