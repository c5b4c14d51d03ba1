"""Plots of the suite `pairhmm`: rate over length (Figs. 6-9 of Graca & Ilic 2026) and over columns a lane (Fig. 5)."""

from pathlib import Path

from haplowave.benchmark.records import Record


def draw(records: list[Record], folder: Path) -> None:
    """Write pairhmm_lengths.png and pairhmm_columns.png, as far as there are records for them."""
    import matplotlib as mpl

    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    lengths = [record for record in records if record["experiment"] == "lengths"]
    columns = [
        record | {"columns": int(str(record["experiment"]).split()[0])} for record in records if "a lane" in str(record["experiment"])
    ]
    if lengths:
        _lines(lengths, "read_length", "length of read and haplotype", folder / "pairhmm_lengths.png")
    if columns:
        _lines(columns, "columns", "columns a lane", folder / "pairhmm_columns.png")


def _lines(records: list[Record], key: str, label: str, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    series = sorted({(str(record["kernel"]), str(record["precision"])) for record in records})
    for kernel, precision in series:
        own = [record for record in records if (record["kernel"], record["precision"]) == (kernel, precision)]
        axes.plot([record[key] for record in own], [record["gcups"] for record in own], marker="o", label=f"{kernel}, {precision}")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(label)
    axes.set_ylabel("GCUPS (kernel)")
    axes.set_title(str(records[0]["device"]))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=130)
    plt.close(figure)
