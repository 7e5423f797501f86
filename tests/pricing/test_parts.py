from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.cost import cost
from pricing.parts import output_part
from pricing.price import Price
from pricing.usage import Usage

PRICE = Price(input=3, output=15, cache_read=1, reasoning=20, per_request=100)


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        (Usage(10, 4), 60),
        (Usage(10, 4, reasoning_tokens=3), 75),
        (Usage(10, 0), 0),
        (Usage(10, 4, cache_read_tokens=10), 60),
        (Usage(0, 4, audio_output_tokens=4), 60),
        (Usage(), 0),
    ],
)
def test_what_was_written_is_told_from_what_was_read(usage: Usage, written: int) -> None:
    assert output_part(cost(usage, PRICE), usage, PRICE) == written


def test_of_a_cost_that_came_from_elsewhere_the_price_tells_the_proportion() -> None:
    usage = Usage(100, 20)
    plain = Price(input=3, output=15)

    assert output_part(1200, usage, plain) == 600


def test_what_is_free_has_no_parts() -> None:
    assert output_part(0, Usage(10, 10), Price(input=0, output=0)) == 0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**12))
def test_a_part_is_never_more_than_the_whole(read: int, wrote: int, spent: int) -> None:
    assert 0 <= output_part(spent, Usage(read, wrote), PRICE) <= spent
