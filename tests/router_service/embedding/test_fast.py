"""fastembed, as far as it goes without a model: none may be kept in this project."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from router_service.embedding.encoders import encoder_of
from router_service.embedding.settings import EmbeddingSettings
from router_service.embedding.unusable import Unusable


def settings(**stated: object) -> EmbeddingSettings:
    return EmbeddingSettings.model_validate({"kind": "fastembed", **stated})


class Model:
    """Stands for fastembed's class of models."""

    def __init__(self, name: str, **how: Any) -> None:
        if how.get("specific_model_path") is None:
            raise ValueError("Could not load model from any source.")
        self.how = how
        Model.last = self

    last: Model

    @staticmethod
    def list_supported_models() -> list[dict[str, Any]]:
        return [{"model": "BAAI/bge-small-en-v1.5", "dim": 3, "model_file": "model.onnx"}]

    def embed(self, texts: list[str]) -> Any:
        return (np.asarray([len(text), 0.0, 0.0], dtype=np.float32) for text in texts)


@pytest.fixture
def constants(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Put ``Model`` in fastembed's place, and return what huggingface_hub is told."""
    told = SimpleNamespace(HF_HUB_OFFLINE=False)
    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=Model))
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(constants=told))
    return told


async def test_a_model_of_a_folder_gives_vectors_and_nothing_is_downloaded(
    constants: SimpleNamespace, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    encoder = encoder_of(settings(folder=str(tmp_path)))
    vector = await encoder.encode("hello")
    assert vector is not None
    assert vector.values == (1.0, 0.0, 0.0)
    assert encoder.name == "fastembed:BAAI/bge-small-en-v1.5:3"
    assert constants.HF_HUB_OFFLINE
    assert Model.last.how == {
        "threads": 1,
        "local_files_only": True,
        "specific_model_path": str(tmp_path),
    }


def test_a_folder_without_the_model_is_told_what_it_lacks(
    constants: SimpleNamespace, tmp_path: Path
) -> None:
    with pytest.raises(Unusable, match=r"model\.onnx"):
        encoder_of(settings(folder=str(tmp_path)))


def test_a_model_that_is_not_on_this_machine_is_told_of(constants: SimpleNamespace) -> None:
    with pytest.raises(Unusable, match="is not downloaded"):
        encoder_of(settings())


def test_a_model_that_nobody_knows_is_named(constants: SimpleNamespace) -> None:
    with pytest.raises(Unusable, match="no/such"):
        encoder_of(settings(model="no/such"))


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(Unusable, match=r"lockgate\[fastembed\]"):
        encoder_of(settings())
