"""The encoders that need no network, with a network that cannot be had."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from router_service.contract import Encoder, Vector
from router_service.embedding import static
from router_service.embedding.encoders import encoder_of
from router_service.embedding.hashed import SIZE, hashed
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.static import StaticVectors
from router_service.embedding.unusable import Unusable

LOCAL = ("mixed", "static", "hashed")
LONG = "The quick brown fox jumps over the lazy dog. " * 60


def made(kind: str, **stated: object) -> Encoder:
    return encoder_of(EmbeddingSettings.model_validate({"kind": kind, **stated}))


def close(one: Vector | None, other: Vector | None) -> float:
    assert one is not None
    assert other is not None
    return float(np.dot(one.values, other.values))


@pytest.mark.parametrize("kind", LOCAL)
async def test_texts_of_one_subject_lie_nearer_than_others(kind: str) -> None:
    encoder = made(kind)
    ask = await encoder.encode("How do I sort a list of numbers in Python?")
    like = await encoder.encode("Sort a Python list of words in descending order")
    other = await encoder.encode("Write a poem about the sea in winter")
    assert close(ask, like) > close(ask, other) + 0.05


@pytest.mark.parametrize("kind", LOCAL)
async def test_a_vector_is_whole_and_of_unit_length(kind: str) -> None:
    encoder = made(kind)
    size = sum(map(int, encoder.name.rpartition(":")[2].split("+")))
    for text in ("x", "\u65e5\u672c\u8a9e", "\U0001f600", "a\ud800b", LONG, "\x00"):
        vector = await encoder.encode(text)
        assert vector is not None
        assert len(vector.values) == size
        assert close(vector, vector) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", LOCAL)
async def test_a_vector_says_which_encoder_made_it(kind: str) -> None:
    encoder = made(kind)
    vector = await encoder.encode("x")
    assert vector is not None
    assert vector.encoder == encoder.name
    assert encoder.name.startswith(kind)


@pytest.mark.parametrize("kind", LOCAL)
async def test_a_text_in_a_thread_has_the_vector_that_it_has_in_the_loop(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = await made(kind).encode(LONG)
    for module in LOCAL:
        monkeypatch.setattr(f"router_service.embedding.{module}._AT_ONCE", 10_000)
    assert await made(kind).encode(LONG) == there


@pytest.mark.parametrize("kind", LOCAL)
async def test_only_the_ends_of_a_long_text_count(kind: str) -> None:
    encoder = made(kind, characters=400)
    middle = "x" * 100_000
    ends = ("The beginning. " * 20, "The end. " * 20)
    one = await encoder.encode(f"{ends[0]}{ends[0]}{middle}{ends[1]}")
    other = await encoder.encode(f"{ends[0]}{ends[0]}{middle[1:]}{ends[1]}")
    assert one == other


def test_hashed_pieces_are_the_same_in_every_process() -> None:
    numbers = hashed("Hello,  World")
    assert len(numbers) == SIZE
    assert numbers == hashed("hello, world")
    code = "from router_service.embedding.hashed import hashed; print(hashed('hello, world'))"
    printed = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    ).stdout
    assert printed.strip() == str(numbers)


def test_static_vectors_are_means_of_the_rows_of_their_tokens() -> None:
    vectors = StaticVectors()
    table = np.asarray(vectors._table, dtype=np.float32)
    assert vectors._mean([5, 6, 6]) == pytest.approx(table[[5, 6, 6]].mean(axis=0), abs=1e-6)
    assert vectors._mean([10**6]) == pytest.approx(table[-1])
    assert vectors._mean([]) is None


async def test_a_mixed_vector_is_mostly_what_a_prompt_is_about() -> None:
    mixed, plain = made("mixed"), made("static")
    asks = ("How tall is the tower?", "What is the height of the tower in feet?")
    whole = close(*[await mixed.encode(ask) for ask in asks])
    about = close(*[await plain.encode(ask) for ask in asks])
    written = np.array([hashed(ask, 256) for ask in asks])
    written /= np.linalg.norm(written, axis=1, keepdims=True)
    assert whole == pytest.approx(0.9 * about + 0.1 * written[0] @ written[1], abs=1e-6)


OFFLINE = """
import asyncio, logging, sys

from router_service.embedding.encoders import encoder_of
from router_service.embedding.settings import EmbeddingSettings

opened = []
def seen(event, args):
    if event.startswith("socket."):
        raise AssertionError("the network was asked for")
    if event == "open" and isinstance(args[2], int) and args[2] & 3:
        opened.append(args[0])

async def main():
    sys.addaudithook(seen)
    for kind in ("mixed", "static", "hashed"):
        encoder = encoder_of(EmbeddingSettings(kind=kind))
        vector = await encoder.encode("hello world")
        assert vector is not None and len(vector.values) > 100

with asyncio.Runner() as runner:
    runner.get_loop()
    runner.run(main())
assert not opened, opened
assert not {"wordllama", "requests", "huggingface_hub"} & set(sys.modules)
assert not logging.getLogger().handlers
print("fine")
"""


def test_no_network_is_asked_for_nothing_is_written_and_logging_is_left_alone() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", OFFLINE], check=False, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "fine", ran.stderr


def copy_of_the_files(to: Path) -> Path:
    folder = to / "wordllama"
    shutil.copytree(static._folder() / "weights", folder / "weights")
    shutil.copytree(static._folder() / "tokenizers", folder / "tokenizers")
    return folder


@pytest.mark.parametrize(
    "missing",
    ["weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"],
)
def test_a_file_that_is_missing_is_named(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copy_of_the_files(tmp_path)
    (folder / missing).unlink()
    monkeypatch.setattr(static, "_folder", lambda: folder)
    with pytest.raises(Unusable, match=Path(missing).name):
        made("static")


@pytest.mark.parametrize("raw", [b"", b"\x08" + b"\0" * 7 + b"not json", b"\xff" * 20])
def test_a_file_that_is_no_table_is_named(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.safetensors"
    path.write_bytes(raw)
    with pytest.raises(Unusable, match="broken"):
        static._mapped(path)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_PACKAGE", "no_such_package_at_all")
    with pytest.raises(Unusable, match="no_such_package_at_all"):
        made("static")


def test_importing_the_encoders_takes_no_numpy_with_it() -> None:
    code = (
        "import sys, router_service.embedding.encoders;"
        "print({'numpy', 'tokenizers', 'fastembed'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "set()"
    assert logging.getLogger("wordllama").level == logging.NOTSET
