from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_service.arms import PLAIN, Arm, arm_of

WORDS = st.text("abcdefgh_-.09", min_size=1, max_size=12).filter(lambda word: word != "-")
ARMS = st.builds(
    Arm,
    WORDS,
    st.none() | st.integers(1, 40),
    st.just("primary") | st.text("ab/:", min_size=1).filter(lambda name: "/" not in name),
    st.just("") | st.sampled_from(["low", "high"]),
)


@pytest.mark.parametrize(
    ("arm", "name"),
    [
        (PLAIN, "none"),
        (Arm("self_consistency", 5), "self_consistency/5"),
        (Arm(channel="smart"), "none/-/smart"),
        (Arm(effort="high"), "none/-/primary/high"),
        (Arm("self_consistency", 5, "primary", "low"), "self_consistency/5/primary/low"),
    ],
)
def test_a_name_leaves_the_defaults_at_its_end_out(arm: Arm, name: str) -> None:
    assert arm.name == name
    assert arm_of(name) == arm
    assert arm.is_plain == (arm == PLAIN)


@given(ARMS)
def test_every_arm_is_found_again_by_its_name(arm: Arm) -> None:
    assert arm_of(arm.name) == arm


@pytest.mark.parametrize("name", ["", "/", "a/x", "a/0", "a/-1", "a/\u0663", "a//b", "a/1/b/"])
def test_what_is_no_name_of_an_arm_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not|is no"):
        arm_of(name)
