"""What is said about files that are no FASTA, each in one line, and that nothing is left of their index."""

import gzip
from pathlib import Path

import pysam
import pytest

from haplowave.errors import UserError
from haplowave.io.dictionary import check_bgzipped_index
from haplowave.io.reference import index_reference, open_reference

FASTA = b">a\n" + b"ACGTACGTAC\n" * 30 + b"AC\n>b\nACG\n"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("r.fa", b"hello\nworld\n", 'unexpected "h" at line 1'),
        ("r.fa", b"", "truncated at line 1"),
        ("r.fa", FASTA.replace(b"ACGTACGTAC\n", b"ACG\n", 1), "line 3"),
        ("r.fa.gz", gzip.compress(FASTA), "please use bgzip"),
    ],
)
def test_what_is_no_fasta_is_told_with_the_reason(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        index_reference(path, tmp_path / "index")
    message = str(caught.value)
    assert message.startswith(f"{path}: cannot be indexed (")
    assert why in message
    assert message.endswith("; give a FASTA, plain or compressed with bgzip")
    assert "\n" not in message
    assert list((tmp_path / "index").iterdir()) == []


def test_the_index_may_live_in_another_folder(tmp_path: Path) -> None:
    path = tmp_path / "r.fa"
    path.write_bytes(FASTA.lower())
    index_reference(path, tmp_path / "index")
    with pytest.raises(UserError, match=r"r\.fa: has no index r\.fa\.fai; run 'samtools faidx"):
        open_reference(path)
    reference = open_reference(path, tmp_path / "index")
    assert reference.contigs == {"a": 302, "b": 3}
    assert reference.fetch("a", 298, 400) == "ACAC"


def test_the_index_of_another_bgzipped_fasta_is_noticed(tmp_path: Path) -> None:
    plain, path = tmp_path / "r.fa", tmp_path / "r.fa.gz"
    plain.write_text("".join(f">c{number} x\n" + "ACGTCATG\n" * (3000 + 977 * number) for number in range(9)))
    pysam.tabix_compress(str(plain), str(path), force=True)
    pysam.faidx(str(path))
    names = path, tmp_path / "r.fa.gz.fai", tmp_path / "r.fa.gz.gzi"
    assert check_bgzipped_index(*names) is None
    gzi = names[2].read_bytes()
    names[2].write_bytes(b"123")
    assert check_bgzipped_index(*names) == f"{path}: cannot be unpacked with its index r.fa.gz.gzi; run 'samtools faidx {path}'"
    names[2].write_bytes(gzi)
    plain.write_text(plain.read_text().replace(">c4 x", ">c4 with a longer name"))
    pysam.tabix_compress(str(plain), str(path), force=True)
    assert check_bgzipped_index(*names) == f"{names[1]}: does not fit r.fa.gz at contig c4; run 'samtools faidx {path}'"
