from __future__ import annotations

import pytest

from gateway.stores.responses.records import Cover, ResponseName, ResponseSealed
from tests.gateway.stores.responses.scene import OPEN, SEALED, response

OTHER = b"\x02" * 32


@pytest.mark.parametrize("cover", [OPEN, SEALED], ids=["open", "sealed"])
def test_what_is_closed_is_opened_as_it_was(cover: Cover) -> None:
    kept = response(words="Zoë \0 \u2028")
    record = cover.closed(kept)

    assert cover.opened(kept.name, record) == (kept.object, list(kept.input))
    assert ("Zoë" in record) is (cover is OPEN)


def test_what_was_kept_in_the_clear_is_read_when_there_is_a_key() -> None:
    kept = response()
    assert SEALED.opened(kept.name, OPEN.closed(kept))[0] == kept.object


def test_an_older_key_opens_what_it_has_closed() -> None:
    kept = response()
    assert Cover([OTHER, b"\x01" * 32]).opened(kept.name, SEALED.closed(kept))[0] == kept.object


@pytest.mark.parametrize(
    ("cover", "name"),
    [
        (Cover([OTHER]), response().name),
        (OPEN, response().name),
        (SEALED, ResponseName("k2", "resp_1")),
        (SEALED, ResponseName("k1", "resp_2")),
    ],
    ids=["another key", "no key", "another owner", "another response"],
)
def test_nobody_else_opens_it_and_it_stands_for_nothing_else(
    cover: Cover, name: ResponseName
) -> None:
    with pytest.raises(ResponseSealed):
        cover.opened(name, SEALED.closed(response()))
