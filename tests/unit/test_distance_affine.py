"""Gap-affine batches: WFA2-lib's golden scores, a plain dynamic programming, and alignments that are replayed."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haplowave.distance import batch
from haplowave.distance.affine import Penalties, align_batch, score_of
from haplowave.errors import UserError
from haplowave.sequences import Sequences

GOLDEN = {
    "edit": Penalties.edit(),
    "indel": Penalties.indel(),
    "affine": Penalties(0, 4, 6, 2),
    "affine.p0": Penalties(0, 1, 2, 1),
    "affine.p1": Penalties(0, 3, 1, 4),
    "affine.p2": Penalties(0, 5, 3, 2),
    "affine.p3": Penalties(-5, 1, 2, 1),
    "affine.p4": Penalties(-2, 3, 1, 4),
    "affine.p5": Penalties(-3, 5, 3, 2),
    "affine2p": Penalties(0, 4, 6, 2, 24, 1),
}


def parse(cigar: str) -> list[tuple[int, str]]:
    return [(int(length), operation) for length, operation in re.findall(r"(\d+)([=XID])", cigar)]


def replay(cigar: str, query: np.ndarray, target: np.ndarray) -> None:
    """The alignment spells both strings, its matches are matches and its mismatches are not."""
    i = j = 0
    for length, operation in parse(cigar):
        if operation in "=X":
            assert ((query[i : i + length] == target[j : j + length]) == (operation == "=")).all()
        i += length if operation != "I" else 0
        j += length if operation != "D" else 0
    assert (i, j) == (len(query), len(target))


def gotoh(query: np.ndarray, target: np.ndarray, penalties: Penalties) -> int:
    """Score by plain dynamic programming with one gap matrix a piece and kind (Gotoh 1982)."""
    pieces = [(penalties.gap_open, penalties.gap_extend)]
    if penalties.gap_open2 is not None:
        pieces.append((penalties.gap_open2, penalties.gap_extend2))
    m, n, never = len(query), len(target), 10**9
    best = np.full((m + 1, n + 1), never, np.int64)
    down = [np.full((m + 1, n + 1), never, np.int64) for _ in pieces]
    across = [np.full((m + 1, n + 1), never, np.int64) for _ in pieces]
    best[0, 0] = 0
    for i in range(m + 1):
        for j in range(n + 1):
            for c, (opening, extension) in enumerate(pieces):
                if i:
                    down[c][i, j] = min(best[i - 1, j] + opening, down[c][i - 1, j]) + extension
                if j:
                    across[c][i, j] = min(best[i, j - 1] + opening, across[c][i, j - 1]) + extension
                best[i, j] = min(best[i, j], down[c][i, j], across[c][i, j])
            if i and j:
                same = query[i - 1] == target[j - 1]
                step = penalties.match if same else never if penalties.mismatch is None else penalties.mismatch
                best[i, j] = min(best[i, j], best[i - 1, j - 1] + step)
    return -int(best[m, n])


@pytest.fixture(scope="module")
def vectors(shared_data) -> tuple[Sequences, Sequences]:
    lines = gzip.decompress((shared_data / "edit_distance" / "wfa2_utest" / "wfa.utest.seq.gz").read_bytes()).split(b"\n")
    return tuple(Sequences.from_list(line[1:].strip() for line in lines if line[:1] == mark) for mark in (b">", b"<"))


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_scores(vectors, shared_data, name):
    queries, targets = vectors
    text = gzip.decompress((shared_data / "edit_distance" / "wfa2_utest" / f"test.{name}.alg.gz").read_bytes()).decode()
    wanted = [int(line.split("\t")[0]) for line in text.splitlines()]
    assert len(wanted) == len(queries) == len(targets) == 305
    pairs = np.repeat(np.arange(305), 2).reshape(-1, 2)
    result = align_batch(queries, targets, pairs, GOLDEN[name])
    sign = -1 if name in ("edit", "indel") else 1
    assert (sign * result.scores).tolist() == wanted
    for index, (cigar, score) in enumerate(zip(result.cigars, result.scores.tolist(), strict=True)):
        assert score_of(parse(cigar), GOLDEN[name]) == score
        replay(cigar, queries[index], targets[index])
    if name == "edit":
        assert batch(queries, targets, pairs, mode="global").tolist() == wanted


SCHEMES = [*GOLDEN.values(), Penalties.linear(3, 2), Penalties(0, 7, 0, 3), Penalties(-1, None, 2, 1), Penalties(-2, 3, 4, 3, 9, 1)]


@settings(max_examples=60, deadline=None)
@given(st.text("ACGTN", max_size=40), st.text("ACG", max_size=40), st.sampled_from(SCHEMES))
def test_equal_to_the_oracle(query, target, penalties):
    queries, targets = Sequences.from_list([query.encode()]), Sequences.from_list([target.encode()])
    result = align_batch(queries, targets, np.zeros((1, 2), int), penalties)
    assert result.scores.tolist() == [gotoh(queries[0], targets[0], penalties)]
    assert score_of(parse(result.cigars[0]), penalties) == result.scores[0]
    replay(result.cigars[0], queries[0], targets[0])


@pytest.mark.parametrize("penalties", [Penalties(), Penalties(-3, 5, 3, 2), Penalties(0, 4, 6, 2, 24, 1)])
def test_little_memory_gives_the_same(penalties):
    rng = np.random.default_rng(3)
    queries = [rng.integers(65, 69, 200 + 30 * index).astype(np.uint8) for index in range(12)]
    targets = [np.concatenate([text[:50], rng.integers(65, 69, 40).astype(np.uint8), text[90:]]) for text in queries]
    queries, targets = Sequences.from_list(map(bytes, queries)), Sequences.from_list(map(bytes, targets))
    pairs = np.array([(q, t) for q in range(12) for t in (q, (q + 1) % 12)])
    whole = align_batch(queries, targets, pairs, penalties)
    small = align_batch(queries, targets, pairs, penalties, memory=200_000)
    assert (whole.scores == small.scores).all()
    assert whole.cigars == small.cigars
    assert align_batch(queries, targets, pairs, penalties, cigars=False, memory=150_000).scores.tolist() == whole.scores.tolist()


def test_work_groups_of_a_gpu_give_the_same(monkeypatch):
    rng = np.random.default_rng(4)
    texts = Sequences.from_list(bytes(rng.integers(65, 69, 30 + 9 * index).astype(np.uint8)) for index in range(6))
    pairs = np.array([(q, t) for q in range(6) for t in range(6)])
    for penalties in (Penalties(), Penalties(0, 4, 6, 2, 24, 1)):
        alone = align_batch(texts, texts, pairs, penalties)
        with monkeypatch.context() as patch:
            patch.setattr("haplowave.distance.affine_run.lanes_of", lambda device: 64)
            shared = align_batch(texts, texts, pairs, penalties)
        assert alone.scores.tolist() == shared.scores.tolist()
        assert alone.cigars == shared.cigars


def test_empty_strings():
    texts = Sequences.from_list([b"", b"ACGT"])
    result = align_batch(texts, texts, np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), Penalties())
    assert result.scores.tolist() == [0, -14, -14, 0]
    assert result.cigars == ["", "4I", "4D", "4="]
    assert align_batch(texts, texts, np.zeros((0, 2), int), Penalties()).cigars == []


@pytest.mark.parametrize(
    "wrong", [{"match": 1}, {"mismatch": 0}, {"gap_extend": 0}, {"gap_open": -1}, {"gap_open2": 5}, {"gap_open2": -1, "gap_extend2": 1}]
)
def test_penalties_that_make_no_sense(wrong):
    with pytest.raises(UserError, match="penalties"):
        Penalties(**wrong)
