"""Where a request stands in its client's trace."""

from __future__ import annotations

import pytest

from gateway.metering.trace import begun

REQUEST = "0af7651916cd43dd8448eb211c80319c"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


def test_a_clients_trace_goes_on() -> None:
    trace = begun(f"00-{TRACE}-{PARENT}-01", REQUEST, 0.0)

    assert (trace.trace_id, trace.parent, trace.sampled) == (TRACE, PARENT, True)
    assert trace.span_id not in (PARENT, "0" * 16)
    assert trace.header("b" * 16) == f"00-{TRACE}-{'b' * 16}-01"


def test_a_client_that_does_not_want_its_trace_written_down_decides() -> None:
    trace = begun(f"00-{TRACE}-{PARENT}-00", REQUEST, 1.0)

    assert not trace.sampled
    assert trace.header("b" * 16).endswith("-00")


def test_a_later_version_may_say_more() -> None:
    assert begun(f"cc-{TRACE}-{PARENT}-01-what-comes", REQUEST, 1.0).trace_id == TRACE


@pytest.mark.parametrize(
    "told",
    [
        None,
        "",
        "nonsense",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE}-{PARENT}-01\r\nx: y",
        f"00-{TRACE}-{PARENT}-1",
    ],
)
def test_what_is_no_place_in_a_trace_begins_one_named_like_the_request(told: str | None) -> None:
    trace = begun(told, REQUEST, 1.0)

    assert (trace.trace_id, trace.parent, trace.sampled) == (REQUEST, None, True)


def test_a_part_of_the_traces_that_begin_here_is_sampled_and_the_same_each_time() -> None:
    names = [f"{number * 0x9E3779B97F4A7C15:032x}"[-32:] for number in range(1, 2001)]

    sampled = [begun(None, name, 0.25).sampled for name in names]

    assert 400 < sum(sampled) < 600
    assert sampled == [begun(None, name, 0.25).sampled for name in names]
    assert not any(begun(None, name, 0.0).sampled for name in names)
    assert all(begun(None, name, 1.0).sampled for name in names)
