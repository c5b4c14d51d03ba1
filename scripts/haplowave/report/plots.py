"""Plots as SVG text that stands inside the page: text and lines take the page's colour, so that they fit light and dark."""

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# stands for the page's text colour until `_svg` replaces it
_INK = "#123456"
PALETTE = ("#3b7dd8", "#e0782f", "#2f9e77", "#c2477f", "#8a6fd1", "#a0892c", "#4aa3b8", "#d05050")
_STYLE = {
    "figure.figsize": (5.2, 3.0),
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "haplowave",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": matplotlib.cycler(color=PALETTE),
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
}


def histogram(series: Mapping[str, Counter[int]], label: str, width: int = 1) -> str:
    """Step lines of one histogram a sample. `width`: values that share a bin."""
    with pyplot.rc_context(_STYLE):
        figure, axes = pyplot.subplots()
        for name, counts in series.items():
            bins: Counter[int] = Counter()
            for value, number in counts.items():
                bins[value // width * width] += number
            if bins:
                starts = list(range(min(bins), max(bins) + width, width))
                edges = [*starts, starts[-1] + width]
                axes.stairs([bins[start] for start in starts], edges, label=name, linewidth=1.4, fill=False)
        return _finish(figure, axes, label, "variants", len(series))


def indel_lengths(series: Mapping[str, Counter[int]]) -> str:
    """Bars by length, deletions to the left; the samples side by side."""
    with pyplot.rc_context(_STYLE):
        figure, axes = pyplot.subplots()
        width = 0.8 / max(1, len(series))
        for index, (name, counts) in enumerate(series.items()):
            lengths = sorted(counts)
            axes.bar(
                [length - 0.4 + (index + 0.5) * width for length in lengths], [counts[length] for length in lengths], width, label=name
            )
        axes.axvline(0, color=_INK, linewidth=0.6)
        return _finish(figure, axes, "length of insertion (+) or deletion (−), bp", "alleles", len(series))


def stacked(rows: Sequence[str], parts: Mapping[str, Sequence[float]], label: str) -> str:
    """Horizontal bars, one a row, made of `parts` (name -> one value a row)."""
    with pyplot.rc_context(_STYLE):
        figure, axes = pyplot.subplots(figsize=(5.2, 0.9 + 0.34 * len(rows)))
        left = [0.0] * len(rows)
        for name, values in parts.items():
            axes.barh(range(len(rows)), values, 0.66, left=left, label=name)
            left = [a + b for a, b in zip(left, values, strict=True)]
        axes.set_yticks(range(len(rows)), rows)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        return _finish(figure, axes, label, "", len(parts))


def lines(series: Mapping[str, tuple[Sequence[float], Sequence[float]]], xlabel: str, ylabel: str, downwards: bool = False) -> str:
    """Lines through points (x, y), one a name. downwards: y grows towards the bottom, as in a dot plot."""
    with pyplot.rc_context(_STYLE):
        figure, axes = pyplot.subplots()
        for name, (x, y) in series.items():
            axes.plot(x, y, label=name, linewidth=1.2)
        if downwards:
            axes.invert_yaxis()
        return _finish(figure, axes, xlabel, ylabel, len(series))


def _finish(figure: Figure, axes: Axes, xlabel: str, ylabel: str, series: int) -> str:
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if series > 1 and axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside upper center", ncols=min(series, 4), fontsize=8)
    return _svg(figure)


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    # the page's font, and a size that follows the column
    text = re.sub(r"font: ([\d.]+)px 'sans-serif'[^;\"]*", r"font-size: \1px", text)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1), count=1)
