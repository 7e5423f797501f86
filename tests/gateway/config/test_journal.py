from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.config import Config, ConfigError, load
from gateway.config.journal import JournalConfig
from techniques.core.json import Json

HEX = "00ff" * 16
BASE64 = "AP8A/wD/AP8A/wD/AP8A/wD/AP8A/wD/AP8A/wD/AP8="
KEY = bytes.fromhex(HEX)


@pytest.mark.parametrize(
    ("stated", "keys"),
    [
        (None, ()),
        (HEX, (KEY,)),
        (BASE64, (KEY,)),
        ([HEX], (KEY,)),
        (["01" * 32, BASE64], (b"\x01" * 32, KEY)),
    ],
)
def test_the_journal_has_a_key_or_several_in_hex_or_base64(
    stated: Json, keys: tuple[bytes, ...]
) -> None:
    assert JournalConfig.model_validate({"encryption": stated}).keys == keys


@pytest.mark.parametrize(
    "stated", ["", "secret", HEX[:-2], HEX[:-1] + "g", BASE64[4:], [HEX, ""], []]
)
def test_what_is_no_key_of_32_bytes_is_refused_and_not_repeated(stated: Json) -> None:
    with pytest.raises(ValidationError) as told:
        JournalConfig.model_validate({"encryption": stated})
    assert all(HEX[:8] not in fault["msg"] for fault in told.value.errors())


@pytest.mark.parametrize("written", ["'%s'", "['%s']", "['${LOCKGATE_NEW}', '%s']"])
def test_a_key_of_the_journal_never_stands_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("LOCKGATE_NEW", HEX)
    file = tmp_path / "lockgate.yaml"
    file.write_text("journal: {encryption: %s}\n" % (written % HEX))
    with pytest.raises(ConfigError, match=r"journal\.encryption.*write secrets as"):
        load(file)


def test_keys_of_the_journal_come_from_the_environment_and_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOURNAL_KEY", HEX)
    (tmp_path / "old.key").write_text(f"{'02' * 32}\n")
    file = tmp_path / "lockgate.yaml"
    file.write_text("journal: {encryption: ['${JOURNAL_KEY}', 'file:old.key']}\n")
    config = load(file)
    assert config.journal.keys == (KEY, b"\x02" * 32)
    assert HEX not in repr(config)
    monkeypatch.setenv("LOCKGATE_JOURNAL__ENCRYPTION", "03" * 32)
    assert load(file).journal.keys == (b"\x03" * 32,)


def test_without_a_word_nothing_is_encrypted() -> None:
    assert Config().journal.keys == ()


def test_who_is_asked_is_one_of_the_persons() -> None:
    person = {"name": "ana", "hash": f"hmac-sha256:{'0' * 64}"}
    stated = {"attention": {"persons": [person]}, "journal": {"person": "ana"}}
    assert Config.model_validate(stated).journal.person == "ana"
    with pytest.raises(ValidationError, match=r"journal\.person: .* nobody called 'ana'"):
        Config.model_validate({"journal": {"person": "ana"}})
