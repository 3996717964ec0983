"""What other people call the keys of their rows; for articles a hint names them, none is taken for ours unasked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NEWS_ID, TITLE, CONTENT = "newsId", "title", "content"
ARTICLE_COLUMNS = (NEWS_ID, TITLE, CONTENT)
TEXT, TARGET, POLARITY, LABEL, CATEGORY = "text", "target", "polarity", "label", "category"
FROM, TO, OCCURRENCE = "from", "to", "occurrence"

ALIASES: dict[str, tuple[str, ...]] = {
    NEWS_ID: ("newsid", "news_id", "id", "doc_id", "docid", "article_id", "编号", "新闻id", "新闻编号"),
    TITLE: ("headline", "news_title", "subject", "标题", "新闻标题", "题目"),
    CONTENT: ("text", "body", "article", "news", "news_content", "内容", "正文", "文本", "新闻内容", "全文"),
    TEXT: ("sentence", "content", "review", "comment", "raw_text", "文本", "句子", "评论", "内容"),
    TARGET: ("aspect", "aspect_term", "term", "opinion_target", "entity", "目标", "对象", "方面", "方面词", "实体"),
    POLARITY: ("sentiment", "emotion", "label", "情感", "情感极性", "极性", "情感倾向", "标签", "情绪"),
    LABEL: ("sentiment", "emotion", "polarity", "class", "标签", "情感", "类别", "情绪"),
    FROM: ("start", "begin", "start_offset", "开始", "起始"),
    TO: ("end", "stop", "end_offset", "结束"),
    OCCURRENCE: ("nth", "序号"),
}
"""Other names of each of our keys, in lower case, the likelier first."""

_KNOWN = frozenset(ALIASES) | {alias for aliases in ALIASES.values() for alias in aliases} | {"tokens", "entities"}


def is_known_name(name: str) -> bool:
    """Tell whether a column may be one of ours, under whatever name."""
    return name in _KNOWN or name.lower() in _KNOWN


def alias_in(keys: Iterable[str], ours: str) -> str | None:
    """Return the key that is another name of ours; None: there is none."""
    by_lower = {key.strip().lower(): key for key in reversed(list(keys))}
    return next((by_lower[alias] for alias in ALIASES[ours] if alias in by_lower), None)


def columns_hint(keys: Sequence[str], missing: Sequence[str]) -> str:
    """Return the ``--columns`` to type where columns are missing: the likely ones of the file, or a place to fill."""
    left = [key for key in keys if key not in ARTICLE_COLUMNS]
    pairs = []
    for ours in missing:
        found = alias_in(left, ours)
        left = [key for key in left if key != found]
        pairs.append(f"{ours}={found or 'NAME'}")
    return f"--columns {','.join(pairs)}"
