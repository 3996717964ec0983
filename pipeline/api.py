"""The Python interface: a run that answers articles, the official score, taggers and heads on one's own rows.

Its public names are imported from ``pipeline``. What takes long to import is imported by the call that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from reprlib import repr as short_repr
from typing import TYPE_CHECKING, Any

from pipeline.errors import DataError
from pipeline.schema import Article, Entity, Prediction, Target

if TYPE_CHECKING:
    from pipeline.artifacts import RunFolder
    from pipeline.config import Config
    from pipeline.emotions.classifier.estimator import HeadClassifier
    from pipeline.metric import Evaluation
    from pipeline.standalone.tagging.tagger import PlainTagger
    from pipeline.text.spans import Span

MODELS = Path("models")
"""Where the command line keeps runs, below the working folder."""


class Run:
    """A trained run, loaded and ready to answer in this process; see ``load_run``.

    One thread may use it at a time.
    """

    def __init__(self, folder: RunFolder) -> None:
        from pipeline.workflow.predict import Predictor

        self._folder = folder
        self._predictor = Predictor.load(folder.path)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def name(self) -> str:
        """Name of the run: that of its folder."""
        return self.path.resolve().name

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return self._folder.path

    @property
    def config(self) -> Config:
        """The options it was trained with."""
        return self._predictor.config

    def predict(self, article: Article | Mapping[str, Any]) -> Prediction:
        """Answer one article: up to three entities with emotions, probabilities and mentions, and the runners-up.

        Args:
            article: an Article, or a mapping with ``title``, ``content`` or both (None counts as empty) and, if
                wanted, ``newsId``. Labels are not looked at.

        Raises:
            DataError: what is given is no article; the message says why.
        """
        return self._predictor.predict([_unlabelled(article, default_id="1")])[0]

    def stream(self, articles: Iterable[Article | Mapping[str, Any]]) -> Iterator[Prediction]:
        """Yield the answer to each article, in order, as the command ``predict`` gives it.

        Articles are taken and answered some 30 at a time, which is faster than one by one; memory does not grow with
        their number. With networks the last digits of a probability may differ from those of ``predict``. Articles
        without ``newsId`` get their number, from 1.

        Raises:
            DataError: one of them is no article; the message gives its number. Those of its chunk are not answered.
        """
        from pipeline.workflow.predict_stream import CHUNK_SIZE

        checked = (_numbered(article, number) for number, article in enumerate(articles, 1))
        while chunk := list(islice(checked, CHUNK_SIZE)):
            yield from self._predictor.predict(chunk)


def load_run(run: str | Path | None = None, *, models: str | Path = MODELS) -> Run:
    """Load a finished run, after every file was compared with the checksums that the run was saved with.

    Args:
        run: a name under ``models``, or the path of a run folder (a Path, or text with a slash). None: the run that
            was finished last.
        models: folder of runs.

    Raises:
        ConfigError: the name is not one a run can have.
        ArtifactError: there is no such run, it is unfinished or of another version, or a file is missing or changed.
    """
    from pipeline.artifacts import RunFolder, open_run

    if run is not None and (isinstance(run, Path) or "/" in run):
        return Run(RunFolder.load(Path(run)))
    return Run(open_run(Path(models), run))


def read_articles(path: str | Path, *, labelled: bool | None = None) -> Iterator[Article]:
    """Yield the articles of a file in order, one in memory at a time.

    Args:
        path: JSON lines, plain or gzip, of ``newsId``, ``title``, ``content`` and, where labelled,
            ``coreEntityEmotions``.
        labelled: True demands labels, False leaves them out, None takes what is there.

    Raises:
        DataError: the file cannot be read, is empty, or has malformed rows; the message gives file and line.
    """
    from pipeline.data.read import iter_articles

    return iter_articles(Path(path), labelled=labelled)


def evaluate(
    gold: Iterable[Article], predictions: Iterable[Prediction], *, n_resamples: int = 1000, seed: int = 0
) -> Evaluation:
    """Return the official figures, those of the command ``evaluate``: names are scored as the upload file has them.

    Args:
        gold: labelled articles; the score is a mean over them.
        predictions: the answers, in any order; an article without an answer scores 0.
        n_resamples: bootstrap resamples behind the 95 % intervals, 0 for none.
        seed: of the bootstrap.

    Raises:
        DataError: there is no gold article, one has no labels, or an id occurs twice.
    """
    from pipeline.metric import evaluate as score
    from pipeline.submission.clean import clean_names

    wanted: dict[str, tuple[Entity, ...]] = {}
    for article in gold:
        if article.entities is None:
            raise DataError(f"article {article.news_id} has no labels to score against")
        _add(wanted, article.news_id, article.entities, kind="gold article")
    given: dict[str, tuple[Entity, ...]] = {}
    for prediction in predictions:
        kept = clean_names(entity.name for entity in prediction.entities).kept
        entities = tuple(Entity(name, prediction.entities[index].emotion) for index, name in kept)
        _add(given, prediction.news_id, entities, kind="prediction")
    return score(wanted, given, n_resamples=n_resamples, seed=seed)


class Tagger:
    """A plain tagger of one's own labels, apart from any article; see ``load_tagger`` and ``train_tagger``."""

    def __init__(self, tagger: PlainTagger) -> None:
        self._tagger = tagger

    def __repr__(self) -> str:
        return f"Tagger({', '.join(self.labels)})"

    @property
    def labels(self) -> tuple[str, ...]:
        """The types that it tags."""
        return self._tagger.labels

    def tag(self, text: str) -> tuple[Span, ...]:
        """Return the spans found in a text: ``start``, ``stop``, ``label``, half-open in characters, no overlap.

        Raises:
            DataError: it is not text.
        """
        return next(self.stream([text]))

    def stream(self, texts: Iterable[str]) -> Iterator[tuple[Span, ...]]:
        """Yield the spans found in each text, in order; memory does not grow with their number.

        Raises:
            DataError: one of them is not text; the message gives its number.
        """
        from pipeline.data.formats.tagging import RowKind, TagRow

        rows = (
            TagRow(RowKind.TEXT, number, {"text": text}, _text(text, number)) for number, text in enumerate(texts, 1)
        )
        return (spans for _, spans in self._tagger.tag(rows))


def load_tagger(folder: str | Path, *, threads: int = 1) -> Tagger:
    """Load what ``train_tagger`` or the command ``tag train`` wrote.

    Args:
        folder: of the trained tagger.
        threads: of the network.

    Raises:
        ArtifactError: the folder is none of these, or something in it is missing or damaged.
    """
    from pipeline.standalone.tagging.tagger import load_tagger as load

    return Tagger(load(Path(folder), threads=threads))


def train_tagger(
    files: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    config: Config | None = None,
    dev: str | Path | None = None,
) -> Tagger:
    """Train a tagger on rows with marked spans into a new folder, as the command ``tag train`` does.

    Args:
        files: JSON lines of text and entities or of tokens and tags, or CSV; one file or several.
        folder: appears when all is done.
        config: options, of which ``tagger``, ``seed`` and ``workers`` matter; None: those of the default preset.
        dev: labelled rows whose F1 chooses the epoch, and by which the tagger is scored, into ``metrics.json``.

    Raises:
        DataError: rows are malformed or mark nothing.
        ConfigError: no tagger is configured, or the folder exists.
        ArtifactError: the encoder cannot be had.
    """
    from pipeline.config import load_config
    from pipeline.standalone.tagging.training import TagTraining
    from pipeline.standalone.tagging.training import train_tagger as train

    paths = [Path(file) for file in ([files] if isinstance(files, str | Path) else files)]
    request = TagTraining(paths, config or load_config(), None if dev is None else Path(dev))
    return Tagger(train(request, Path(folder))[0])


def load_head(folder: str | Path) -> HeadClassifier:
    """Load a head that ``train_head`` or the command ``heads train`` wrote: it is fitted, and knows its classes.

    Raises:
        ArtifactError: the folder is none of these, or something in it is missing or changed.
    """
    from pipeline.standalone.heads.saved import load_head as load

    return load(Path(folder)).model


def train_head(
    data: str | Path,
    folder: str | Path,
    *,
    head: str,
    config: Config | None = None,
    dev: str | Path | None = None,
) -> HeadClassifier:
    """Train a sentiment head on labelled rows into a new folder, as the command ``heads train`` does.

    Args:
        data: JSON lines of text and label, of text, target and polarity, or articles.
        folder: appears when all is done.
        head: name of the head.
        config: options, of which ``head``, ``training``, ``sentiment`` and ``seed`` matter; None: those of the default
            preset.
        dev: labelled rows that choose the epoch; None holds a part of the data out.

    Raises:
        DataError: rows are malformed, or of too few classes or texts.
        ConfigError: there is no such head, it needs a target which the rows lack, or the folder exists.
        ArtifactError: the encoder cannot be had.
    """
    from pipeline.config import load_config
    from pipeline.standalone.heads.train_saved import HeadTraining
    from pipeline.standalone.heads.train_saved import train_head as train

    request = HeadTraining(Path(data), head, config or load_config(), None if dev is None else Path(dev))
    return train(request, Path(folder)).model


def make_target(text: str, target: str = "") -> Target:
    """Return what a head of ``HeadClassifier`` reads: a text, and where its target stands (its first occurrence).

    Args:
        text: untouched; it is normalised as in training.
        target: a part of the text. Empty for heads that read the text alone.

    Raises:
        DataError: the text is empty, or the target does not occur in it.
    """
    from pipeline.data.formats.sentiment import document_targets, marked_targets

    return next(marked_targets({"text": text, "target": target}) if target else document_targets({"text": text}))


def _unlabelled(article: object, *, default_id: str) -> Article:
    """Check an article as a row of a file is checked, and leave its labels out."""
    from pipeline.data.read import parse_article

    if isinstance(article, Article):
        row = {
            "newsId": article.news_id,
            "title": article.title,
            "content": article.content,
            "truncated": article.truncated,
        }
    elif isinstance(article, Mapping):
        row = dict(article)
        if "title" not in row and "content" not in row:
            raise DataError(f"neither title nor content (have: {', '.join(map(str, row)) or 'no key'})")
        if row.get("newsId") is None:
            row["newsId"] = default_id
    else:
        raise DataError(f"neither an Article nor a mapping but {short_repr(article)}")
    return parse_article(row, labelled=False)


def _numbered(article: object, number: int) -> Article:
    try:
        return _unlabelled(article, default_id=str(number))
    except DataError as error:
        raise DataError(f"article {number}: {error.message}") from error


def _text(text: object, number: int) -> str:
    if not isinstance(text, str):
        raise DataError(f"text {number} is not text but {short_repr(text)}")
    return text


def _add(found: dict[str, tuple[Entity, ...]], news_id: str, entities: tuple[Entity, ...], *, kind: str) -> None:
    if news_id in found:
        raise DataError(f"{kind} {news_id} occurs twice")
    found[news_id] = entities
