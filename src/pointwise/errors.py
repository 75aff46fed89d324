"""What can go wrong, as a tree.

PointwiseError
├── UsageError (ValueError)            a parameter has a value it cannot have
│   └── UnknownMetricError             no metric of that name
├── InputError (ValueError)            something is wrong with the data given
│   ├── SourceError                    a file or table cannot be read
│   │   └── MissingColumnError         a table lacks a column
│   ├── RepeatedItemError              a clustering lists an item twice
│   ├── MissingValueError              an item or a cluster has no id
│   ├── IdTypeError                    ids of a kind that cannot identify anything
│   ├── WeightError                    a weight that is not a positive number
│   ├── ContradictionError             answers contradict each other
│   └── NoCommonItemsError             the two clusterings share no item
├── NotFoundError (KeyError)           no such item, cluster, run
├── RunError (OSError)                 a stored run cannot be written, or what is stored cannot be trusted
├── OutputError (OSError)              a file cannot be written
├── MissingExtraError (ImportError)    an optional package is not installed
└── EngineError (RuntimeError)         the engine gave up: memory, disk, an internal error
"""

from typing import Any


class PointwiseError(Exception):
    """Base of all errors that pointwise raises on purpose.

    Examples:
        >>> import pointwise as pw
        >>> try:
        ...     pw.evaluate(ideal={"i1": 1}, actual={"i2": 1})
        ... except pw.PointwiseError as error:
        ...     print(type(error).__name__)
        NoCommonItemsError
    """


class UsageError(PointwiseError, ValueError):
    """A parameter has a value it cannot have."""


class UnknownMetricError(UsageError):
    """No metric has that name."""


class InputError(PointwiseError, ValueError):
    """Something is wrong with the data given."""


class SourceError(InputError):
    """A file or table cannot be read."""


class MissingColumnError(SourceError):
    """A table lacks a column."""


class RepeatedItemError(InputError):
    """A clustering lists an item more than once."""


class MissingValueError(InputError):
    """An item or a cluster has no id."""


class IdTypeError(InputError):
    """Ids are of a kind that cannot identify anything reliably."""


class WeightError(InputError):
    """A weight is not a positive finite number."""


class ContradictionError(InputError):
    """Answers contradict each other.

    Args:
        message: What is wrong and what to do.
        contradictions: All of them, as `Contradiction` objects.
    """

    def __init__(self, message: str, contradictions: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.contradictions = contradictions


class NoCommonItemsError(InputError):
    """The two clusterings have no item in common."""


class NotFoundError(PointwiseError, KeyError):
    """There is no such item, cluster or run."""

    def __str__(self) -> str:
        """Show the message itself, not its representation as `KeyError` does."""
        return str(self.args[0]) if self.args else ""


class RunError(PointwiseError, OSError):
    """A run cannot be stored, or what is stored is incomplete or was changed.

    Examples:
        >>> import pathlib, tempfile
        >>> import pointwise as pw
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pathlib.Path(folder, "run.json").write_text("{}")
        ...     try:
        ...         pw.load(folder)
        ...     except pw.RunError:
        ...         print("not a run that can be trusted")
        2
        not a run that can be trusted
    """


class OutputError(PointwiseError, OSError):
    """A file cannot be written."""


class EngineError(PointwiseError, RuntimeError):
    """The engine gave up."""


class MissingExtraError(PointwiseError, ImportError):
    """An optional package is not installed."""
