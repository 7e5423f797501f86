from __future__ import annotations

import pytest

from gateway.planning.choices import MOST, choices_of
from techniques.core.errors import RequestRejected
from techniques.core.registry import COMBINING, MENDING, SELECTING, VOTING, Modality
from techniques.core.request import Request, Sampling


def asking(n: int) -> Request:
    return Request("m", sampling=Sampling(n=n))


@pytest.mark.parametrize(
    ("policy", "modality", "given"),
    [
        (None, VOTING, 1),
        ("native", VOTING, 1),
        ("rank", VOTING, 3),
        ("rank", SELECTING, 3),
        ("rank", COMBINING, 1),
        ("rank", MENDING, 1),
        ("repeat", MENDING, 3),
        ("repeat", COMBINING, 3),
        ("repeat", VOTING, 3),
    ],
)
def test_who_can_rank_ranks_and_anything_can_be_repeated(
    policy: str | None, modality: Modality, given: int
) -> None:
    assert choices_of(asking(3), modality, policy) == given
    assert choices_of(asking(1), modality, policy) == 1


@pytest.mark.parametrize("policy", ["rank", "repeat"])
def test_more_than_can_be_given_is_refused(policy: str) -> None:
    with pytest.raises(RequestRejected, match=f"at most {MOST}") as caught:
        choices_of(asking(MOST + 1), VOTING, policy)

    assert caught.value.param == "n"
    assert choices_of(asking(10**9), VOTING, "native") == 1
