"""Every word of the page in English and Chinese, side by side."""

from __future__ import annotations

from pipeline.errors import ConfigError

LANGUAGES = ("en", "zh")
REASONS = (
    "not_in_text",
    "not_candidate_segmentation",
    "not_candidate_boundary",
    "not_candidate_unknown_word",
    "pruned",
    "ranked_out",
    "cut_by_number",
)
"""Why a gold entity was missed, in the order of the pipeline: the first that applies counts."""
STAGES = ("candidates", "ranking", "number", "emotion")

TEXTS: dict[str, tuple[str, str]] = {
    # the page
    "title": ("Where the points are lost", "分数丢在哪里"),
    "explain_title": ("One article, explained", "单篇解读"),
    "skip": ("Skip to the articles", "跳到文章列表"),
    "theme": ("Light / dark", "浅色 / 深色"),
    "nav_overview": ("Overview", "总览"),
    "nav_stages": ("Stages", "各阶段"),
    "nav_misses": ("Misses", "漏检原因"),
    "nav_emotion": ("Emotion", "情感"),
    "nav_slices": ("Slices", "分组"),
    "nav_articles": ("Articles", "文章"),
    "run_line": (
        "run {run} · preset {preset} · seed {seed} · {n_articles} articles, {n_gold} gold entities · {gold}",
        "运行 {run} · 预设 {preset} · 种子 {seed} · {n_articles} 篇文章，{n_gold} 个标注实体 · {gold}",
    ),
    "no_script": ("The article browser needs JavaScript.", "文章浏览器需要启用 JavaScript。"),
    "interval_note": (
        "Brackets: 95 % bootstrap interval over articles.",
        "方括号内为按文章自助抽样的 95 % 置信区间。",
    ),
    # overview
    "score": ("Score", "总分"),
    "entity_f1": ("Entity F1", "实体 F1"),
    "emotion_f1": ("Entity + emotion F1", "实体情感 F1"),
    "lost": ("Points lost to each stage", "各阶段丢的分"),
    "lost_note": (
        "Points of score (out of 100) that making this stage alone perfect would win back. They do not add up: stages "
        "hide each other's errors.",
        "只把该阶段换成完美结果可以找回的分（满分 100）。各项不能相加：前面的错误会掩盖后面的错误。",
    ),
    "worst": ("The three worst slices", "最差的三个分组"),
    "fix_next": ("What to fix next", "下一步改什么"),
    "micro_precision": ("Entities written that are gold", "写出的实体中正确的"),
    "micro_recall": ("Gold entities that were found", "标注实体中找到的"),
    "accuracy_on_hits": ("Right emotion where found", "找到的实体中情感正确的"),
    "points": ("points", "分"),
    "n_articles": ("articles", "篇"),
    "stage_candidates": ("Candidates", "候选"),
    "stage_ranking": ("Ranking", "排序"),
    "stage_number": ("Number", "实体个数"),
    "stage_emotion": ("Emotion", "情感"),
    "fix_candidates": (
        "Entities never reach the ranker. Add names to the dictionary (candidates.dictionary), train a tagger "
        "(tagger.name), or keep more candidates (candidates.max_candidates); the table of misses says which.",
        "正确实体没有进入排序。可以扩充词典（candidates.dictionary）、训练标注模型（tagger.name）或保留更多候选"
        "（candidates.max_candidates）；漏检原因表会说明是哪一种。",
    ),
    "fix_ranking": (
        "The right names are among the candidates but others stand above them. Open articles with the reason “ranked "
        "too low” and see which features lifted the wrong ones; better features or a tagger's scores help here.",
        "正确实体已是候选，却排在别人后面。打开“排名太低”的文章，看是哪些特征抬高了错误候选；更好的特征或标注模型的得分最有用。",
    ),
    "fix_number": (
        "The order is good, the cut is not. Look at the threshold curve, and at articles where one entity too many or "
        "too few was written.",
        "排序没问题，截断有问题。看阈值曲线，以及多写或少写一个实体的文章。",
    ),
    "fix_emotion": (
        "The entity is right, its emotion is not. See the confusion matrix; try other members (sentiment.members), a "
        "longer context (sentiment.max_context_chars) or another class_weight_power (of sentiment, and of head).",
        "实体对了，情感错了。看混淆矩阵；可以换模型成员（sentiment.members）、加长上下文"
        "（sentiment.max_context_chars）或调整 class_weight_power（sentiment 与 head 各有一项）。",
    ),
    # ladder
    "ladder": ("If a stage were perfect", "如果某个阶段完美"),
    "ladder_note": (
        "The same articles each time; a perfect stage is one that is told the gold labels.",
        "每一行用的都是同一批文章；“完美”指该阶段直接使用标注答案。",
    ),
    "real": ("This pipeline", "当前流水线"),
    "perfect_candidates": ("perfect candidates", "完美候选"),
    "perfect_ranking": ("perfect ranking", "完美排序"),
    "perfect_number": ("perfect number", "完美个数"),
    "perfect_emotion": ("perfect emotion", "完美情感"),
    "all_combinations": ("All combinations", "全部组合"),
    "random": ("Random candidates", "随机候选"),
    "most_frequent": ("Most frequent candidates", "最高频候选"),
    "human": ("Two people, same articles", "两人标注一致度"),
    "human_source": (
        "Two people: 17 articles in the data that the organiser published before the competition are labelled twice "
        "(sohucampus2019/coreEntityEmotion_baseline, commit d375ce0). It holds for the competition's articles only.",
        "“两人标注一致度”：主办方在赛前公开的数据里有 17 篇文章被标注了两次"
        "（sohucampus2019/coreEntityEmotion_baseline，提交 d375ce0）。该数字只适用于比赛数据。",
    ),
    "scale_random": ("random", "随机"),
    "scale_human": ("people", "人"),
    "gain": ("Gain", "可找回"),
    # attribution
    "misses": ("Why gold entities were missed", "标注实体为何漏掉"),
    "outcome_bar": ("What became of the {n} gold entities", "{n} 个标注实体的去向"),
    "reason": ("First reason", "最先出错之处"),
    "count": ("Count", "个数"),
    "share": ("Share of gold", "占标注"),
    "show_articles": ("show", "查看"),
    "right_emotion": ("Found, emotion right", "找到且情感正确"),
    "wrong_emotion": ("Found, emotion wrong", "找到但情感错误"),
    "missed": ("Missed", "漏掉"),
    "spurious": ("Spurious: written, but not gold", "误报：写出但不在标注中"),
    "not_in_text": ("The article does not contain the name", "文中没有这个名称"),
    "not_candidate_segmentation": ("Word segmentation cut through the name", "分词把名称切开了"),
    "not_candidate_boundary": ("Only a longer or shorter name was a candidate", "候选的边界偏长或偏短"),
    "not_candidate_unknown_word": ("An unknown word: no source proposed it", "未登录词，没有来源提出它"),
    "pruned": ("A candidate, but pruned before ranking", "曾是候选，排序前被剪掉"),
    "ranked_out": ("Ranked too low", "排名太低"),
    "cut_by_number": ("Ranked high enough, cut by the number rule", "排名够高，被个数规则截掉"),
    "fix_not_in_text": (
        "No model can find it. Look for full-width letters, blanks and aliases in the labels.",
        "模型无法找到。检查标注里的全角字符、空格和别名。",
    ),
    "fix_not_candidate_segmentation": (
        "Add such names to the dictionary, or train a tagger: it does not depend on words.",
        "把这类名称加入词典，或训练不依赖分词的标注模型。",
    ),
    "fix_not_candidate_boundary": (
        "A tagger learns boundaries; longer word runs (candidates.max_words, max_chars) help long names.",
        "标注模型能学到边界；长名称可调大 candidates.max_words、max_chars。",
    ),
    "fix_not_candidate_unknown_word": (
        "A larger or newer dictionary; more training articles, whose gold names join it.",
        "更大更新的词典；更多训练文章（其标注名称会并入词典）。",
    ),
    "fix_pruned": (
        "Raise candidates.max_candidates, at the price of speed.",
        "调大 candidates.max_candidates，会变慢。",
    ),
    "fix_ranked_out": (
        "Read the features of the spurious entities that took its place.",
        "查看占了它位置的误报实体的特征。",
    ),
    "fix_cut_by_number": ("See the threshold curve; the floor may be too high.", "看阈值曲线，下限可能偏高。"),
    # curves
    "recall_at_k": ("Gold entities among the k best candidates", "前 k 个候选包含的标注实体"),
    "recall": ("recall", "召回率"),
    "all": ("all", "全部"),
    "threshold_curve": ("Entity F1 by the probability floor", "概率下限与实体 F1"),
    "floor": ("floor", "下限"),
    "chosen": ("chosen", "所选"),
    "learning_curve": ("Score by the number of training articles", "训练文章数与得分"),
    "training_articles": ("training articles", "训练文章数"),
    # emotion
    "emotion": ("Emotion", "情感"),
    "POS": ("positive", "正面"),
    "NORM": ("neutral", "中性"),
    "NEG": ("negative", "负面"),
    "confusion": ("Gold emotion against predicted", "标注情感与预测情感"),
    "gold": ("gold", "标注"),
    "predicted": ("predicted", "预测"),
    "precision": ("Precision", "精确率"),
    "recall_column": ("Recall", "召回率"),
    "f1": ("F1", "F1"),
    "reliability": ("Is the confidence honest?", "置信度可信吗？"),
    "reliability_note": (
        "On the diagonal, “80 % sure” is right in 80 of 100 cases; below it, the model is too sure. Larger points "
        "stand for more entities. Expected calibration error: {ece}.",
        "落在对角线上说明“八成把握”确实十次对八次；在线下说明过于自信。点越大，实体越多。期望校准误差：{ece}。",
    ),
    "confidence": ("confidence", "置信度"),
    "accuracy": ("accuracy", "准确率"),
    "macro_f1": ("Macro F1", "宏平均 F1"),
    "majority": ("Always {emotion}", "一律判为{emotion}"),
    "gold_targets": ("Accuracy on all gold entities", "在全部标注实体上的准确率"),
    "predicted_targets": ("Accuracy on the entities found", "在找到的实体上的准确率"),
    "gap": ("Gap between the two", "两者之差"),
    # slices
    "slices": ("Slices, the worst first", "分组成绩，差的在前"),
    "slices_note": (
        "Bars: score and its interval; the line marks the whole file. Slices of fewer than ten articles say little.",
        "横条为总分及区间，竖线为全体成绩。少于十篇的分组参考意义不大。",
    ),
    "slice": ("Slice", "分组"),
    "all_slices": ("all slices", "全部分组"),
    "found_column": ("Found", "找到"),
    "slice_topic": ("topic", "话题"),
    "slice_length": ("length", "篇幅"),
    "slice_n_gold": ("gold entities", "标注实体数"),
    "slice_entity_length": ("entity length", "实体长度"),
    "slice_in_dictionary": ("in dictionary", "在词典中"),
    "slice_in_title": ("in title", "在标题中"),
    "slice_seen_in_training": ("seen in training", "训练中见过"),
    "slice_script": ("script", "文字"),
    "slice_emotion": ("emotion", "情感"),
    "slice_mixed_emotion": ("mixed emotions", "情感混合"),
    # browser
    "articles": ("Articles", "文章"),
    "search_label": ("Search", "搜索"),
    "search": ("id, title, entity or text", "编号、标题、实体或正文"),
    "search_texts": ("search the texts too", "同时搜索正文"),
    "searching": ("texts searched: {n} of {total}", "已搜索正文：{n} / {total}"),
    "filter_reason": ("Outcome", "结果"),
    "filter_emotion": ("Emotion", "情感"),
    "filter_slice": ("Slice", "分组"),
    "any": ("any", "不限"),
    "all_right": ("everything right", "全部正确"),
    "any_error": ("any error", "有任何错误"),
    "sort": ("Order", "排序"),
    "sort_file": ("as in the file", "按文件顺序"),
    "sort_worst": ("lowest score first", "分低在前"),
    "reset": ("Reset", "重置"),
    "matches": ("{n} of {total} articles", "{n} / {total} 篇"),
    "loading": ("Loading…", "载入中…"),
    "none_found": ("No article matches. Reset the filters to see all.", "没有符合条件的文章。重置筛选可查看全部。"),
    "choose_article": ("Choose an article from the list.", "请从列表中选择一篇文章。"),
    "unknown_article": ("There is no article {id} in this report.", "报告中没有编号为 {id} 的文章。"),
    "load_failed": (
        "{file} cannot be read. Keep the folder data beside index.html.",
        "无法读取 {file}。请把 data 文件夹放在 index.html 旁边。",
    ),
    "other_report": (
        "The folder data belongs to another report. Write the report again.",
        "data 文件夹属于另一份报告，请重新生成。",
    ),
    "keys": (
        "j or → next · k or ← previous · / search · Esc leaves the search",
        "j 或 → 下一篇 · k 或 ← 上一篇 · / 搜索 · Esc 离开搜索",
    ),
    "back": ("Back to the list", "返回列表"),
    "previous": ("Previous", "上一篇"),
    "next_article": ("Next", "下一篇"),
    "link": ("link to this article", "本文链接"),
    "untitled": ("(no title)", "（无标题）"),
    # one article
    "gold_entities": ("Gold entities", "标注实体"),
    "pred_entities": ("Predicted entities", "预测实体"),
    "entity": ("Entity", "实体"),
    "mentions": ("Mentions", "出现"),
    "outcome": ("Outcome", "结果"),
    "probability": ("Score", "得分"),
    "probs": ("Emotion probabilities", "情感概率"),
    "hit": ("gold", "命中"),
    "not_gold": ("spurious", "误报"),
    "no_entities": ("none", "无"),
    "next": ("Next candidates", "后续候选"),
    "features": ("What decided: features of {entity}", "决定因素：{entity} 的特征"),
    "feature": ("Feature", "特征"),
    "value": ("Value", "取值"),
    "shap": ("Effect (SHAP)", "作用（SHAP）"),
    "attention": ("Attention", "注意力"),
    "attention_off": ("off", "关闭"),
    "legend_gold": ("gold: underlined", "标注：下划线"),
    "legend_pred": ("predicted: tinted", "预测：底色"),
    "legend_heat": ("darker: more attention", "越深，注意力越强"),
    "text": ("Text", "正文"),
    "latin": ("Latin letters", "拉丁字母"),
    "cjk": ("Chinese characters", "汉字"),
    "mixed": ("both", "中英混合"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
}
"""Key -> (English, Chinese). Words in braces are filled in. Reasons, stages and ladder rows have the report's keys."""


def texts(lang: str) -> dict[str, str]:
    """Return the words of one language.

    Raises:
        ConfigError: the language is not known.
    """
    if lang not in LANGUAGES:
        raise ConfigError(f"language {lang!r}: want one of {', '.join(LANGUAGES)}")
    column = LANGUAGES.index(lang)
    return {key: pair[column] for key, pair in TEXTS.items()}
