"""Views of an article's text: normalised characters, sentences, words."""

from pipeline.text.document import SEPARATOR, Document
from pipeline.text.normalise import NormalisedText, match_key, normalise
from pipeline.text.segment import Segmenter, Words, default_segmenter
from pipeline.text.sentences import split_sentences

__all__ = [
    "SEPARATOR",
    "Document",
    "NormalisedText",
    "Segmenter",
    "Words",
    "default_segmenter",
    "match_key",
    "normalise",
    "split_sentences",
]
