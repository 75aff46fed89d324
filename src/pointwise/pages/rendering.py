"""Rendering: templates that share macros and a style, and escape every value."""

from __future__ import annotations

import jinja2
from markupsafe import Markup

from pointwise.pages.grids import define

_SHARED = jinja2.PackageLoader("pointwise.pages", "templates")


def make_environment(package: str) -> jinja2.Environment:
    """Make the environment of the templates of a package, which may use those that are shared."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package, "templates"), _SHARED]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["define"] = define
    return environment


def read_asset(environment: jinja2.Environment, name: str) -> Markup:
    """Read a style or a script, which is sent unchanged."""
    assert environment.loader is not None  # noqa: S101  # `make_environment` gave it one
    text, _, _ = environment.loader.get_source(environment, name)
    return Markup(text)  # noqa: S704  # a file of this package
