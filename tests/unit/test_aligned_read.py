"""Parsing alignments: events spell the read, indels are left-aligned, ends are cut where they should be."""

import array

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haplowave.calling.aligned_read import BaseRules, parse
from haplowave.calling.haplotypes import spell
from haplowave.errors import UserError

RULES = BaseRules(min_base_quality=10, default_base_quality=0, trim_quality=5)
HEADER = pysam.AlignmentHeader.from_dict({"SQ": [{"SN": "c", "LN": 1000}]})


def record(sequence: str, start: int, cigar: str, quals: list[int] | None = None, **fields) -> pysam.AlignedSegment:
    read = pysam.AlignedSegment(HEADER)
    read.query_name = "r"
    read.reference_id = 0
    read.reference_start = start
    read.mapping_quality = 60
    read.cigarstring = cigar
    read.query_sequence = sequence
    read.query_qualities = array.array("B", quals or [40] * len(sequence))
    for name, value in fields.items():
        setattr(read, name, value)
    return read


def parsed(reference: str, read: pysam.AlignedSegment, rules: BaseRules = RULES):
    bases = np.frombuffer(reference.encode(), np.uint8)
    return parse(read, "x.bam", lambda start, end: bases[start:end], rules)


def test_substitution_insertion_deletion_are_found():
    reference = "ACGTACGTACGTACGT"
    #            ACGAACG--ACGTACGT with TT put in, then a deletion
    read = record("ACGAACGTTTACGT" + "CGT", 0, "8M2I4M1D3M")
    assert parsed(reference, read).events == [(3, "T", "A"), (6, "G", "GTT"), (11, "TA", "T")]


def test_indels_move_to_the_left_end_of_a_repeat():
    reference = "ACGTTTTTTGCA"
    deletion = record("ACGTTTTTGCA", 0, "8M1D3M")
    insertion = record("ACGTTTTTTTGCA", 0, "9M1I3M")
    assert parsed(reference, deletion).events == [(2, "GT", "G")]
    assert parsed(reference, insertion).events == [(2, "G", "GT")]


def test_an_indel_does_not_move_over_a_mismatch_of_the_same_read():
    reference = "ACGTTTTTTGCA"
    read = record("ACGTATTTGCA", 0, "8M1D3M")
    assert parsed(reference, read).events == [(4, "T", "A"), (4, "TT", "T")]


def test_low_quality_bases_and_n_do_not_speak():
    reference = "ACGTACGTAC"
    quals = [40] * 10
    quals[3] = 9
    read = record("ACGCANGTAC", 0, "10M", quals)
    assert parsed(reference, read).events == []


def test_low_quality_ends_and_soft_clips():
    reference = "ACGTACGTACGTACGT"
    quals = [2, 2] + [40] * 10 + [2, 2]
    read = parsed(reference, record("TTACGTACGTACTT", 0, "2S10M2S", quals))
    assert (read.clip_left, read.clip_right, read.usable_start, read.usable_end) == (2, 2, 2, 12)


def test_what_reaches_past_the_mate_is_adapter():
    reference = "ACGT" * 20
    forward = record(reference[10:40], 10, "30M", flag=0x1 | 0x2 | 0x20 | 0x40, next_reference_start=4, template_length=20)
    assert parsed(reference, forward).usable_end == 20
    reverse = record(reference[10:40], 10, "30M", flag=0x1 | 0x2 | 0x10 | 0x80, next_reference_start=16, template_length=-24)
    assert parsed(reference, reverse).usable_start == 6


def test_query_at_follows_gaps_and_clips():
    reference = "ACGT" * 20
    read = parsed(reference, record("TTT" + reference[10:20] + "GG" + reference[20:30] + reference[35:45], 10, "3S10M2I10M5D10M"))
    assert read.query_at(10, after=False) == 3
    assert read.query_at(8, after=False) == 1
    assert read.query_at(0, after=False) == 0
    assert read.query_at(20, after=True) == 13
    assert read.query_at(20, after=False) == 15
    assert read.query_at(32, after=False) == 25
    assert read.query_at(32, after=True) == 25
    assert read.query_at(45, after=True) == 35
    assert read.query_at(99, after=True) == 35


def test_missing_qualities_are_an_error_that_names_the_record():
    read = record("ACGT", 0, "4M")
    read.query_qualities = None
    with pytest.raises(UserError, match=r"x\.bam: record r has no base qualities"):
        parsed("ACGTACGT", read)
    assert parsed("ACGTACGT", read, BaseRules(10, 30, 5)).quals.tolist() == [30] * 4


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_events_of_a_read_spell_the_read(data):
    """Whatever the edits, the reference with the read's events is the read."""
    reference = data.draw(st.text("ACGT", min_size=30, max_size=60).map(lambda text: "G" + text + "CATG"))
    sequence, cigar, at = reference[0:3], "3M", 3
    while at < len(reference) - 10:  # a run of 6, a deletion of 3 and a base still fit
        run = data.draw(st.integers(2, 6))
        piece = reference[at : at + run]
        if data.draw(st.booleans()):
            piece = data.draw(st.sampled_from("ACGT")) + piece[1:]
        sequence, cigar, at = sequence + piece, cigar + f"{len(piece)}M", at + run
        kind = data.draw(st.sampled_from("MID"))
        if kind == "I":
            text = data.draw(st.text("ACGT", min_size=1, max_size=4))
            sequence, cigar = sequence + text, cigar + f"{len(text)}I"
        elif kind == "D":
            size = data.draw(st.integers(1, 3))
            cigar, at = cigar + f"{size}D", at + size
        sequence, cigar, at = sequence + reference[at : at + 1], cigar + "1M", at + 1
    sequence, cigar = sequence + reference[at:], cigar + f"{len(reference) - at}M"
    read = parsed(reference, record(sequence, 0, cigar))
    assert spell(reference, 0, read.events) == sequence
