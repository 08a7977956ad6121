"""The log of the server, on standard error: requests that failed for a reason that only the operator can remove."""

import logging
import warnings
from contextvars import ContextVar
from typing import Any

from polygraph import errors
from polygraph.server.problems import NoDocuments, Problem, Secrets, problem_of

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="-")
"""Id of the request that is worked on: the header ``x-request-id`` of its response."""
_FOR_THE_OPERATOR = (
    errors.BudgetReached,
    errors.IndexMismatch,
    errors.IndexUnreadable,
    errors.MissingExtra,
    errors.ModelRefused,
    errors.ModelUnavailable,
    errors.StorageFailed,
)
_MOST = 500
"""Characters of a reason: an endpoint may say much."""
_log = logging.getLogger("polygraph.server")


def show_log() -> None:
    """Write warnings and errors to standard error with their time, unless the program has set up its logging."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", datefmt="%Y-%m-%dT%H:%M:%S%z")
    # A store that is out of reach again says again what it said before.
    warnings.filterwarnings("always", category=UserWarning, module="polygraph")
    warnings.showwarning = _log_warning


def _log_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Log a warning of Polygraph, and none of libraries."""
    if category.__module__.partition(".")[0] == "polygraph":
        _log.warning("%s", message)


def problem_and_log(error: Exception, secrets: Secrets) -> Problem:
    """Return what a client sees of an error, without keys of models, and log what the operator must know.

    No line holds a question or a document. Only the traceback of an unexpected error may quote one.
    """
    problem = problem_of(error)
    problem.detail = secrets.hide(problem.detail)
    if problem.status == 500 and error is not problem:
        _log.exception("request %s failed", REQUEST_ID.get(), exc_info=error)
    elif isinstance(error, _FOR_THE_OPERATOR) and not isinstance(error, NoDocuments):
        _log.warning("request %s: %d %s", REQUEST_ID.get(), problem.status, problem.detail[:_MOST])
    return problem
