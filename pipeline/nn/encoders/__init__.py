"""Pre-trained text encoders: a name becomes a local folder, a folder becomes a tokeniser and a network."""

from pipeline.nn.encoders.folders import BUILTIN, ENCODER_CACHE, STATES, encoder_folder
from pipeline.nn.encoders.loading import SpecialIds, load_encoder, load_tokenizer, read_tokenizer, restore_encoder

__all__ = [
    "BUILTIN",
    "ENCODER_CACHE",
    "STATES",
    "SpecialIds",
    "encoder_folder",
    "load_encoder",
    "load_tokenizer",
    "read_tokenizer",
    "restore_encoder",
]
