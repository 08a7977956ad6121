"""Errors as `application/problem+json` (RFC 9457): the sentence and the fix of the command line, and no traceback."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.exceptions import HTTPException

from polygraph import errors
from polygraph.text.prose import advice

MEDIA_TYPE = "application/problem+json"


class NoDocuments(errors.IndexUnreadable):
    """An index that is made with its first document."""


_STATUS: tuple[tuple[type[errors.PolygraphError], int], ...] = (
    (errors.UnknownMethod, 400),
    (errors.MissingLayer, 409),
    (errors.IndexMismatch, 409),
    (errors.IndexLocked, 409),
    (NoDocuments, 409),
    (errors.IndexUnreadable, 503),
    (errors.MissingExtra, 501),
    (errors.StorageFailed, 507),
    (errors.ModelRefused, 502),
    (errors.UnusableReply, 502),
    (errors.NothingExtracted, 422),
    (errors.ModelUnavailable, 503),
    (errors.BudgetReached, 402),
    (errors.RequestsWaiting, 503),
    (errors.UserError, 400),
)
"""HTTP status of each error; the first that fits."""
_INVALID = {
    "extra_forbidden": "there is no such field",
    "missing": "this field is required",
    "model_attributes_type": "it must be a JSON object",
    "model_type": "it must be a JSON object",
}
"""Our messages for some errors of pydantic, by type, instead of advice."""
_MIN_KEY = 6
"""Fewest characters of a key; local endpoints take any."""
_AGAIN_S = 5
"""Seconds after which a request that met a busy server or model may be sent again."""


class Problem(HTTPException):
    """A request that cannot be answered.

    It is an exception of HTTP so that the framework passes it on unchanged, also from the reading of a body.

    Args:
        status: of HTTP.
        kind: short name for programs, such as ``missing-layer``.
        detail: one sentence for people, with the fix.
        headers: further headers of the response.
    """

    def __init__(self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail)
        self.status, self.kind = status, kind
        self.headers: dict[str, str] = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """Return the body."""
        return {
            "type": f"urn:polygraph:{self.kind}",
            "title": self.kind.replace("-", " ").capitalize(),
            "status": self.status,
            "detail": self.detail,
        }

    def body(self, path: str) -> dict[str, Any]:
        """Return the body for a path: clients of the OpenAI-compatible endpoints expect a form of their own."""
        return as_openai_error(self.as_dict()) if path.startswith("/v1/") else self.as_dict()


def as_openai_error(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem as a client of OpenAI expects it."""
    kind = problem["type"].rpartition(":")[2]
    return {"error": {"message": problem["detail"], "type": kind, "param": None, "code": kind}}


class Secrets:
    """Keys of models, which no response may contain: an endpoint's error may quote one.

    Args:
        keys: empty and very short ones are ignored.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted({key for key in keys if len(key) >= _MIN_KEY})

    def hide(self, text: str) -> str:
        """Return the text without keys."""
        for key in self._keys:
            text = text.replace(key, "***")
        return text


def problem_of(error: BaseException) -> Problem:
    """Convert an error. For an unexpected one only the type is given, because its text may quote anything."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, errors.PolygraphError):
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        again = {"retry-after": str(_AGAIN_S)} if status == 503 else {}
        return Problem(status, _kind(type(error).__name__), str(error), again)
    return Problem(
        500,
        "unexpected-error",
        f"the server failed with {type(error).__name__}. Its log has the details; please report them",
    )


def no_valid_token() -> Problem:
    """Return the problem of a request without a token that is accepted."""
    return Problem(
        401,
        "no-valid-token",
        "send the header Authorization: Bearer TOKEN with a token of your own, or the one printed when the server "
        "started",
        {"www-authenticate": "Bearer"},
    )


def refused(found: Mapping[str, Any]) -> str:
    """Return which field of a request is not as it should be, and what is allowed.

    Args:
        found: one of the errors that pydantic lists.
    """
    place = ".".join(str(part) for part in found["loc"] if part != "body")[:100] or "the body"
    known = _INVALID.get(found["type"])
    return f"{place}: {known}" if known else f"{place} is not valid. {advice(found)}"


def invalid(found: Mapping[str, Any]) -> Problem:
    """Return the problem of a body or parameter that is not as it should be.

    Args:
        found: the first error that pydantic lists.
    """
    if found["type"] == "json_invalid":
        said = f"the body is not JSON: {found['ctx']['error']} at character {found['loc'][-1]}"
    else:
        said = refused(found)
    return Problem(422, "bad-request", f"{said}. See: GET /openapi.json")


def unknown(what: str, name: str, where: str) -> Problem:
    """Return the problem of a name that nothing has.

    Args:
        what: kind of thing, such as ``index``.
        name: as given.
        where: request that lists the names that exist.
    """
    return Problem(404, f"unknown-{what}", f"there is no {what} {name[:200]!r}. List them with: GET {where}")


def _kind(name: str) -> str:
    """Return the name of a class as words.

    >>> _kind("MissingLayer")
    'missing-layer'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
