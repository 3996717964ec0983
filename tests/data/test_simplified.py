"""Articles as they are read where script is converted, and answers put back into the script of the article."""

from __future__ import annotations

from pipeline.data.simplified import as_written, simplified, simplified_target
from pipeline.schema import Article, ChosenEntity, Emotion, Entity, Mention, Prediction, RunnerUp, Target

PROBS = (1.0, 0.0, 0.0)


def chosen(name: str, *mentions: Mention) -> ChosenEntity:
    return ChosenEntity(name, Emotion.POS, 0.5, PROBS, mentions)


def test_texts_and_gold_names_are_converted() -> None:
    names = (Entity("雲杉書店", Emotion.POS), Entity("云杉书店", Emotion.NEG), Entity("不在文中的書", Emotion.NORM))
    read = simplified(Article("a", "雲杉書店開業", "天氣很好", names, truncated=True))
    want = (Entity("云杉书店", Emotion.POS), Entity("不在文中的书", Emotion.NORM))
    assert read == Article("a", "云杉书店开业", "天气很好", want, truncated=True)
    assert simplified(Article("a", "書", "")) == Article("a", "书", "")


def test_a_gold_name_is_converted_as_its_text_is() -> None:
    """Alone the first character would become another one; the phrase around it keeps it."""
    article = Article("a", "", "乾隆年間", (Entity("乾", Emotion.POS),))
    assert simplified(Article("b", "乾", "")).title == "干"
    assert simplified(article).entities == (Entity("乾", Emotion.POS),)


def test_answers_are_slices_of_the_untouched_article() -> None:
    untouched = Article("a", "雲杉書店", "云杉書店與雲杉書店，還有银杏")
    read = simplified(untouched)
    assert read.content == "云杉书店与云杉书店，还有银杏"
    mentions = Mention("title", 0, 4, "云杉书店"), Mention("content", 0, 4, "云杉书店")
    found = as_written(
        Prediction("a", (chosen("云杉书店", *mentions),), (RunnerUp("还有银杏", 0.4), RunnerUp("不在", 0.1))),
        read,
        untouched,
    )
    [entity] = found.entities
    assert entity.name == "雲杉書店"  # the commonest of its spellings
    assert [mention.surface for mention in entity.mentions] == ["雲杉書店", "云杉書店"]
    assert found.runners_up == (RunnerUp("還有银杏", 0.4), RunnerUp("不在", 0.1))


def test_names_that_are_written_alike_are_answered_once() -> None:
    """The phrase settles a character in one place and not in the other."""
    untouched = Article("a", "乾隆", "乾")
    read = simplified(untouched)
    assert (read.title, read.content) == ("乾隆", "干")
    answer = Prediction("a", (chosen("乾"), chosen("干")), (RunnerUp("干", 0.2),))
    found = as_written(answer, read, untouched)
    assert [entity.name for entity in found.entities] == ["乾"]
    assert found.runners_up == ()


def test_a_target_keeps_its_places() -> None:
    target = Target("雲杉書店很好", 0, 4, "雲杉書店", mentions=((0, 4),), document="雲杉書店很好，銀杏不好")
    assert simplified_target(target) == Target(
        "云杉书店很好", 0, 4, "云杉书店", mentions=((0, 4),), document="云杉书店很好，银杏不好"
    )
