from __future__ import annotations

import torch

from pipeline.entities.taggers.batches import TagBatch, TagBatches
from pipeline.entities.taggers.data import UNKNOWN_TAG, tag_text, tokenise_text
from pipeline.nn.tokenisers import CharacterTokeniser
from pipeline.text.spans import LabelledText, Span, TagScheme

SCHEME = TagScheme("BIO")
TEXT = LabelledText("青禾\n云杉汽车很好很好", (Span(0, 2), Span(3, 7)), title_stop=2)
TOKENISER = CharacterTokeniser.fit([TEXT.text * 2])


def batches(*texts: LabelledText, **options: int | None) -> TagBatches:
    tagged = [tag_text(text, TOKENISER, SCHEME) for text in texts]
    return TagBatches(tagged, TOKENISER.special, SCHEME, **{"batch_size": 8, "window_tokens": 16, **options})  # type: ignore[arg-type]


def forms(batch: TagBatch, row: int) -> str:
    names = {0: "_", 1: "?", 2: "<", 3: "|"}
    return "".join(names.get(int(i)) or TOKENISER.vocabulary.tokens[int(i) - 2] for i in batch.tokens[row])


def test_the_first_window_holds_the_title_and_the_others_read_it_after_them() -> None:
    (batch,) = batches(TEXT, window_tokens=6, title_tokens=9).epoch()
    assert [forms(batch, row) for row in range(2)] == ["<青禾|云杉汽|___", "<汽车很好很好|青禾|"]
    assert batch.mask.sum(1).tolist() == [8, 11]
    assert batch.window.sum(1).tolist() == [6, 6]
    assert batch.segments.tolist() == [[0] * 11, [0] * 8 + [1] * 3]


def test_the_title_is_cut_and_can_be_left_out() -> None:
    (batch,) = batches(TEXT, window_tokens=6, title_tokens=1).epoch()
    assert forms(batch, 1).endswith("|青|")
    (batch,) = batches(TEXT, window_tokens=6, title_tokens=0).epoch()
    assert forms(batch, 1).count("|") == 1


def test_tags_cover_the_window_and_are_masked_where_an_edge_cuts_an_entity() -> None:
    (batch,) = batches(TEXT, LabelledText("好"), window_tokens=6).epoch()
    assert batch.tags is not None
    by_row = {int(row): batch.tags[index, : batch.window[index].sum()].tolist() for index, row in enumerate(batch.rows)}
    assert by_row[0] == [1, 2, 0, *[UNKNOWN_TAG] * (len(by_row[0]) - 3)]
    assert by_row[1][:1] == [UNKNOWN_TAG]
    assert by_row[1][-4:] == [0, 0, 0, 0]
    assert (batch.tags[~batch.window] == UNKNOWN_TAG).all()


def test_texts_without_labels_have_no_tags_and_empty_ones_no_window() -> None:
    tokens = [tokenise_text(LabelledText(text), TOKENISER) for text in ("", "青禾", " ")]
    made = TagBatches(tokens, TOKENISER.special, SCHEME, batch_size=2, window_tokens=8)
    (batch,) = made.epoch()
    assert batch.tags is None
    assert [len(rows) for rows in made.rows_of_text] == [0, 1, 0]
    assert made.windows == [(1, (0, 2))]


def test_epochs_have_one_length_depend_on_the_seed_and_draw_other_windows() -> None:
    long = LabelledText("青禾很好" * 20, (Span(0, 2),))
    made = batches(long, TEXT, window_tokens=8, budget=24, batch_size=1, seed=3)
    epochs = [[int(batch.rows[0]) for batch in made.epoch(number)] for number in range(4)]
    assert all(len(rows) == len(made) for rows in epochs)
    assert all(0 in rows for rows in epochs)
    assert len({tuple(sorted(rows)) for rows in epochs}) > 1
    again = batches(long, TEXT, window_tokens=8, budget=24, batch_size=1, seed=3)
    assert [int(batch.rows[0]) for batch in again.epoch(2)] == epochs[2]


def test_to_moves_every_tensor() -> None:
    (batch,) = batches(TEXT).epoch()
    moved = batch.to(torch.device("meta"))
    assert {moved.tokens.device.type, moved.window.device.type, moved.tags.device.type} == {"meta"}  # type: ignore[union-attr]
