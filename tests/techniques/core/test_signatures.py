from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from techniques.core.signatures import encrypted_of, is_anthropics, item_of, marked


@given(st.text(), st.text().filter(lambda name: ":" not in name))
def test_what_is_marked_comes_back_byte_for_byte_and_is_no_one_elses(
    encrypted: str, item: str
) -> None:
    signature = marked(encrypted, item)

    assert (encrypted_of(signature), item_of(signature)) == (encrypted, item)
    assert not is_anthropics(signature)


def test_a_signature_without_a_mark_is_anthropics() -> None:
    assert is_anthropics("c2ln/+==")
    assert encrypted_of("c2ln/+==") is None
    assert item_of("c2ln/+==") == ""


def test_no_signature_is_nobodys() -> None:
    assert not is_anthropics(None)
    assert not is_anthropics("")
    assert encrypted_of(None) is None
