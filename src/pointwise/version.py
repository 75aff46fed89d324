"""The version of pointwise."""

__version__ = "0.1.0"
