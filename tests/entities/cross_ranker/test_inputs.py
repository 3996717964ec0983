"""What the encoder reads: marks, budget, places of mentions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.entities.cross_ranker.inputs import CandidateList, Passage, PassageBuilder
from pipeline.nn.encoders import SpecialIds
from pipeline.nn.encoders.chinese_pieces import wordpiece
from pipeline.nn.tokenisers import PieceTokeniser
from pipeline.schema import Article
from pipeline.text import Document
from tests.support.tiny_encoder import TOKENS, write_tiny_encoder

VOCABULARY = [*TOKENS, "〖", "〗"]
TOKENISER = PieceTokeniser(wordpiece(VOCABULARY), SpecialIds(0, 1, 2, 3))


def article(title: str, content: str, *keys: str) -> CandidateList:
    return CandidateList.of(Document.of(Article("a", title, content)), keys)


def builder(max_tokens: int = 64) -> PassageBuilder:
    return PassageBuilder(TOKENISER, max_tokens=max_tokens)


def read(passage: Passage) -> str:
    return " ".join(VOCABULARY[index] for index in passage.ids)


def at_mentions(passage: Passage, candidate: int = 0) -> str:
    return " ".join(VOCABULARY[index] for index in passage.ids[passage.mentions[candidate]])


def test_every_mention_is_marked_and_the_name_follows() -> None:
    (passage,) = builder().marked(article("青禾上市", "新款青禾,很好。", "青禾"))
    assert read(passage) == "[CLS] 〖 青 禾 〗 上 市 新 款 〖 青 禾 〗 , 很 好 。 [SEP] 青 禾 [SEP]"
    assert at_mentions(passage) == "青 禾 青 禾 青 禾"
    assert read(passage).split()[passage.second] == "青"


def test_latin_names_are_marked_whole_and_emoji_keep_their_place() -> None:
    (passage,) = builder().marked(article("NovaS7😀上市", "novas和nova s7", "nova s7"))
    assert read(passage).endswith("[UNK] 〖 nova s ##7 〗 [SEP] nova s ##7 [SEP]")
    assert at_mentions(passage) == "nova s ##7 nova s ##7"
    (passage,) = builder().marked(article("😀nova😀", "", "nova"))
    assert read(passage) == "[CLS] [UNK] 〖 nova 〗 [UNK] [SEP] nova [SEP]"


def test_overlapping_mentions_of_one_name_are_marked_once() -> None:
    (passage,) = builder().marked(article("青青青", "", "青青"))
    assert read(passage) == "[CLS] 〖 青 青 〗 青 [SEP] 青 青 [SEP]"


def test_a_sentence_beyond_the_lead_is_read_where_the_first_mention_of_the_content_stands_there() -> None:
    text = article("青禾上市", "今天很好。" * 10 + "新款路由器。" + "很好。" * 5, "路由器", "青禾")
    far, title_only = builder(max_tokens=32).marked(text)
    assert read(far).endswith("新 款 〖 路 由 器 〗 。 [SEP] 路 由 器 [SEP]")
    assert read(far).startswith("[CLS] 青 禾 上 市 今 天 很 好 。")
    assert "〖" not in read(title_only).split("市")[1]
    assert len(title_only.ids) == 32


def test_the_sentence_is_not_repeated_where_the_lead_ends_in_it() -> None:
    (passage,) = builder(max_tokens=32).marked(article("", "今天很好" * 5 + "路由器很好" * 4, "路由器"))
    assert read(passage).count("〖") >= 1
    text = read(passage).split(" [SEP]")[0].replace("[CLS]", "").replace("〖", "").replace("〗", "").replace(" ", "")
    assert text in "今天很好" * 5 + "路由器很好" * 4


def test_a_long_title_leaves_room_for_the_content() -> None:
    (passage,) = builder(max_tokens=32).marked(article("今" * 60, "很好", "很"))
    assert read(passage).endswith("今 〖 很 〗 好 [SEP] 很 [SEP]")


def test_a_vocabulary_without_marks_uses_separators(tmp_path: Path) -> None:
    plain = PieceTokeniser.of_encoder(write_tiny_encoder(tmp_path))
    (passage,) = PassageBuilder(plain, max_tokens=32).marked(article("青禾", "", "青禾"))
    assert read(passage) == "[CLS] [SEP] 青 禾 [SEP] [SEP] 青 禾 [SEP]"


def test_one_passage_lists_every_name() -> None:
    passage = builder().joint(article("青禾上市", "云杉,青禾。", "青禾", "云杉"))
    assert read(passage) == "[CLS] 青 禾 上 市 云 杉 , 青 禾 。 [SEP] 青 禾 [SEP] 云 杉 [SEP]"
    assert [at_mentions(passage, row) for row in (0, 1)] == ["青 禾 青 禾 青 禾", "云 杉 云 杉"]


def test_names_without_room_read_the_first_token() -> None:
    text = article("今" * 40 + "青禾", "汽车" * 6 + "云杉", "云杉", "汽车" * 6, "青禾")
    passage = builder(max_tokens=32).joint(text)
    assert [at_mentions(passage, row) for row in range(3)] == ["云 杉", "[CLS]", "青 禾"]


def test_names_are_listed_alike_whatever_their_ranks() -> None:
    left = builder().joint(article("青禾上市", "云杉,科技。", "青禾", "云杉", "科技"))
    right = builder().joint(article("青禾上市", "云杉,科技。", "科技", "青禾", "云杉"))
    assert left.ids.tolist() == right.ids.tolist()
    assert [places.tolist() for places in left.mentions] == [right.mentions[row].tolist() for row in (1, 2, 0)]


@given(
    title=st.text(st.sampled_from("青禾今天a😀nova《》 "), max_size=30),
    content=st.text(st.sampled_from("青禾今天a😀。!nova \n"), max_size=120),
    max_tokens=st.integers(32, 60),
)
def test_passages_fit_the_budget_and_mentions_are_the_name(title: str, content: str, max_tokens: int) -> None:
    keys = [key for key in ("青禾", "nova", "今天青") if key in f"{title}\n{content}"]
    text = article(title, content, *keys)
    for key, passage in zip(keys, builder(max_tokens).marked(text), strict=True):
        assert len(passage.ids) <= max_tokens
        name = at_mentions(passage).split()
        want = [VOCABULARY[index] for index in TOKENISER(key).ids]
        assert name == want * (len(name) // len(want))
        marks = [VOCABULARY[index] for index in passage.ids if VOCABULARY[index] in "〖〗"]
        assert marks == ["〖", "〗"] * (len(name) // len(want) - 1)
    if keys:
        joint = builder(max_tokens).joint(text)
        assert len(joint.ids) <= max_tokens
        assert all(len(places) and places.max() < len(joint.ids) for places in joint.mentions)
        assert len(joint.mentions) == len(keys)


@pytest.mark.parametrize("kind", ["marked", "joint"])
def test_mentions_are_positions_in_the_passage(kind: str) -> None:
    text = article("青禾上市", "云杉", "青禾", "云杉")
    found = builder().marked(text) if kind == "marked" else [builder().joint(text)]
    assert all(np.all(places < len(passage.ids)) for passage in found for places in passage.mentions)
