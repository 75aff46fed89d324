"""A writer of judgements that says when each is on the disk, to be killed. `test_judgements.py` starts it."""

from __future__ import annotations

import sys
from pathlib import Path

from pointwise.diffs.judgements import make_judgement, record

if __name__ == "__main__":
    folder, judge = Path(sys.argv[1]), sys.argv[2]
    number = 0
    while True:
        number += 1
        judgement = make_judgement(number, f"a{number}", f"b{number}", "yes", judge=judge, note="x" * (number % 3000))
        record(folder, [judgement])
        sys.stdout.write(judgement.id + "\n")
        sys.stdout.flush()
