"""Local assembly of short reads: finds the events that alignments hide in soft clips and scattered mismatches.

A de Bruijn graph of the reads and the reference; paths from the first to the last reference k-mer are haplotypes
(the idea of GATK's HaplotypeCaller, Poplin et al. 2018, bioRxiv 201178), which are then aligned to the reference.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from haplowave.calling.aligned_read import AlignedRead, Event
from haplowave.calling.gapped import align_events
from haplowave.calling.pieces import cut
from haplowave.calling.regions import Region
from haplowave.options import HaplotypeOptions

_MIN_BASE_QUALITY = 10
_MIN_SIGNS = 2
_MIN_CLIP = 5
_MAX_PATHS = 12
_MAX_STEPS = 20_000
_MAX_GROWTH = 200


def assemble(
    region: Region, reference: str, start: int, reads: Sequence[AlignedRead], options: HaplotypeOptions
) -> list[tuple[Event, ...]]:
    """Event sets of the assembled haplotypes, best path first. `reference` begins at position `start`.

    Events that begin outside of the region are left out: they belong to its neighbours.
    """
    if sum(_shows_more(read, region) for read in reads) < _MIN_SIGNS:
        return []
    texts = [text for read in reads for text in _good_stretches(read, region)]
    for size in (int(size) for size in options.assembly_kmers.split(",")):
        if size >= len(reference):
            break
        words = [reference[at : at + size] for at in range(len(reference) - size + 1)]
        if len(set(words)) == len(words):
            edges = _graph(texts, reference, size, options.min_kmer_count)
            found = [align_events(reference, path, start) for path in _paths(edges, words[0], words[-1], len(reference) + _MAX_GROWTH)]
            kept = [tuple(event for event in events if region.start <= event[0] < region.end) for events in found]
            return [events for events in dict.fromkeys(kept) if events]
    return []


def _shows_more(read: AlignedRead, region: Region) -> bool:
    """Whether a read has a soft clip or an indel in the region: substitutions alone need no assembly."""
    if read.clip_left >= _MIN_CLIP and region.padded_start <= read.start < region.padded_end:
        return True
    if read.clip_right >= _MIN_CLIP and region.padded_start < read.end <= region.padded_end:
        return True
    return any(len(event[1]) != len(event[2]) and region.start <= event[0] < region.end for event in read.events)


def _good_stretches(read: AlignedRead, region: Region) -> Iterator[str]:
    piece = cut(read, region.padded_start, region.padded_end, keeps_clips=True)
    if piece is None:
        return
    good = (piece.quals >= _MIN_BASE_QUALITY) & (piece.bases != ord("N"))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], good.view(np.int8), [0]])))
    text = piece.bases.tobytes().decode("ascii")
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield text[begin:end]


def _graph(texts: Sequence[str], reference: str, size: int, min_count: int) -> dict[str, list[tuple[str, float]]]:
    """k-mer -> (next k-mer, cost) with cost = -ln of the share of reads that go that way; rare edges off the reference pruned."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({text[at : at + size + 1] for at in range(len(text) - size)})
    backbone = {reference[at : at + size + 1] for at in range(len(reference) - size)}
    kept = {word: count for word, count in counts.items() if count >= min_count}
    for word in backbone:
        kept[word] = counts[word] + 1
    leaving: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for word, count in sorted(kept.items()):
        leaving[word[:-1]].append((word[1:], count))
    result = {}
    for node, edges in leaving.items():
        total = sum(count for _, count in edges)
        result[node] = [(target, -float(np.log(count / total))) for target, count in edges]
    return result


def _paths(edges: dict[str, list[tuple[str, float]]], source: str, sink: str, longest: int) -> Iterator[str]:
    """Sequences of the cheapest paths from `source` to `sink`, cheapest first."""
    heap: list[tuple[float, str, str]] = [(0.0, source, source)]
    found = steps = 0
    while heap and found < _MAX_PATHS and steps < _MAX_STEPS:
        cost, spelled, node = heapq.heappop(heap)
        while True:
            steps += 1
            if node == sink:
                found += 1
                yield spelled
                break
            targets = edges.get(node, [])
            if len(targets) != 1 or len(spelled) >= longest:
                if len(spelled) < longest:
                    for target, more in targets:
                        heapq.heappush(heap, (cost + more, spelled + target[-1], target))
                break
            node = targets[0][0]
            spelled += node[-1]
