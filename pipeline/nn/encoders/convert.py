"""The packaged model as a folder that ``transformers.BertModel`` loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save

from pipeline.artifacts import atomic_write_bytes, atomic_write_json
from pipeline.nn.encoders.chinese_pieces import SPECIAL_TOKENS, chinese_pieces, wordpiece
from pipeline.nn.encoders.e5_file import E5File

_EMBEDDINGS = {
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_PARAMETER = {"w": "weight", "b": "bias"}


def convert(source: Path, folder: Path, *, n_layers: int) -> None:
    """Write the first ``n_layers`` layers with the Chinese vocabulary as config, weights and tokeniser.

    Raises:
        ArtifactError: ``source`` is damaged, or has fewer layers.
    """
    packed = E5File(source)
    tokens = chinese_pieces(packed.pieces, packed.scores, packed.special)
    weights = {"embeddings.word_embeddings.weight": packed.embedding_rows(list(tokens.values()))}
    weights |= {theirs: packed.tensor(ours) for ours, theirs in _EMBEDDINGS.items()}
    for layer in range(n_layers):
        for ours, theirs in _LAYER.items():
            for short, parameter in _PARAMETER.items():
                weights[f"encoder.layer.{layer}.{theirs}.{parameter}"] = packed.tensor(f"l{layer}.{ours}.{short}")
    contiguous = {name: np.ascontiguousarray(value) for name, value in weights.items()}
    atomic_write_bytes(folder / "model.safetensors", save(contiguous, metadata={"format": "pt"}))
    atomic_write_json(folder / "config.json", _config(packed, n_tokens=len(tokens), n_layers=n_layers))
    wordpiece(list(tokens)).save(str(folder / "tokenizer.json"))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL_TOKENS, strict=True))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": packed.sizes.n_positions, **names}
    atomic_write_json(folder / "tokenizer_config.json", settings)


def _config(packed: E5File, *, n_tokens: int, n_layers: int) -> dict[str, object]:
    size = packed.sizes
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": n_tokens,
        "hidden_size": size.hidden,
        "num_hidden_layers": n_layers,
        "num_attention_heads": size.n_heads,
        "intermediate_size": size.feed_forward,
        "hidden_act": "gelu",
        "max_position_embeddings": size.n_positions,
        "type_vocab_size": size.n_types,
        "layer_norm_eps": packed.layer_norm_eps,
        "pad_token_id": 0,
    }
