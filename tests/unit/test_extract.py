"""Haplotypes and read pieces of a region: assembly, qualities, overlapping mates, the tables themselves."""

import numpy as np
import pysam
import pytest
from alignment_data import random_sequence, tile, write_bam, write_reference
from test_aligned_read import parsed, record

from haplowave.calling.extract import ExtractOptions, extract_pairs
from haplowave.calling.gap_rates import measure
from haplowave.calling.pieces import cut, lower_overlaps, sample_reads
from haplowave.calling.platforms import PLATFORMS, gap_open_quals, hmm_base_quals, repeat_lengths
from haplowave.calling.scan import scan
from haplowave.options import HaplotypeOptions, ReadOptions, RegionOptions
from haplowave.sequences import Sequences
from haplowave.tables import read_table

DEFAULTS = ExtractOptions(RegionOptions(), HaplotypeOptions(), ReadOptions())


def extract(folder, contigs: dict[str, str], reads: list[dict], platform: str = "illumina", options: ExtractOptions = DEFAULTS):
    """Both steps on one sample: (haplotype rows, read rows)."""
    reference = write_reference(folder / "ref.fa", contigs)
    lengths = {name: len(sequence) for name, sequence in contigs.items()}
    write_bam(folder / "a.bam", lengths, reads)
    (folder / "samples.tsv").write_text(f"sample\treads\tplatform\ns\ta.bam\t{platform}\n")
    (folder / "all.bed").write_text("".join(f"{name}\t0\t{length}\n" for name, length in lengths.items()))
    paths = [folder / name for name in ("regions.parquet", "counts.tsv", "haplotypes.parquet", "reads.parquet")]
    scan(reference, None, folder / "samples.tsv", folder / "all.bed", paths[0], paths[1], options.regions, options.reads)
    extract_pairs(reference, None, folder / "samples.tsv", paths[0], paths[2], paths[3], options)
    return read_table(paths[2], "haplotypes").to_pylist(), read_table(paths[3], "reads").to_pylist()


def test_a_long_insertion_hidden_in_soft_clips_is_assembled(tmp_path):
    sequence = random_sequence(2000, 11)
    insert = random_sequence(40, 12)
    carrier = sequence[:1000] + insert + sequence[1000:]
    reads = tile("c", sequence, [], 150, 12)
    for begin in range(860, 1040, 6):
        text, left = carrier[begin : begin + 150], 1000 - begin
        if left >= 75:
            reads.append({"contig": "c", "start": begin, "cigar": f"{left}M{150 - left}S", "sequence": text})
        elif left + 40 <= 75:
            clipped = max(left + 40, 0)
            reads.append({"contig": "c", "start": begin - 40 + clipped, "cigar": f"{clipped}S{150 - clipped}M", "sequence": text})
    haplotypes, pieces = extract(tmp_path, {"c": sequence}, reads)
    found = {(event["pos"], event["ref"], event["alt"]) for row in haplotypes for event in row["events"]}
    assert any(len(alt) == 41 and len(ref) == 1 for _, ref, alt in found)
    spelled = {row["sequence"] for row in haplotypes}
    start, end = haplotypes[0]["start"], haplotypes[0]["end"]
    assert carrier[start : end + 40] in spelled
    assert any(piece["bases"] not in sequence for piece in pieces)


def test_haplotype_zero_is_the_reference_and_events_spell_the_others(tmp_path):
    sequence = random_sequence(1500, 13)
    other = sequence[:700] + ("A" if sequence[700] != "A" else "C") + sequence[701:710] + sequence[713:]
    reads = tile("c", sequence, [], 150, 10) + tile("c", other, [(710, 0, 3)], 150, 10)
    haplotypes, pieces = extract(tmp_path, {"c": sequence}, reads)
    assert [row["hap_id"] for row in haplotypes] == list(range(len(haplotypes)))
    reference, *others = haplotypes
    assert reference["is_reference"]
    assert reference["sequence"] == sequence[reference["start"] : reference["end"]]
    assert reference["events"] == []
    assert other[reference["start"] : reference["end"] - 3] in {row["sequence"] for row in others}
    assert all(len(piece["bases"]) == len(piece["base_quals"]) == len(piece["gap_quals"]) for piece in pieces)
    assert all(piece["bases"] in sequence or piece["bases"] in other for piece in pieces)


def test_no_reads_means_empty_tables(tmp_path):
    haplotypes, pieces = extract(tmp_path, {"c": random_sequence(500, 14), "d:1*": random_sequence(50, 15)}, [])
    assert haplotypes == []
    assert pieces == []


def test_long_reads_are_cut_to_the_region(tmp_path):
    sequence = random_sequence(6000, 16)
    other = sequence[:3000] + ("A" if sequence[3000] != "A" else "C") + sequence[3001:]
    reads = tile("c", sequence, [], 5000, 100) + tile("c", other, [], 5000, 100)
    _, pieces = extract(tmp_path, {"c": sequence}, reads, "hifi")
    padding = DEFAULTS.regions.padding
    assert {(piece["start"], piece["end"], len(piece["bases"])) for piece in pieces} == {(3000 - padding, 3001 + padding, 2 * padding + 1)}
    assert {piece["read_length"] for piece in pieces} == {5000}
    assert {piece["offset"] for piece in pieces} == {3000 - padding - start for start in range(0, 1001, 100)}


def test_mates_that_overlap_are_lowered_where_they_agree_and_zeroed_where_not():
    reference = "ACGT" * 25
    first = parsed(reference, record(reference[10:50], 10, "40M", flag=0x1 | 0x40))
    second = parsed(reference, record("T" + reference[31:70], 30, "40M", flag=0x1 | 0x80))
    pieces = [cut(read, 0, 100, keeps_clips=True) for read in (first, second)]
    lower_overlaps(pieces, 20)
    assert pieces[0].quals.tolist() == [40] * 20 + [0] + [20] * 19
    assert pieces[1].quals.tolist() == [0] + [20] * 19 + [40] * 20
    assert first.quals.tolist() == [40] * 40


def test_downsampling_keeps_fragments_together_and_ignores_order():
    reference = "ACGT" * 25
    reads = []
    for index in range(40):
        for flag in (0x41, 0x81):
            read = parsed(reference, record(reference[10:50], 10, "40M", flag=flag))
            read.name = f"f{index}"
            reads.append(read)
    kept = {(read.name, read.flag) for read in sample_reads(reads, 20)}
    assert len({name for name, _ in kept}) == 10
    assert {(read.name, read.flag) for read in sample_reads(reads[::-1], 20)} == kept


def pieces_of(*texts: str, quality: int = 30) -> tuple[Sequences, np.ndarray]:
    bases = Sequences.from_list([text.encode() for text in texts])
    return bases, np.full(len(bases.data), quality, np.uint8)


def test_base_qualities_follow_gatk():
    """Capped by the mapping quality first; then below 18 becomes 6."""
    quals = np.array([2, 17, 18, 30, 45] * 2, np.uint8)
    mapq = np.repeat(np.array([40, 17], np.uint8), 5)
    assert hmm_base_quals(quals, mapq, PLATFORMS["illumina"], ReadOptions()).tolist() == [6, 6, 18, 30, 40, 6, 6, 6, 6, 6]


@pytest.mark.parametrize(
    ("bases", "expected"),
    [("ACGT", [1, 1, 1, 1]), ("CAAAAG", [4, 4, 4, 4, 4, 1]), ("GACACACT", [3, 3, 3, 3, 3, 3, 3, 1]), ("A", [1]), ("AA", [2, 2])],
)
def test_repeat_lengths(bases, expected):
    assert repeat_lengths(pieces_of(bases)[0]).tolist() == expected
    together = repeat_lengths(pieces_of("ACAC", bases, bases, "A")[0])
    assert together.tolist() == [2, 2, 2, 2, *expected, *expected, 1]


def test_pcr_model_lowers_all_but_the_last_base():
    """GATK, CONSERVATIVE: 40 outside of repeats, the last base keeps 45."""
    run = "C" + "A" * 20 + "G"
    quals, deletions = gap_open_quals(*pieces_of("ACGTACGGT", run), PLATFORMS["illumina"], ReadOptions())
    assert quals.tolist() == deletions.tolist()
    assert quals[:9].tolist() == [40] * 8 + [45]
    assert quals[9 + 10] == int(np.floor(40 - np.exp(20 / (3 * np.pi)) + 1.5))
    none, _ = gap_open_quals(*pieces_of(run), PLATFORMS["illumina"], ReadOptions(pcr_indel_model="none"))
    assert none.tolist() == [45] * 22


@pytest.mark.parametrize("platform", ["hifi", "ont"])
def test_long_read_gaps_get_cheaper_in_longer_and_poorer_runs(platform):
    def lowest(run: int, quality: int) -> int:
        pieces = pieces_of("ACGA", "CG" + "A" * run + "GC", "AGTC", quality=quality)
        insertions, deletions = gap_open_quals(*pieces, PLATFORMS[platform], ReadOptions())
        assert deletions[4 + 3] <= insertions[4 + 3]
        return int(deletions[4 + 3])

    assert lowest(12, 40) < lowest(8, 40) < lowest(2, 40)
    assert lowest(4, 10) < lowest(4, 25) <= lowest(4, 40)


def test_gap_rates_count_what_reads_show(tmp_path):
    """One of ten reads lost a base of a run of five; the runs at a read's ends do not count."""
    sequence = random_sequence(100, 18).replace("AA", "AC") + "CAAAAAC" + random_sequence(100, 19)
    lost = sequence[:104] + sequence[105:]
    reads = [{"contig": "c", "start": 50, "cigar": "100M", "sequence": sequence[50:150]}] * 9
    reads.append({"contig": "c", "start": 50, "cigar": "54M1D46M", "sequence": lost[50:150]})
    reference = write_reference(tmp_path / "ref.fa", {"c": sequence})
    write_bam(tmp_path / "a.bam", {"c": len(sequence)}, reads)
    (tmp_path / "samples.tsv").write_text("sample\treads\tplatform\ns\ta.bam\thifi\n")
    (tmp_path / "all.bed").write_text(f"c\t0\t{len(sequence)}\n")
    truth = tmp_path / "truth.vcf"
    truth.write_text(f"##fileformat=VCFv4.3\n##contig=<ID=c,length={len(sequence)}>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
    indexed = pysam.tabix_index(str(truth), preset="vcf", force=True)
    rates = {rate.run_length: rate for rate in measure(reference, tmp_path / "samples.tsv", tmp_path / "all.bed", indexed)}
    assert (rates[5].runs, rates[5].inserted, rates[5].deleted, rates[5].lowest_quality) == (10, 0, 1, 35)
    assert rates[5].phred == pytest.approx(10.0)
    assert sum(rate.inserted + rate.deleted for rate in rates.values()) == 1
