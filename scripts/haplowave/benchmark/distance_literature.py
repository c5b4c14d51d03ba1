"""The pairs of Tables 2 and 3 of Castells-Rufas 2023 (Parallel Computing 116, 103019), with its times on an RTX 3090."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LiteraturePair:
    """`a`, `b`: accessions; `m`, `n`: lengths; `distance`, `seconds`: as published (of the wavefront on one GPU)."""

    experiment: str
    a: str
    b: str
    m: int
    n: int
    distance: int
    seconds: float


PAIRS = (
    LiteraturePair("Table 2, 1", "gbgss201", "gbpln104", 156_931, 79_314, 91_590, 0.12),
    LiteraturePair("Table 2, 2", "gbgss201", "gbhtg11", 156_931, 606_452, 450_982, 0.86),
    LiteraturePair("Table 2, 3", "gbhtg11", "gbgss116", 606_452, 1_517_819, 969_770, 4.81),
    LiteraturePair("Table 2, 4", "gbuna1", "gbinv32", 308_453, 3_424_429, 3_116_517, 6.04),
    LiteraturePair("Table 3, 1", "NC_000898.1", "NC_007605.1", 162_114, 171_823, 92_254, 0.13),
    LiteraturePair("Table 3, 2", "NC_003064.2", "NC_000914.1", 542_868, 536_165, 271_907, 0.79),
    LiteraturePair("Table 3, 3", "CP000051.1", "AE002160.2", 1_044_459, 1_072_950, 549_784, 2.73),
    LiteraturePair("Table 3, 4", "BA000035.2", "BX927147.1", 3_147_090, 3_282_708, 1_528_200, 20.81),
    LiteraturePair("Table 3, 5", "AE016879.1", "AE017225.1", 5_227_293, 5_228_663, 2_595, 0.34),
    LiteraturePair("Table 3, 6", "NC_005027.1", "NC_003997.3", 7_145_576, 5_227_293, 3_700_051, 103.38),
    LiteraturePair("Table 3, 7", "NT_033779.4", "NT_037436.3", 23_011_544, 24_543_557, 12_565_054, 1310.61),
    LiteraturePair("Table 3, 8", "BA000046.3", "NC_000021.7", 32_799_110, 46_944_323, 15_700_576, 2159.39),
    LiteraturePair("Table 3, chr1", "NC_000001.10", "NC_006468.3", 249_000_000, 228_000_000, 50_882_030, 32060.21),
    LiteraturePair("Table 3, chr19", "NC_000019.9", "NC_006486.3", 59_128_983, 63_644_993, 15_090_152, 2779.20),
    LiteraturePair("Table 3, chr20", "NC_000020.10", "NC_006487.3", 63_025_520, 61_729_293, 7_609_553, 889.55),
    LiteraturePair("Table 3, chr21", "NC_000021.8", "NC_006488.2", 48_129_895, 46_489_110, 4_000_655, 167.85),
    LiteraturePair("Table 3, chr22", "NC_000022.10", "NC_006489.3", 51_304_566, 49_737_984, 6_818_507, 681.13),
    LiteraturePair("Table 3, 10M", "NC_017186.1", "NC_014318.1", 10_236_779, 10_236_715, 374, 0.65),
)
