"""Entity and emotion from one tagger: mention votes, own ranking, and the average with the two-stage answers."""

from pipeline.joint.fuse import fuse_emotions, fuse_names, fuse_rankings, read_rule, write_rule
from pipeline.joint.stage import JointStage
from pipeline.joint.vote_ranking import VoteRanking
from pipeline.joint.votes import EmotionVoter, NameVotes

__all__ = [
    "EmotionVoter",
    "JointStage",
    "NameVotes",
    "VoteRanking",
    "fuse_emotions",
    "fuse_names",
    "fuse_rankings",
    "read_rule",
    "write_rule",
]
