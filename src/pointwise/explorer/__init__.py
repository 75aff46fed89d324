"""The explorer: a local web application over a folder of stored runs, comparisons and diffs.

Stored folders come in, pages go out, rendered on the server: from an overall number down to the record that explains
it. Nothing is computed here that the library does not compute; the explorer asks the library and lays out the answer.
"""

from pointwise.errors import MissingExtraError

try:
    import jinja2 as _jinja2  # noqa: F401
    import starlette as _starlette  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:  # pragma: no cover  # tested in an environment without the extra
    raise MissingExtraError("The explorer needs the extra 'explore': pip install 'pointwise[explore]'.") from error

from pointwise.explorer.application import make_application
from pointwise.explorer.judging import judging_page
from pointwise.explorer.serving import Address, serve
from pointwise.explorer.site import Site, prepare_runs

__all__ = ["Address", "Site", "judging_page", "make_application", "prepare_runs", "serve"]
