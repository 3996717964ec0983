"""What a training would do: data, folds, stages, and the work and memory of each encoder; nothing is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.config import Config, EncoderConfig
from pipeline.data.folds import assign_folds, group_articles
from pipeline.data.read import ReadReport, iter_articles, read_training
from pipeline.emotions.sentiment import choice
from pipeline.nn.encoders import encoder_folder, restore_encoder
from pipeline.nn.encoders.fine_tune import keep_lowest
from pipeline.registry import HEADS, resolve
from pipeline.schema import Article
from pipeline.workflow.budget import Plan, plan
from pipeline.workflow.candidate_stage import dictionary_path
from pipeline.workflow.checks import check_models
from pipeline.workflow.data_warnings import warn_of_data
from pipeline.workflow.modes import StageSet
from pipeline.workflow.script import as_read
from pipeline.workflow.train_request import TrainRequest
from pipeline.workflow.transfer import read_others

BYTES_PER_PARAMETER = 20
"""Weight, gradient and two moments of AdamW, 32 bits each, and the kept copy of the best epoch."""


@dataclass(frozen=True)
class EncoderWork:
    """One stage that trains an encoder. All figures are estimates from above: a Chinese character is one token."""

    stage: str
    encoder: str
    n_parameters: int
    n_models: int
    """Trainings: one per fold, and one on all articles."""
    tokens: int
    """Read in training by all of them together."""
    memory_bytes: int
    """Of one training: parameters and their optimiser, and the activations of a batch."""


@dataclass(frozen=True)
class TrainingPlan:
    """What ``train`` would do with a request."""

    n_articles: int
    n_entities: int
    n_characters: int
    fold_sizes: tuple[int, ...]
    dictionary: str
    stages: tuple[str, ...]
    emotions: tuple[str, ...]
    """What tells emotions, and how it is chosen."""
    encoders: tuple[EncoderWork, ...]
    sizes: Plan | None = None
    """What each stage takes on this machine, where that was tried."""

    def lines(self) -> list[str]:
        """Return the plan as lines of text."""
        found = [
            f"articles: {self.n_articles:,}, {self.n_entities:,} entities, {self.n_characters:,} characters",
            f"folds: {len(self.fold_sizes)} of {', '.join(map(str, self.fold_sizes))} articles",
            f"dictionary: {self.dictionary}",
            f"stages: {', '.join(self.stages)}",
            *self.emotions,
        ]
        found += [
            f"{work.stage}: {work.encoder}, {work.n_parameters / 1e6:.1f} million parameters, "
            f"{work.n_models} trainings of about {work.tokens / max(work.n_models, 1) / 1e6:.2f} million tokens each, "
            f"about {work.memory_bytes / 2**30:.1f} GiB at a time"
            for work in self.encoders
        ]
        return [*found, *(self.sizes.lines() if self.sizes else []), "nothing was trained"]


def plan_training(request: TrainRequest, *, calibrated: bool = False) -> TrainingPlan:
    """Read the data, resolve encoders and members, and estimate the work.

    Args:
        request: what would be trained.
        calibrated: whether each stage is tried on a few articles, to tell minutes and memory; sizes that fit
            ``budget.minutes`` are chosen by that alone.

    Raises:
        PipelineError: whatever would stop ``train`` before its first stage: data, options, an encoder not to be had.
    """
    config = request.config
    check_models(config)
    read = read_training(list(request.train), policy=request.policy, report=ReadReport(), reading=request.reading)
    articles = as_read(read[: request.limit], config)
    dev: list[Article] = []
    if request.dev:
        dev += iter_articles(request.dev, labelled=True, policy=request.policy, reading=request.reading)
    warn_of_data(articles, config, as_read(dev, config))
    read_others(config.sentiment, articles, simplify=config.text.to_simplified)
    parts, groups = StageSet.of(config), group_articles(articles)
    folds = assign_folds(groups, n_folds=config.n_folds, seed=config.seed)
    found = plan(config, sorted(articles, key=lambda article: article.news_id), request.given) if calibrated else None
    if found:
        config = found.config
        folds = assign_folds(groups, n_folds=config.n_folds, seed=config.seed)
    sizes = Counter(folds[article.news_id] for article in articles)
    wanted = {
        "joint": parts.joint,
        "tagger": parts.tagger,
        "relevance": config.relevance.is_on,
        "rerank": parts.reranker,
        "cross": parts.cross,
        "sentiment": parts.sentiment,
    }
    return TrainingPlan(
        n_articles=len(articles),
        n_entities=sum(len(article.entities or ()) for article in articles),
        n_characters=sum(map(_length, articles)),
        fold_sizes=tuple(sizes[fold] for fold in range(config.n_folds)),
        dictionary=str(dictionary_path(config.candidates) or "none"),
        stages=tuple(stage for stage, is_wanted in wanted.items() if is_wanted),
        emotions=tuple(_emotion_plan(config, parts)),
        encoders=tuple(_encoder_work(config, parts, articles)),
        sizes=found,
    )


def _emotion_plan(config: Config, parts: StageSet) -> list[str]:
    if not parts.sentiment:
        return ["emotions are answered by: the votes of the joint tagger"]
    lines = choice.plan(config.sentiment)
    return [*lines[:-1], f"{lines[-1]}, averaged with the votes of the joint tagger"] if parts.joint else lines


def _encoder_work(config: Config, parts: StageSet, articles: Sequence[Article]) -> Iterator[EncoderWork]:
    tagger, cross = config.tagger, config.cross
    n_entities = sum(len(article.entities or ()) for article in articles)
    if (parts.tagger or parts.joint) and tagger.name == "bert":
        read = sum(min(_length(article), tagger.train_tokens or _length(article)) for article in articles)
        width = tagger.train_window_tokens + tagger.title_tokens
        both = ("joint", "tagger") if parts.tagger and parts.joint else ("joint" if parts.joint else "tagger",)
        for stage in both:
            yield _work(stage, EncoderConfig(tagger.encoder, training=tagger.training), config.n_folds, read, width)
    if parts.cross:
        pooled = cross.name == "pooled"
        width = cross.pooled_tokens if pooled else cross.max_tokens
        texts = len(articles) if pooled else n_entities + len(articles) * cross.n_negatives
        rows = 1 if pooled else 1 + cross.n_negatives + n_entities / max(len(articles), 1)
        yield _work("cross", cross.encoder, config.n_folds, texts * width, width, rows)
    if parts.sentiment:
        width = config.sentiment.max_context_chars
        for name in config.sentiment.members:
            if name in HEADS and _fine_tunes(name, config):
                yield _work(f"sentiment {name}", config.head.encoder, config.n_folds, n_entities * width, width)


def _fine_tunes(head: str, config: Config) -> bool:
    from pipeline.emotions.classifier.inputs import is_frozen, reads_encoder  # torch is slow to import

    kind: Any = resolve(HEADS, head, kind="head")
    return reads_encoder(kind, config) and not is_frozen(kind, config)


def _work(
    stage: str,
    encoder: EncoderConfig,
    n_folds: int,
    tokens: int,
    width: int,
    rows_per_item: float = 1.0,
) -> EncoderWork:
    """Estimate a stage that reads ``tokens`` in an epoch over all articles, in rows of ``width`` tokens."""
    import torch

    training = encoder.training

    with torch.device("meta"):  # shapes without memory
        network = restore_encoder(encoder_folder(encoder.name))
        keep_lowest(network, encoder.n_layers, option=f"{stage}: encoder.n_layers")
    n_parameters = sum(parameter.numel() for parameter in network.parameters())
    # Activations of one Transformer layer: Korthikanti et al., 2022, arXiv:2205.05198, section 4.1, in 16 bits;
    # doubled without mixed precision.
    sizes = network.config
    n_tokens = training.batch_size * rows_per_item * width
    layer = n_tokens * sizes.hidden_size * (34 + 5 * sizes.num_attention_heads * width / sizes.hidden_size)
    activations = sizes.num_hidden_layers * layer * (2 if training.mixed_precision == "no" else 1)
    return EncoderWork(
        stage=stage,
        encoder=encoder.name,
        n_parameters=n_parameters,
        n_models=n_folds + 1,
        # Each fold model reads the other folds, and the last one all.
        tokens=tokens * training.max_epochs * n_folds,
        memory_bytes=int(n_parameters * BYTES_PER_PARAMETER + activations),
    )


def _length(article: Article) -> int:
    return len(article.title) + len(article.content)
