"""Names of the models a configuration can ask for. A new model is one file and one line here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module

from pipeline.errors import ConfigError

HEADS: dict[str, str] = {
    "lstm": "pipeline.emotions.heads.lstm:LSTM",
    "td_lstm": "pipeline.emotions.heads.td_lstm:TDLSTM",
    "tc_lstm": "pipeline.emotions.heads.tc_lstm:TCLSTM",
    "at_lstm": "pipeline.emotions.heads.at_lstm:ATLSTM",
    "atae_lstm": "pipeline.emotions.heads.atae_lstm:ATAELSTM",
    "ian": "pipeline.emotions.heads.ian:IAN",
    "af_lstm": "pipeline.emotions.heads.af_lstm:AFLSTM",
    "pair": "pipeline.emotions.heads.pair:Pair",
    "text_cnn": "pipeline.emotions.heads.text_cnn:TextCNN",
    "text_rnn": "pipeline.emotions.heads.text_rnn:TextRNN",
    "text_rcnn": "pipeline.emotions.heads.text_rcnn:TextRCNN",
    "fast_text": "pipeline.emotions.heads.fast_text:FastText",
    "han": "pipeline.emotions.heads.han:HAN",
    "char_cnn": "pipeline.emotions.heads.char_cnn:CharCNN",
    "transformer": "pipeline.emotions.heads.transformer:Transformer",
}
"""Sentiment heads: target heads and document baselines, all mapping a batch to (batch, n_classes)."""

TAGGERS: dict[str, str] = {
    "lstm": "pipeline.entities.taggers.lstm:LSTMTagger",
    "encoder": "pipeline.entities.taggers.encoder:EncoderTagger",
    "bert": "pipeline.entities.taggers.bert:BertTagger",
}
"""Sequence labellers, all mapping a batch of windows to (batch, window_len, n_tags)."""

MATCHERS: dict[str, str] = {
    "malstm": "pipeline.entities.relevance.matchers.malstm:MaLSTM",
    "soft_align": "pipeline.entities.relevance.matchers.soft_align:SoftAlign",
}
"""Siamese scorers, all mapping a batch of text pairs to (batch,) logits."""


def unknown_name(kind: str, name: str, known: Mapping[str, object]) -> ConfigError:
    """Build the error for a name that is not registered, with the nearest known one."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else None
    return ConfigError(f"unknown {kind} {name!r} (have: {', '.join(known)})", hint=hint)


def resolve(registry: Mapping[str, str], name: str, *, kind: str) -> type:
    """Import and return the class registered under ``name``.

    Raises:
        ConfigError: the name is not registered; the message lists the names that are.
    """
    if name not in registry:
        raise unknown_name(kind, name, registry)
    module, _, attribute = registry[name].partition(":")
    found: type = getattr(import_module(module), attribute)
    return found
