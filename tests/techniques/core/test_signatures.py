from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from techniques.core.signatures import encrypted_of, is_anthropics, marked


@given(st.text())
def test_what_is_marked_comes_back_byte_for_byte_and_is_no_one_elses(encrypted: str) -> None:
    assert encrypted_of(marked(encrypted)) == encrypted
    assert not is_anthropics(marked(encrypted))


def test_a_signature_without_a_mark_is_anthropics() -> None:
    assert is_anthropics("c2ln/+==")
    assert encrypted_of("c2ln/+==") is None


def test_no_signature_is_nobodys() -> None:
    assert not is_anthropics(None)
    assert not is_anthropics("")
    assert encrypted_of(None) is None
