from __future__ import annotations

import pytest

from techniques.parts.novelty import Known

KNOWN = Known(
    (
        "The deepest point is at 10,935 m (36,201 feet); twelve people were there.",
        "See https://example.com/sea and Gardner et al. (2014), arXiv:2403.01234.",
        "Call `read_depth()` of SonarClient. It costs $3.50, or 0.5 % of 1e6.",
        "Ask a@example.org. In 1960 it was H2O.",
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "It is 10935 m deep.",
        "It is 36\u202f201 feet deep.",
        "12 people were there.",
        "It costs 3.5 dollars.",
        "1. Look it up.\n2. Call read_depth().\n**3)** Ask a@example.org.",
        "Step 4: see https://example.com/sea.",
        "Gardner et al. 2014 and arXiv 2403.01234 say so.",
        "SonarClient has `read_depth`.",
        "Nobody knows how deep it is.",
        "Since 1960, in 2014, nothing changed.",
    ],
)
def test_what_is_known_is_not_beyond_however_it_is_spelled(text: str) -> None:
    assert KNOWN.beyond(text) == []


@pytest.mark.parametrize(
    ("text", "beyond"),
    [
        ("It is 11 km deep.", ["11"]),
        ("It is 10,936 m deep.", ["10936"]),
        ("It costs 3.55 dollars.", ["3.55"]),
        ("1. It has 7 parts.", ["7"]),
        ("See https://example.com/lake.", ["https://example.com/lake"]),
        ("See www.sea.example.", ["www.sea.example"]),
        ("Ask b@example.org.", ["b@example.org"]),
        ("Piccard et al. (1960) were first.", ["Piccard"]),
        ("As shown (Walsh, 1960).", ["Walsh"]),
        ("See arXiv:2403.99999.", ["2403.99999", "2403.99999"]),
        ("See doi 10.1000/xyz123.", ["10.1000/xyz123"]),
        ("Call read_height.", ["read_height"]),
        ("Call readDepth.", ["readDepth"]),
        ("Use EchoClient.", ["EchoClient"]),
        ("Call `sound`.", ["sound"]),
        ("Call ping() first.", ["ping"]),
    ],
)
def test_what_nobody_said_is_beyond(text: str, beyond: list[str]) -> None:
    assert KNOWN.beyond(text)[: len(beyond)] == beyond


def test_a_name_is_known_by_its_letters_not_by_their_case() -> None:
    assert Known(("The javascript engine",)).beyond("JavaScript is fast.") == []
