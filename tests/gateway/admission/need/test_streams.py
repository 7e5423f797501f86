from __future__ import annotations

from gateway.admission.need.streams import Key, Streams


def wider(key: Key) -> tuple[Key, Key]:
    return key[:2], key[:1]


def test_the_narrowest_stream_that_has_enough_speaks() -> None:
    streams = Streams(wider)
    for _ in range(20):
        streams.record(("m", "r", "a"), 1)
    streams.record(("m", "r", "b"), 9)

    own, same_role, same_model = (
        streams.find(key) for key in (("m", "r", "a"), ("m", "r", "b"), ("m", "x", "b"))
    )

    assert own is not None
    assert own[1] == 0
    assert same_role is not None
    assert (same_role[1], same_role[0].largest()) == (1, 9)
    assert same_model is not None
    assert same_model[1] == 2
    assert streams.find(("n", "r", "a")) is None


def test_a_stream_is_found_by_its_place() -> None:
    streams = Streams(wider)
    streams.record(("m", "r", "a"), 1)

    assert streams.at(("m", "r", "b"), 0) is None
    assert streams.at(("m", "r", "b"), 1) is streams.at(("m", "r", "a"), 1)


def test_the_number_of_streams_is_bounded_and_the_oldest_goes() -> None:
    streams = Streams(wider, most=10)
    for index in range(100):
        streams.record(("m", "kept"), 1)
        streams.record((f"m{index}", "r", "x"), 1)

    assert len(streams) <= 20
    assert streams.at(("m", "kept"), 0) is not None
    assert streams.at(("m0", "r", "x"), 0) is None
