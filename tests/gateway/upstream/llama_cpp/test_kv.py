"""A-75 to A-77: contents of slots are kept and brought back, or it is said why not."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from gateway.upstream.llama_cpp.kept import Degraded, Session
from gateway.upstream.llama_cpp.kv import KvPolicy
from tests.gateway.upstream.llama_cpp.scene import ANN, BEN, Home

WORDS = "<user> tell me of the fox and the dog"


async def reason(doing: Awaitable[Any]) -> str:
    with pytest.raises(Degraded) as caught:
        await doing
    return caught.value.reason


async def saved(home: Home, words: str = WORDS, session: Session = ANN) -> None:
    await home.kv.save(session, 0, home.fill(0, words))


async def test_what_was_saved_is_restored_into_any_slot(home: Home) -> None:
    await saved(home)
    home.llama.restart()

    moved = await home.kv.restore(ANN, 1)

    assert moved.tokens == len(WORDS.split())
    assert home.llama.slots[1].tokens == WORDS.split()


async def test_the_file_is_written_before_the_record_and_the_server_is_given_a_bare_name(
    home: Home,
) -> None:
    await saved(home)
    (name,) = [body["filename"] for _, path, body in home.llama.asked if "save" in path]

    assert home.blobs() == [f"{next(home.folder.glob('t-*')).name}/{name}"]
    assert home.shelf.record(ANN).file == name


async def test_a_save_that_fails_leaves_what_was_kept_before(home: Home) -> None:
    await saved(home)
    before = home.shelf.record(ANN)
    home.llama.down = True

    assert await reason(home.kv.save(ANN, 0, 9)) == "unreachable"
    assert home.shelf.record(ANN) == before
    assert len(home.blobs()) == 1


async def test_a_server_that_writes_elsewhere_is_noticed_at_once_and_nothing_is_kept(
    home: Home, tmp_path: Path
) -> None:
    home.llama.folder = tmp_path

    assert await reason(home.kv.save(ANN, 0, home.fill(0, WORDS))) == "folder_mismatch"
    assert await reason(home.kv.restore(ANN, 0)) == "folder_mismatch"
    assert (home.blobs(), list(home.folder.glob("t-*"))) == ([], [])
    assert len(home.llama.moves()) == 1


async def test_a_few_tokens_are_not_kept(home: Home) -> None:
    assert await reason(home.kv.save(ANN, 0, home.fill(0, "one two three"))) == "too_small"
    assert home.llama.moves() == []


async def test_a_slot_that_holds_something_else_by_now_is_not_kept(home: Home) -> None:
    home.fill(0, "another caller has been here")

    assert await reason(home.kv.save(ANN, 0, 900)) == "slot_changed"
    assert home.blobs() == []


async def test_a_count_that_nobody_told_is_asked_for(home: Home) -> None:
    home.fill(0, WORDS)
    await home.kv.save(ANN, 0, None)

    assert home.shelf.record(ANN).tokens == len(WORDS.split())


async def test_a_model_that_cannot_be_seen_is_no_fingerprint(home: Home) -> None:
    home.model.unlink()

    assert await reason(home.kv.save(ANN, 0, home.fill(0, WORDS))) == "model_unseen"
    assert home.llama.moves() == []


async def test_the_models_file_may_be_seen_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "seen.gguf"
    elsewhere.write_text("weights")
    home = Home(tmp_path, KvPolicy(min_tokens=4, model=elsewhere))
    home.model.unlink()

    await saved(home)

    assert home.shelf.record(ANN).fingerprint.path == home.llama.model


@pytest.mark.parametrize("change", ["weights", "context", "build", "path"])
async def test_another_server_does_not_get_it_and_it_is_deleted(home: Home, change: str) -> None:
    await saved(home)
    match change:
        case "weights":
            home.model.write_text("other weights")
        case "context":
            home.llama.context = 4096
        case "build":
            home.llama.build = "b9001"
        case _:
            home.llama.model = str(home.model.rename(home.model.with_name("new.gguf")))

    assert await reason(home.kv.restore(ANN, 1)) == "model_mismatch"
    assert home.blobs() == []
    assert await reason(home.kv.restore(ANN, 1)) == "no_checkpoint"


async def test_what_cannot_be_restored_is_said_by_its_reason(home: Home) -> None:
    assert await reason(home.kv.restore(ANN, 0)) == "no_checkpoint"

    await saved(home)
    home.llama.down = True
    assert await reason(home.kv.restore(ANN, 0)) == "unreachable"

    home.llama.down = False
    next(home.folder.rglob("*.bin")).unlink()
    assert await reason(home.kv.restore(ANN, 0)) == "kv_file_missing"


async def test_what_is_computed_as_quickly_is_not_restored(home: Home) -> None:
    await saved(home)
    home.pace.read(10**6, 0.001)

    assert await reason(home.kv.restore(ANN, 0)) == "not_worth_it"


async def test_a_full_disk_leaves_everything_as_it_is(tmp_path: Path) -> None:
    home = Home(tmp_path, KvPolicy(min_tokens=4, prune=False))
    await saved(home)
    home.pace.min_free, home.disk = 100, 99

    assert await reason(home.kv.save(BEN, 0, home.fill(0, WORDS))) == "disk_short"
    assert len(home.blobs()) == 1
    assert [path for path in home.llama.moves() if "save" in path] == ["/slots/0?action=save"]


async def test_a_fork_goes_on_by_itself(home: Home) -> None:
    await saved(home)
    await home.kv.fork(ANN, BEN)
    await home.kv.forget(ANN)

    assert (await home.kv.restore(BEN, 1)).tokens == len(WORDS.split())


@pytest.mark.parametrize("many", [True, False])
async def test_callers_with_keys_are_kept_only_where_the_operator_says_so(
    tmp_path: Path, *, many: bool
) -> None:
    home = Home(tmp_path, KvPolicy(min_tokens=4, many=many))
    app = Session("app", "ann")

    if many:
        await saved(home, session=app)
        assert await reason(home.kv.restore(ANN, 1)) == "no_checkpoint"
    else:
        assert await reason(home.kv.save(app, 0, home.fill(0, WORDS))) == "tenant_forbidden"


async def test_what_is_old_is_swept(home: Home) -> None:
    await saved(home)
    home.now += 86_401

    assert await home.kv.sweep() == 1


async def test_only_a_save_that_succeeded_is_learned_of(home: Home) -> None:
    home.llama.down = True
    await reason(home.kv.save(ANN, 0, 900))
    assert home.pace.bytes_per_token is None

    home.llama.down = False
    await saved(home)
    assert home.pace.bytes_per_token is not None
