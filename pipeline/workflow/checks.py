"""What would stop a training hours after its start is found before it."""

from __future__ import annotations

from pipeline.config import Config
from pipeline.emotions.sentiment.members import check_member
from pipeline.entities.relevance import RelevanceStage, read_stopwords
from pipeline.nn.encoders import encoder_folder
from pipeline.registry import TAGGERS, resolve
from pipeline.text.dictionary import check_dictionary
from pipeline.text.simplify import converter
from pipeline.workflow.candidate_stage import dictionary_path
from pipeline.workflow.modes import StageSet


def check_models(config: Config) -> None:
    """Find every model and file that the options name.

    Raises:
        ConfigError: there is no such tagger, matcher, member or packaged encoder, or OpenCC is needed and not
            installed.
        DataError: the dictionary, or a file of stopwords or word vectors, is missing or cannot be read.
        ArtifactError: an encoder cannot be had.
    """
    parts = StageSet.of(config)
    if config.text.to_simplified:
        converter()
    if config.relevance.is_on:
        RelevanceStage(config.relevance, seed=config.seed)
        read_stopwords(config.relevance.stopwords)
    for name in config.sentiment.members:
        check_member(name, config)
    if dictionary := dictionary_path(config.candidates):
        options = config.candidates
        check_dictionary(dictionary, min_chars=options.min_name_chars, max_chars=options.max_chars)
    if parts.tagger or parts.joint:
        resolve(TAGGERS, config.tagger.name, kind="tagger")
        if config.tagger.name == "bert":
            encoder_folder(config.tagger.encoder)
    if parts.cross:
        encoder_folder(config.cross.encoder.name)
