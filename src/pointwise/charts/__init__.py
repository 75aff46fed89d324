"""Charts, made with Altair: each a function of an evaluation, a comparison or a part of them.

They are readable on light and dark backgrounds, show exact numbers on hover, and hold a bounded number of marks
whatever the size of the data. `chart.save("chart.png")`, `.svg` and `.html` need no network.
"""

from pointwise.errors import MissingExtraError

try:
    import altair as alt  # noqa: F401
except ImportError as error:  # pragma: no cover  # tested in an environment without the extra
    raise MissingExtraError("Charts and reports need the extra 'report': pip install 'pointwise[report]'.") from error

from pointwise.charts.circles import venn
from pointwise.charts.flows import flow
from pointwise.charts.plots import ComparisonPlots, EvaluationPlots
from pointwise.charts.quality import changes, clusters, coverage, distribution, dots, mistakes, slices
from pointwise.charts.sweeps import thresholds
from pointwise.charts.variants import deltas, distance_map, distances, history, movers

__all__ = [
    "ComparisonPlots",
    "EvaluationPlots",
    "changes",
    "clusters",
    "coverage",
    "deltas",
    "distance_map",
    "distances",
    "distribution",
    "dots",
    "flow",
    "history",
    "mistakes",
    "movers",
    "slices",
    "thresholds",
    "venn",
]
