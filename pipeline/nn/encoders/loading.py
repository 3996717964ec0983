"""An encoder's folder as a tokeniser and a network, checked against each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pipeline.errors import ArtifactError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")
MAX_SPARE_ROWS = 512
"""Embedding rows beyond the vocabulary that pass as padding; more means that the two do not belong together."""


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of the tokens that frame a text."""

    padding: int
    unknown: int
    first: int
    """[CLS], <s> ..."""
    separator: int
    """[SEP], </s> ..."""


@contextmanager
def quiet_transformers() -> Iterator[ModuleType]:
    """Lend transformers without its progress bars and remarks; imported late, since that takes seconds."""
    import transformers

    level = transformers.logging.get_verbosity()
    had_bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield transformers
    finally:
        transformers.logging.set_verbosity(level)
        if had_bars:
            transformers.logging.enable_progress_bar()


def load_tokenizer(folder: Path, *, alone: bool = False) -> tuple[Tokenizer, SpecialIds]:
    """Load the fast tokeniser of an encoder's folder.

    Args:
        folder: of an encoder.
        alone: the folder may hold a tokeniser and no network.

    Raises:
        ArtifactError: there is none, or it lacks one of the special tokens.
    """
    if not alone:
        _require_config(folder)
    with quiet_transformers() as transformers:
        try:
            loaded = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, RuntimeError) as error:
            raise ArtifactError(f"encoder {folder}: no usable tokeniser ({_one_line(error)})") from error
    ids = {
        "padding": loaded.pad_token_id,
        "unknown": loaded.unk_token_id,
        "first": loaded.cls_token_id,
        "separator": loaded.sep_token_id,
    }
    if lacking := [role for role, index in ids.items() if index is None]:
        raise ArtifactError(f"encoder {folder}: its tokeniser has no token for {', '.join(lacking)}")
    tokenizer: Tokenizer = loaded.backend_tokenizer
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, SpecialIds(**ids)


def read_tokenizer(path: Path) -> Tokenizer:
    """Read a ``tokenizer.json`` by itself.

    Raises:
        ArtifactError: the file is missing or damaged.
    """
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # tokenizers raises bare Exceptions
        raise ArtifactError(f"{path}: cannot be read as a tokeniser ({_one_line(error)})") from error


def load_encoder(folder: Path, *, n_tokens: int) -> Any:
    """Load the network of an encoder's folder: a transformers model that gives the hidden state of every token.

    Args:
        folder: config and weights.
        n_tokens: size of the vocabulary it will be used with.

    Raises:
        ArtifactError: config or weights are missing, do not fit each other, or the vocabulary.
    """
    _require_config(folder)
    if not any((folder / name).is_file() for name in WEIGHT_FILES):
        raise ArtifactError(f"encoder {folder}: holds no weights, want {' or '.join(WEIGHT_FILES)}")
    with quiet_transformers() as transformers:
        try:
            model, report = transformers.AutoModel.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, output_loading_info=True
            )
        except Exception as error:  # OSError, ValueError, RuntimeError, and what safetensors raises
            raise ArtifactError(f"encoder {folder}: cannot be loaded ({_one_line(error)})") from error
    if missing := sorted(name for name in report["missing_keys"] if not name.startswith("pooler.")):
        raise ArtifactError(f"encoder {folder}: its weights lack {len(missing)} of the network's, as {missing[0]}")
    n_rows = model.get_input_embeddings().num_embeddings
    if not n_tokens <= n_rows <= n_tokens + MAX_SPARE_ROWS:
        raise ArtifactError(f"encoder {folder}: its tokeniser knows {n_tokens} tokens, its weights {n_rows}")
    return without_pooler(model)


def restore_encoder(folder: Path) -> Any:
    """Build the network that a saved ``config.json`` describes, with random weights to be overwritten.

    Raises:
        ArtifactError: the file is missing or describes no network that is known here.
    """
    _require_config(folder)
    with quiet_transformers() as transformers:
        try:
            config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            return without_pooler(transformers.AutoModel.from_config(config, trust_remote_code=False))
        except (OSError, ValueError, KeyError) as error:
            raise ArtifactError(f"{folder / 'config.json'}: describes no known network ({_one_line(error)})") from error


def without_pooler(model: Any) -> Any:
    """Drop the layer that makes one vector of a text: nothing here reads it."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def _require_config(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise ArtifactError(f"encoder {folder}: no config.json, so this is no encoder's folder")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
