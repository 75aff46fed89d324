"""Fixtures that all tests share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from pointwise.engines import Engine, start_engine

settings.register_profile(
    "pointwise",
    deadline=None,  # a busy machine is not a bug
    max_examples=8,  # an evaluation of all metrics takes a good part of a second; tests without an engine ask for more
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("pointwise")


@pytest.fixture
def engine() -> Engine:
    """Return an engine of one's own; tests of the laws run on each kind."""
    return start_engine()
