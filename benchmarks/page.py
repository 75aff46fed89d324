"""Fill the tables of docs/performance.md from what the benchmarks found.

    python benchmarks/page.py [--check]

The prose stands in the page itself. A table stands between `<!-- table: NAME -->` and `<!-- end -->` and comes from
`benchmarks/results/NAME.json`. With `--check`, nothing is written, and the exit code tells whether the page is right.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from _measure import RESULTS, ROOT, draw

PAGE = ROOT / "docs" / "performance.md"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(page: str, results: Path) -> str:
    """Replace every table of a page."""
    return TABLE.sub(lambda found: f"{found[1]}\n{table(results / f'{found[2]}.json')}\n\n{found[3]}", page)


def table(path: Path) -> str:
    """Draw the table of a file of results, or say that there is none yet."""
    if not path.exists():
        return "*Not measured yet.*"
    return draw(json.loads(path.read_text(encoding="utf-8")))


def main() -> None:
    """Fill the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to read the tables from")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to fill")
    parser.add_argument("--check", action="store_true", help="only tell whether the page is right")
    options = parser.parse_args()
    before = options.page.read_text(encoding="utf-8")
    after = fill(before, options.results)
    if options.check:
        sys.exit(f"{options.page} is not what its results say: run benchmarks/page.py." if before != after else 0)
    options.page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
