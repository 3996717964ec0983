from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.entities.taggers.crf import CRF
from pipeline.text.spans import Span, TagScheme

SCHEMES = [TagScheme("BIO"), TagScheme("BIESO"), TagScheme("BIO", ("P", "N"))]
PATTERNS = {"BIO": "(O|B{0}(I{0})*)", "BIESO": "(O|S{0}|B{0}(I{0})*E{0})"}
LENGTHS = (4, 2, 1)


def crf_with_random_scores(scheme: TagScheme) -> CRF:
    torch.manual_seed(3)
    crf = CRF(scheme)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf


def random_batch(scheme: TagScheme) -> tuple[Tensor, Tensor]:
    emissions = torch.randn(len(LENGTHS), max(LENGTHS), len(scheme.tags), generator=torch.Generator().manual_seed(4))
    return emissions, torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


def is_well_formed(scheme: TagScheme, tags: tuple[int, ...]) -> bool:
    text = "".join(scheme.tags[tag].replace("-", "") for tag in tags)
    choices = "|".join(PATTERNS[scheme.name].format(label) for label in scheme.labels)
    return re.fullmatch(f"({choices})*", text) is not None


def sequences(crf: CRF, scheme: TagScheme, emissions: Tensor) -> dict[tuple[int, ...], float]:
    """Score every well-formed tag sequence of one row, step by step."""
    scores = {}
    first, between, last = crf.first.detach(), crf.transitions.detach(), crf.last.detach()
    for tags in itertools.product(range(len(scheme.tags)), repeat=len(emissions)):
        if is_well_formed(scheme, tags):
            score = first[tags[0]] + last[tags[-1]] + sum(emissions[i, tag] for i, tag in enumerate(tags))
            score = score + sum(between[pair] for pair in itertools.pairwise(tags))
            scores[tags] = float(score)
    return scores


def dense_spans(crf: CRF, emissions: Tensor, mask: Tensor, max_length: int) -> Tensor:
    """Return the probability of every span: (batch, seq_len, max_length, n_labels)."""
    chain = crf.chain()
    found = chain.spans(emissions.numpy(), mask.numpy(), max_length=max_length)
    probs = np.zeros((*mask.shape, max_length, chain.n_labels), np.float32)
    probs[found.row, found.first, found.length - 1] = found.probs
    return torch.from_numpy(probs)


def best_tags(crf: CRF, emissions: Tensor, mask: Tensor) -> Tensor:
    return torch.from_numpy(crf.chain().best_tags(emissions.numpy(), mask.numpy()))


def log_sum(scores: list[float]) -> float:
    return float(torch.tensor(scores).logsumexp(0))


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
class TestAgainstBruteForce:
    def test_log_likelihood(self, scheme: TagScheme) -> None:
        crf, (emissions, mask) = crf_with_random_scores(scheme), random_batch(scheme)
        for row, length in enumerate(LENGTHS):
            scores = sequences(crf, scheme, emissions[row, :length])
            for tags in list(scores)[::7]:
                padded = torch.tensor([*tags, *[0] * (max(LENGTHS) - length)])
                found = crf.log_likelihood(emissions[row : row + 1], padded[None], mask[row : row + 1]).detach()
                assert float(found[0]) == pytest.approx(scores[tags] - log_sum([*scores.values()]), abs=1e-4)

    def test_unknown_tags_are_summed_over(self, scheme: TagScheme) -> None:
        crf, (emissions, mask) = crf_with_random_scores(scheme), random_batch(scheme)
        scores = sequences(crf, scheme, emissions[0])
        tags = torch.tensor([[1, -100, -100, 0]])  # B ? ? O
        wanted = log_sum([score for path, score in scores.items() if (path[0], path[-1]) == (1, 0)])
        found = crf.log_likelihood(emissions[:1], tags, mask[:1]).detach()
        assert float(found[0]) == pytest.approx(wanted - log_sum([*scores.values()]), abs=1e-4)
        nothing_known = crf.log_likelihood(emissions, torch.full(mask.shape, -100), mask).detach()
        torch.testing.assert_close(nothing_known, torch.zeros(len(LENGTHS)), atol=1e-4, rtol=0)

    def test_best_tags(self, scheme: TagScheme) -> None:
        crf, (emissions, mask) = crf_with_random_scores(scheme), random_batch(scheme)
        found = best_tags(crf, emissions, mask)
        for row, length in enumerate(LENGTHS):
            scores = sequences(crf, scheme, emissions[row, :length])
            assert tuple(found[row, :length].tolist()) == max(scores, key=scores.__getitem__)
            assert not found[row, length:].any()

    def test_spans(self, scheme: TagScheme) -> None:
        crf, (emissions, mask) = crf_with_random_scores(scheme), random_batch(scheme)
        probs = dense_spans(crf, emissions, mask, 4)
        wanted = torch.zeros_like(probs)
        for row, length in enumerate(LENGTHS):
            scores = sequences(crf, scheme, emissions[row, :length])
            total = log_sum([*scores.values()])
            for path, score in scores.items():
                for start, stop, label in scheme.decode([scheme.tags[tag] for tag in path]):
                    prob = torch.tensor(score - total).exp()
                    wanted[row, start, stop - start - 1, scheme.labels.index(label)] += prob
        torch.testing.assert_close(probs, wanted, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(dense_spans(crf, emissions, mask, 9)[:, :, :4], wanted, atol=1e-5, rtol=1e-4)
        shorter = dense_spans(crf, emissions, mask, 2)
        torch.testing.assert_close(shorter, wanted[:, :, :2], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_agrees_with_pytorch_crf(scheme: TagScheme) -> None:
    torchcrf = pytest.importorskip("torchcrf")
    ours, (emissions, mask) = crf_with_random_scores(scheme), random_batch(scheme)
    theirs = torchcrf.CRF(len(scheme.tags), batch_first=True)
    first, between, last = ours._scores()
    theirs.start_transitions.data, theirs.transitions.data, theirs.end_transitions.data = first, between, last
    assert theirs.decode(emissions, mask) == [
        row[:length].tolist() for row, length in zip(best_tags(ours, emissions, mask), LENGTHS, strict=True)
    ]
    tags = best_tags(ours, emissions, mask)
    found = ours.log_likelihood(emissions, tags, mask)
    torch.testing.assert_close(found, theirs(emissions, tags, mask, reduction="none"), atol=1e-4, rtol=1e-4)


def test_gradients_stay_finite_under_constraints_and_unknown_tags() -> None:
    scheme = TagScheme("BIESO")
    crf, (emissions, mask) = crf_with_random_scores(scheme), random_batch(scheme)
    emissions.requires_grad_()
    tags = torch.tensor([[-100, 2, 3, 0], [4, -100, 0, 0], [0, 0, 0, 0]])
    (-crf.log_likelihood(emissions, tags, mask).sum()).backward()
    for tensor in (emissions, *crf.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
    assert not emissions.grad[~mask].any()


def test_without_learning_a_softmax_is_only_restricted_to_well_formed_tags() -> None:
    scheme = TagScheme("BIO")
    crf = CRF(scheme, learns=False)
    assert not any(parameter.requires_grad for parameter in crf.parameters())
    # O O, where "I" is what each step alone would say first
    emissions = torch.tensor([[[0.3, 0.1, 0.6], [0.5, 0.3, 0.2]]]).log()
    assert best_tags(crf, emissions, torch.ones(1, 2, dtype=torch.bool)).tolist() == [[0, 0]]
    probs = dense_spans(crf, emissions, torch.ones(1, 2, dtype=torch.bool), 2)[0, :, :, 0]
    total = (0.3 + 0.1) * (0.5 + 0.3) + 0.1 * 0.2  # whatever has no I at the beginning or after O
    wanted = torch.tensor([[0.1 * (0.5 + 0.3), 0.1 * 0.2], [(0.3 + 0.1) * 0.3, 0.0]]) / total
    torch.testing.assert_close(probs, wanted)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("min_prob", [0.02, 0.1, 0.5, 1.0])
def test_spans_below_the_lowest_probability_are_left_out_and_no_others(scheme: TagScheme, min_prob: float) -> None:
    crf = crf_with_random_scores(scheme)
    emissions = 3 * torch.randn(5, 12, len(scheme.tags), generator=torch.Generator().manual_seed(5))
    mask = torch.arange(12) < torch.tensor([12, 11, 7, 2, 1])[:, None]
    dense = dense_spans(crf, emissions, mask, 6)
    likely = dense.sum(-1) >= min_prob
    found = crf.chain().spans(emissions.numpy(), mask.numpy(), max_length=6, min_prob=min_prob)
    indices = (found.row, found.first, found.length - 1)
    assert sorted(np.stack(indices, 1).tolist()) == likely.nonzero().tolist()
    np.testing.assert_allclose(found.probs, dense.numpy()[indices], rtol=1e-5, atol=1e-7)


def test_scheme_ids_match() -> None:
    scheme = TagScheme("BIESO", ("P", "N"))
    assert scheme.encode([Span(0, 2, "N")], 2) == ["B-N", "E-N"]
    assert [scheme.label_of[scheme.ids[tag]] for tag in ("O", "S-P", "B-N")] == [-1, 0, 1]
