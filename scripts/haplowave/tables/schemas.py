"""The schema of every table. All coordinates are 0-based half-open on the forward strand of the reference.

`region_id` is (index of the contig in the reference) << 32 | start of the region: it does not depend on how the
genome was cut into chunks, and sorting by it sorts by position. Rows of a table are sorted by region_id, then
read_id, then hap_id, and a region never straddles two row groups.
"""

import pyarrow as pa

FORMAT_VERSION = "1"

_TEXT = pa.dictionary(pa.int32(), pa.string())
_EVENT = pa.struct([("pos", pa.int64()), ("ref", pa.string()), ("alt", pa.string())])


def _field(name: str, kind: pa.DataType, help: str) -> pa.Field:
    return pa.field(name, kind, nullable=False, metadata={"help": help})


_REGION = _field("region_id", pa.int64(), "contig index << 32 | start")
_READ = _field("read_id", pa.int32(), "number of the read within its region, from 0")
_HAP = _field("hap_id", pa.int32(), "number of the haplotype within its region; 0 is the reference")

SCHEMAS: dict[str, pa.Schema] = {
    "regions": pa.schema(
        [
            _REGION,
            _field("contig", _TEXT, "name of the contig"),
            _field("start", pa.int64(), "first position of the region"),
            _field("end", pa.int64(), "position after the last of the region"),
            _field("padded_start", pa.int64(), "first position that reads and haplotypes of the region keep"),
            _field("padded_end", pa.int64(), "position after the last that reads and haplotypes of the region keep"),
            _field("why", pa.string(), "what made it active: comma-separated of mismatch, insertion, deletion, clip"),
        ]
    ),
    "haplotypes": pa.schema(
        [
            _REGION,
            _HAP,
            _field("start", pa.int64(), "first reference position that the haplotype spans, padding included"),
            _field("end", pa.int64(), "reference position after the last that the haplotype spans"),
            _field("sequence", pa.string(), "bases, upper case"),
            _field("is_reference", pa.bool_(), "true for hap_id 0 alone"),
            _field(
                "events",
                pa.list_(pa.field("event", _EVENT)),
                "differences from the reference in order: pos (0-based), ref, alt as VCF writes them (left-aligned, one anchor base)",
            ),
        ]
    ),
    "reads": pa.schema(
        [
            _REGION,
            _READ,
            _field("sample", _TEXT, "sample of the sheet"),
            _field("name", pa.string(), "query name; both mates of a fragment carry the same"),
            _field("flag", pa.int32(), "SAM flag"),
            _field("mapq", pa.int32(), "mapping quality"),
            _field("bases", pa.string(), "bases of the piece that lies in the padded region, upper case"),
            _field("base_quals", pa.binary(), "Phred a base, as PairHMM takes it (after caps and floors)"),
            _field("insertion_quals", pa.binary(), "Phred gap-open penalty of an insertion a base"),
            _field("deletion_quals", pa.binary(), "Phred gap-open penalty of a deletion a base"),
            _field("gap_quals", pa.binary(), "Phred gap-continuation penalty a base"),
            _field("start", pa.int64(), "first reference position of the piece"),
            _field("end", pa.int64(), "reference position after the last of the piece"),
            _field("offset", pa.int32(), "position of the piece's first base in the whole read as aligned, soft clips counted"),
            _field("read_length", pa.int32(), "length of the whole read, soft clips counted"),
        ]
    ),
    "distances": pa.schema(
        [_REGION, _READ, _HAP, _field("edit_distance", pa.int32(), "edits of the whole read inside the haplotype, haplotype ends free")]
    ),
    "likelihoods": pa.schema(
        [
            _REGION,
            _READ,
            _HAP,
            _field("edit_distance", pa.int32(), "as in distances; -1 where it was not computed"),
            _field("log10_likelihood", pa.float64(), "log10 P(read | haplotype) by PairHMM, neither capped nor normalised"),
            _field("how", _TEXT, "fp32, fp64 (computed or rescued), pruned (not computed: the value that the cap would give)"),
        ]
    ),
}
