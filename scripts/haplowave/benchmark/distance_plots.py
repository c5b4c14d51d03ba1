"""Plots of the suite `distance`: the ladder (Fig. 12 of Castells-Rufas 2023) and rate over similarity (Fig. 13)."""

from pathlib import Path

from haplowave.benchmark.records import Record


def draw(records: list[Record], folder: Path) -> None:
    """Write distance_ladder.png and distance_similarity.png, as far as there are records for them."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    rungs = [record for record in records if record["part"] == "ladder"]
    if rungs:
        figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
        bars = axes.bar([str(record["strategy"]) for record in rungs], [float(record["gcups"]) for record in rungs], color="#33658a")
        axes.bar_label(bars, fmt="%.3g", fontsize=8)
        axes.set_yscale("log")
        axes.set_ylabel("GCUPS (product of lengths over time)")
        axes.set_title(f"{rungs[0]['query_length']:,} x {rungs[0]['target_length']:,}, distance {rungs[0]['distance']:,}")
        axes.tick_params(axis="x", rotation=40)
        figure.savefig(folder / "distance_ladder.png", dpi=130)
        plt.close(figure)
    points = [record for record in records if record["part"] == "literature"]
    if points:
        figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
        for label, rate, marker in (
            ("this run", lambda record: float(record["gcups"]), "o"),
            (
                "published, RTX 3090",
                lambda record: record["query_length"] * record["target_length"] / record["published_seconds"] / 1e9,
                "x",
            ),
        ):
            axes.scatter(
                [100 * float(record["similarity"]) for record in points], [rate(record) for record in points], marker=marker, label=label
            )
        axes.set_yscale("log")
        axes.set_xlabel("similarity, %")
        axes.set_ylabel("GCUPS")
        axes.legend()
        figure.savefig(folder / "distance_similarity.png", dpi=130)
        plt.close(figure)
