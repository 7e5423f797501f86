"""Transformer models by ``fastembed``, an optional package; nothing is ever downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from router_service.embedding.threads import Aside
from router_service.embedding.unusable import Unusable

DEFAULT: Final = "BAAI/bge-small-en-v1.5"


class FastVectors:
    """Vectors of the *model* in *folder*, without one of what is in fastembed's own cache.

    Raises:
        Unusable: The package, the model or a file of it is not there.
    """

    def __init__(self, model: str = "", folder: Path | None = None) -> None:
        library = _library()
        told = _told(library, model or DEFAULT)
        if folder is not None and not (folder / told["model_file"]).is_file():
            raise Unusable(f"router.embedding.folder has no {told['model_file']}")
        self._model = _loaded(library, told["model"], folder)
        self.name = f"fastembed:{told['model']}:{told['dim']}"
        self._aside = Aside(self._embedded)

    async def __call__(self, text: str) -> Sequence[float] | None:
        """Return the numbers of *text*."""
        return await self._aside(text)

    def _embedded(self, text: str) -> Sequence[float] | None:
        (found,) = self._model.embed([text])
        numbers: list[float] = found.tolist()
        return numbers


def _library() -> Any:
    """Return fastembed's class of models, kept from the network.

    It downloads by ``huggingface_hub``, which is told here that there is no network.
    """
    try:
        import fastembed
        from huggingface_hub import constants
    except ImportError as error:
        raise Unusable(
            "router.embedding.kind fastembed needs the package fastembed: "
            "pip install 'lockgate[fastembed]'"
        ) from error
    constants.HF_HUB_OFFLINE = True
    return fastembed.TextEmbedding


def _told(library: Any, model: str) -> dict[str, Any]:
    """Return what fastembed knows of *model*."""
    known: list[dict[str, Any]] = library.list_supported_models()
    found = next((one for one in known if one["model"].lower() == model.lower()), None)
    if found is None:
        raise Unusable(f"router.embedding.model {model!r} is none that fastembed knows")
    return found


def _loaded(library: Any, model: str, folder: Path | None) -> Any:
    """Return the model, by one thread: the others are for requests."""
    where = {} if folder is None else {"specific_model_path": str(folder)}
    try:
        return library(model, threads=1, local_files_only=True, **where)
    except (OSError, ValueError, RuntimeError) as error:
        raise Unusable(
            f"router.embedding: {model} is not whole on this machine, and is not downloaded. "
            f"Name a folder that has it. ({error})"
        ) from error
