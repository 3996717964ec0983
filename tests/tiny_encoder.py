"""A pre-trained encoder of a few thousand random weights, in the layout of transformers."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.encoders.chinese_pieces import SPECIAL_TOKENS, wordpiece

CHARACTERS = "青禾科技云杉汽车银杏出版社发布新款路由器口碑很好今天上市,。!《》 "
TOKENS = [*SPECIAL_TOKENS, *sorted(set(CHARACTERS) - {" "}), *"0123456789sx", "nova", *(f"##{c}" for c in "0123456789")]


def write_tiny_encoder(folder: Path, *, n_layers: int = 2, n_rows: int | None = None, seed: int = 5) -> Path:
    """Write config, tokeniser and random weights; ``n_rows`` of embeddings, by default as many as there are tokens."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=n_rows or len(TOKENS),
        hidden_size=16,
        num_hidden_layers=n_layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=128,
    )
    transformers.logging.disable_progress_bar()
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    wordpiece(TOKENS).save(str(folder / "tokenizer.json"))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL_TOKENS, strict=True))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
