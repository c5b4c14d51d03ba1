"""Active regions: what makes one, where it ends, and that no cut of the genome changes it."""

import contextlib

import numpy as np
import pytest
from alignment_data import random_sequence, tile, write_bam, write_reference

from haplowave.calling.aligned_read import BaseRules
from haplowave.calling.regions import Region, SampleSource, Scanner, find_regions
from haplowave.errors import UserError
from haplowave.io.alignments import open_alignments
from haplowave.io.reference import open_reference
from haplowave.options import RegionOptions

RULES = BaseRules(min_base_quality=10, default_base_quality=0, trim_quality=10)
LENGTH = 12_000


def substitute(sequence: str, position: int) -> str:
    return sequence[:position] + {"A": "C", "C": "A", "G": "T", "T": "G"}[sequence[position]] + sequence[position + 1 :]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A contig with variants at known places, one haplotype of two carrying them."""
    folder = tmp_path_factory.mktemp("regions")
    first = random_sequence(LENGTH, 1)
    first = first[:5000] + "CAAAAAAAAG" + first[5010:]
    second = first
    for position in (1000, 1020, 2500, 2999, 3001, 7000, 7030, 7060, 7090, 7120, 9998):
        second = substitute(second, position)
    second = second[:5003] + second[5005:]
    reference = write_reference(folder / "ref.fa", {"c": first})
    reads = tile("c", first, [], 150, 10) + tile("c", second, [(5003, 0, 2)], 150, 10)
    bam = write_bam(folder / "a.bam", {"c": LENGTH}, reads)
    return open_reference(reference), SampleSource("s", 2, "illumina", [(str(bam), open_alignments(bam, reference))])


def regions_of(world, start: int = 0, end: int = LENGTH, options: RegionOptions | None = None) -> list[Region]:
    reference, sample = world
    return list(find_regions(Scanner([sample], reference, options or RegionOptions(), RULES), "c", start, end))


def test_regions_hold_the_variants_and_whole_repeats(world):
    found = [(region.start, region.end, region.why) for region in regions_of(world)]
    assert found == [
        (1000, 1021, "mismatch"),
        (2500, 2501, "mismatch"),
        (2999, 3002, "mismatch"),
        (5000, 5010, "deletion"),
        (7000, 7121, "mismatch"),
        (9998, 9999, "mismatch"),
    ]


def test_padding_stops_at_the_neighbour(world):
    options = RegionOptions(merge_distance=10)
    regions = {region.start: region for region in regions_of(world, options=options)}
    assert (regions[1000].padded_start, regions[1000].padded_end) == (940, 1020)
    assert (regions[1020].padded_start, regions[1020].padded_end) == (1001, 1081)


@pytest.mark.parametrize("chunk", [500, 997, 1000, 3000, 5003, 7061])
def test_regions_do_not_depend_on_the_cut(world, chunk):
    whole = regions_of(world)
    pieces = [region for start in range(0, LENGTH, chunk) for region in regions_of(world, start, min(LENGTH, start + chunk))]
    assert pieces == whole


def test_a_cluster_longer_than_the_margin_is_followed(tmp_path):
    first = random_sequence(9000, 3)
    second = first
    for position in range(1000, 7000, 25):
        second = substitute(second, position)
    reference = write_reference(tmp_path / "ref.fa", {"c": first})
    bam = write_bam(tmp_path / "a.bam", {"c": 9000}, tile("c", second, [], 100, 10))
    world = open_reference(reference), SampleSource("s", 2, "illumina", [(str(bam), open_alignments(bam, reference))])
    whole = regions_of(world, 0, 9000)
    assert max(region.end - region.start for region in whole) <= RegionOptions().max_region_length
    pieces = [region for start in range(0, 9000, 700) for region in regions_of(world, start, min(9000, start + 700))]
    assert pieces == whole


def test_clips_make_a_region(tmp_path):
    sequence = random_sequence(2000, 4)
    insert = random_sequence(60, 5)
    reads = [
        {"contig": "c", "start": begin, "cigar": f"{1000 - begin}M{begin - 880}S", "sequence": (sequence[begin:1000] + insert)[:120]}
        for begin in range(900, 940, 2)
    ]
    reads += tile("c", sequence, [], 150, 10)
    reference = write_reference(tmp_path / "ref.fa", {"c": sequence})
    bam = write_bam(tmp_path / "a.bam", {"c": 2000}, reads)
    world = open_reference(reference), SampleSource("s", 2, "illumina", [(str(bam), open_alignments(bam, reference))])
    assert [(region.start, region.end, region.why) for region in regions_of(world, 0, 2000)] == [(980, 1020, "clip")]


def test_filtered_reads_do_not_count_and_are_counted_once_by_reason(tmp_path):
    sequence = random_sequence(3000, 6)
    other = substitute(sequence, 1500)
    reads = []
    for index, flag in enumerate([0x4, 0x100, 0x200, 0x400]):
        reads += [read | {"flag": flag, "name": f"x{index}"} for read in tile("c", other, [], 100, 400)]
    reads += [read | {"mapq": 19} for read in tile("c", other, [], 100, 20)]
    reads += tile("c", sequence, [], 100, 20)
    reference = write_reference(tmp_path / "ref.fa", {"c": sequence})
    bam = write_bam(tmp_path / "a.bam", {"c": 3000}, reads)
    sample = SampleSource("s", 2, "illumina", [(str(bam), open_alignments(bam, reference))])
    scanner = Scanner([sample], open_reference(reference), RegionOptions(), RULES)
    found = []
    for start in range(0, 3000, 1000):
        found += find_regions(scanner, "c", start, start + 1000)
    assert found == []
    short = len(tile("c", sequence, [], 100, 400))
    dense = len(tile("c", sequence, [], 100, 20))
    expected = dict.fromkeys(["unmapped", "secondary", "qc_fail", "duplicate"], short) | {"low_mapping_quality": dense, "passed": dense}
    assert scanner.counts["s"] == expected


@pytest.mark.parametrize("change", [{"cigar": "100S"}, {"cigar": "100I"}, {"cigar": "3D100S"}, {"start": 2950}])
def test_malformed_records_are_left_out_and_counted(tmp_path, change):
    """No base aligned, or past the end of the contig."""
    sequence = random_sequence(3000, 9)
    good = tile("c", sequence, [], 100, 20)
    reference = write_reference(tmp_path / "ref.fa", {"c": sequence})
    bam = write_bam(tmp_path / "a.bam", {"c": 3000}, [*good, good[9] | {"name": "bad"} | change])
    sample = SampleSource("s", 2, "illumina", [(str(bam), open_alignments(bam, reference))])
    scanner = Scanner([sample], open_reference(reference), RegionOptions(), RULES)
    assert list(find_regions(scanner, "c", 0, 3000)) == []
    assert scanner.counts["s"] == {"passed": len(good), "malformed": 1}


def test_a_truncated_or_damaged_bam_is_one_clear_error(tmp_path):
    sequence = random_sequence(60_000, 7)
    rng = np.random.default_rng(8)
    reads = [read | {"quals": rng.integers(2, 41, 100).tolist()} for read in tile("c", sequence, [], 100, 20)]
    reference = write_reference(tmp_path / "ref.fa", {"c": sequence})
    bam = write_bam(tmp_path / "a.bam", {"c": 60_000}, reads)
    data = bam.read_bytes()
    bam.write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match=r"a\.bam: cannot be opened .*truncated"):
        open_alignments(bam, reference)
    bam.write_bytes(data[: len(data) // 2] + bytes(len(data) // 2 - 28) + data[-28:])
    world = open_reference(reference), SampleSource("s", 2, "illumina", [(str(bam), open_alignments(bam, reference))])
    with pytest.raises(UserError, match=r"a\.bam: cannot be read at c:"):
        regions_of(world, 0, 60_000)
    with contextlib.suppress(OSError):  # pysam reports the damage once more
        world[1].files[0][1].close()
