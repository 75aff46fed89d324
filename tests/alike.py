"""Equal up to the order in which threads add: what may differ between two computations of the same numbers."""

from __future__ import annotations

from typing import Any

import pytest


def alike(found: Any) -> list[dict[str, Any]]:
    """Return the rows of a result, or rows themselves, to compare others with: floats nearly, all else exactly."""
    rows = found.to_dicts() if hasattr(found, "to_dicts") else found
    return [{name: _near(value) for name, value in row.items()} for row in rows]


def _near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
