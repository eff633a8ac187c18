"""The one error of the client."""

from __future__ import annotations

from typing import Any, Mapping, TypedDict


class Fault(TypedDict):
    """One thing that is wrong with a request. pointer is a JSON pointer into the request."""

    pointer: str
    detail: str
    code: str


class ReflectoryError(Exception):
    """Why something wasn't done. Callers branch on code.

    status is the HTTP status; 0 if the server gave no answer. hint is what to do, errors are all faults of
    the request, details are facts for programs. No part contains the token.
    """

    def __init__(self, code: str, message: str, *, status: int = 0, hint: str = "", errors: list[Fault] | None = None,
                 details: Mapping[str, Any] | None = None, trace_id: str = "") -> None:
        super().__init__(f"{code}: {message}" + (f" ({hint})" if hint else ""))
        self.code, self.message, self.status, self.hint = code, message, status, hint
        self.errors: list[Fault] = errors or []
        self.details: Mapping[str, Any] = details or {}
        self.trace_id = trace_id


def problem(status: int, body: Any) -> ReflectoryError:
    """The error of an answer that isn't a success."""
    if not isinstance(body, dict) or not isinstance(body.get("code"), str):
        return ReflectoryError("answer_invalid", f"the answer has status {status} and isn't from a Reflectory server", status=status)
    return ReflectoryError(body["code"], str(body.get("detail") or body.get("message") or ""), status=status, hint=str(body.get("hint") or ""),
                           errors=body.get("errors"), details=body.get("details"), trace_id=str(body.get("trace_id") or ""))
