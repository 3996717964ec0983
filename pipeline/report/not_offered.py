"""Why a name that stands in the text is no candidate."""

from __future__ import annotations

import numpy as np

from pipeline.emotions.sentiment.contexts import find_mentions
from pipeline.entities.candidates import CandidateSet
from pipeline.text import match_key

SEGMENTATION = "not_candidate_segmentation"
BOUNDARY = "not_candidate_boundary"
UNKNOWN_WORD = "not_candidate_unknown_word"


def not_offered_reason(name: str, offered: CandidateSet) -> str:
    """Return the first that holds of a gold name that is in the text, but not a candidate.

    * boundary, at once, where the candidate is there in another spelling (case, width, blanks);
    * segmentation: at none of its mentions do both ends of the name fall on ends of words, so that nothing
      built of words can offer it;
    * boundary: a candidate shares a character with one of its mentions, but begins or ends elsewhere;
    * unknown word: no candidate touches any mention; its words are in no dictionary and too short or rare.
    """
    key = match_key(name)
    if key in offered.keys:
        return BOUNDARY
    mentions = find_mentions(offered.document.text, key)
    edges = set(offered.words.starts)
    if not any(start in edges and stop in edges for start, stop in mentions):
        return SEGMENTATION
    starts = offered.starts.astype(np.int64)
    stops = starts + np.repeat(offered.lengths, offered.counts)
    touched = any(bool(((starts < stop) & (stops > start)).any()) for start, stop in mentions)
    return BOUNDARY if touched else UNKNOWN_WORD
