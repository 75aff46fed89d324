"""Scaling: a plane on which distances resemble given ones."""

from __future__ import annotations

from typing import Any

import numpy as np


def scale_down(distances: Any) -> tuple[Any, float]:
    """Place points on a plane so that their distances approximate given ones (classical scaling).

    Returns:
        One row of two coordinates per point, and the share of the squared spread that the plane shows.
    """
    squares = np.asarray(distances, dtype=float) ** 2
    centred = -0.5 * (squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(centred)
    order = np.argsort(values)[::-1]
    values, vectors = np.clip(values[order], 0, None), vectors[:, order]
    total = float(values.sum())
    points = np.zeros((len(squares), 2))
    size = min(2, len(squares))
    points[:, :size] = vectors[:, :size] * np.sqrt(values[:size])
    return points, float(values[:2].sum()) / total if total > 0 else 1.0
