"""A pre-trained encoder of a few thousand random weights, in the layout of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from pipeline.nn.encoders.chinese_pieces import SPECIAL_TOKENS, wordpiece

CHARACTERS = "青禾科技云杉汽车银杏出版社发布新款路由器口碑很好今天上市,。!《》 "


def tiny_tokens(characters: str = CHARACTERS) -> list[str]:
    """List special tokens, characters, digits, and pieces of a Latin word."""
    digits = "0123456789"
    return [*SPECIAL_TOKENS, *sorted(set(characters) - {" "}), *digits, "s", "x", "nova", *(f"##{c}" for c in digits)]


TOKENS = tiny_tokens()


def tiny_network(*, n_layers: int = 2, n_rows: int = len(TOKENS), seed: int = 5) -> Any:
    """Build a BERT of random weights."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=n_rows,
        hidden_size=16,
        num_hidden_layers=n_layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=128,
    )
    return transformers.BertModel(config, add_pooling_layer=False)


def tiny_tokenizer(characters: str = CHARACTERS) -> Tokenizer:
    """Build the tokeniser over ``tiny_tokens``."""
    return wordpiece(tiny_tokens(characters))


def write_tiny_encoder(
    folder: Path, *, n_layers: int = 2, n_rows: int | None = None, seed: int = 5, characters: str = CHARACTERS
) -> Path:
    """Write config, tokeniser and random weights; ``n_rows`` of embeddings, by default as many as there are tokens."""
    import transformers

    transformers.logging.disable_progress_bar()
    n_rows = n_rows or len(tiny_tokens(characters))
    tiny_network(n_layers=n_layers, n_rows=n_rows, seed=seed).save_pretrained(folder)
    tiny_tokenizer(characters).save(str(folder / "tokenizer.json"))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL_TOKENS, strict=True))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
