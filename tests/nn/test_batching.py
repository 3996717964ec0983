from __future__ import annotations

import pytest
import torch

from pipeline.nn.batching import BatchLoader
from pipeline.nn.vocab import UNKNOWN, Vocabulary, tokenise
from pipeline.schema import Emotion, Target


def target(text: str, name: str, emotion: Emotion | None = None, **options: object) -> Target:
    start = text.index(name) if name in text else 0
    stop = start + len(name) if name in text else start
    return Target(text, start, stop, name, emotion, **options)  # type: ignore[arg-type]


TEXTS = [
    target("人们都爱银杏书店", "银杏书店"),
    target("银杏书店", "银杏书店"),
    target("下雨了", "松果"),
    target("", "松果"),
]
VOCABULARY = Vocabulary.build((item.text for item in TEXTS), min_count=1)


def loader(examples: list[Target], **options: object) -> BatchLoader:
    return BatchLoader(examples, VOCABULARY, **options)  # type: ignore[arg-type]


def only_batch(examples: list[Target], **options: object):
    [batch] = loader(examples, **options).epoch()
    return batch


def forms(batch, row: int, part: str) -> str:
    positions = getattr(batch, part)
    ids = batch.tokens[row][positions.index[row][positions.mask[row]]]
    return "".join(VOCABULARY.tokens[i - UNKNOWN - 1] for i in ids.tolist())


def test_batch_holds_target_left_and_right_as_positions() -> None:
    batch = only_batch(TEXTS[:1])
    assert [forms(batch, 0, part) for part in ("left", "target", "right")] == ["人们都爱", "银杏书店", ""]
    assert batch.mask.all()


def test_batch_masks_what_is_padding() -> None:
    batch = only_batch(TEXTS)
    by_row = dict(zip(batch.rows.tolist(), range(4), strict=True))
    assert batch.mask.sum(1)[[by_row[row] for row in range(4)]].tolist() == [8, 4, 3, 0]
    assert not batch.tokens[~batch.mask].any()
    assert not batch.target.mask[by_row[2]].any()
    assert not batch.left.mask[by_row[3]].any()


def test_mentions_mark_every_span() -> None:
    item = Target("松果好，松果甜", 0, 2, "松果", mentions=((0, 2), (4, 6)))
    assert only_batch([item]).mentions.tolist() == [[True, True, False, False, True, True, False]]


def test_long_contexts_are_cut_away_from_the_target() -> None:
    text = "前" * 40 + "松果" + "后" * 40
    batch = BatchLoader([target(text, "松果")], Vocabulary.build([text]), max_tokens=10)
    [cut] = batch.epoch()
    assert cut.tokens.shape == (1, 10)
    assert cut.target.index.tolist() == [[4, 5]]
    assert cut.left.index[0].tolist() == [0, 1, 2, 3]
    assert cut.right.index[0].tolist() == [6, 7, 8, 9]


def test_a_target_wider_than_the_limit_is_cut_not_lost() -> None:
    batch = only_batch([target("银杏书店", "银杏书店")], max_tokens=3)
    assert forms(batch, 0, "target") == "银杏书"


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 520, 521])
def test_every_example_comes_once_an_epoch(n: int, seed: int | None) -> None:
    examples = [target("爱" * (1 + i * 7 % 23), "爱") for i in range(n)]
    batches = loader(examples, batch_size=64, seed=seed)
    found = list(batches.epoch(1))
    assert len(found) == len(batches)
    assert sorted(torch.cat([batch.rows for batch in found]).tolist()) == list(range(n))
    sizes = [len(batch) for batch in found]
    assert max(sizes) <= 64
    assert max(sizes) - min(sizes) <= 1


def test_no_examples_give_no_batches() -> None:
    assert list(loader([], seed=1).epoch()) == []
    assert list(loader([]).epoch()) == []


def test_epochs_differ_and_repeat() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        batches = loader([target("爱" * (1 + i % 9), "爱") for i in range(100)], batch_size=8, seed=seed)
        return torch.cat([batch.rows for batch in batches.epoch(epoch)]).tolist()

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_batches_hold_similar_lengths() -> None:
    examples = [target("爱" * (1 + i * 37 % 101), "爱") for i in range(512)]
    batches = list(loader(examples, batch_size=32, seed=5).epoch())
    padded = sum(batch.mask.numel() for batch in batches)
    assert padded < 1.25 * sum(len(example.text) for example in examples)


def test_labels_follow_their_rows() -> None:
    batch = only_batch([target("爱" * (3 - i), "爱") for i in range(3)], labels=[2, 0, 1])
    assert batch.labels.tolist() == [[2, 0, 1][row] for row in batch.rows.tolist()]


def test_labels_of_any_set_of_classes_pass_through() -> None:
    assert only_batch(TEXTS[:1], labels=[7]).labels.tolist() == [7]


def test_labels_must_fit_the_examples() -> None:
    with pytest.raises(ValueError, match="4 examples but 1 labels"):
        loader(TEXTS, labels=[0])


def test_to_moves_every_tensor() -> None:
    batch = only_batch(TEXTS, labels=[0, 1, 2, 0]).to(torch.device("meta"))
    for part in (batch.tokens, batch.mask, batch.mentions, batch.labels, batch.target.index, batch.right.mask):
        assert part.device.type == "meta"


def test_latin_targets_are_covered_by_whole_tokens() -> None:
    text = "新款vivo发布"
    vocabulary = Vocabulary.build([text], min_count=1)
    [batch] = BatchLoader([target(text, "vivo")], vocabulary).epoch()
    assert tokenise(text).forms == ["新", "款", "vivo", "发", "布"]
    assert batch.target.index.tolist() == [[2]]


def test_spans_are_the_characters_behind_the_tokens_that_were_kept() -> None:
    text = "新款 vivo发布会"
    batches = BatchLoader([target(text, "vivo")], Vocabulary.build([text]), max_tokens=3)
    assert [text[start:stop] for start, stop in batches.spans(0)] == ["款", "vivo", "发"]
