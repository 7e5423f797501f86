"""Every process that collects the tests finds them by the same names."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("packed", [b"\x1f\x8b", b"\x1f\x8c"])
def test_a_case_of_bytes_is_not_named_by_them(
    packed: bytes, request: pytest.FixtureRequest
) -> None:
    assert request.node.name.endswith(("[packed0]", "[packed1]"))
    assert packed
