"""What the server answers, as far as programs use it often. A server may send more members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict


class Memory(TypedDict, total=False):
    id: str
    namespace: str
    kind: str
    title: str
    content: str
    tags: list[str]
    metadata: Any
    state: str
    created_at: str
    occurred_at: str
    version: int
    handle: str
    score: float
    p: float
    superseded_by: list[str]
    contradicted_by: list[str]


class Recalled(TypedDict, total=False):
    session: str
    turn: int
    memories: list[Memory]
    answerable: bool
    nothing_relevant: bool


class Finding(TypedDict, total=False):
    message: str
    path: str
    line: int
    column: int
    code: str
    severity: str
    source: str


class Verdict(TypedDict, total=False):
    valid: bool
    score: float
    errors: list[Finding]
    feedback: str
    output: Any


class Corrected(TypedDict, total=False):
    output: Any
    changed: bool


@dataclass(frozen=True)
class Job:
    """A job. status is queued, running or completed; result is set once it has completed."""

    job_id: str
    status: str
    result: Any = None


@dataclass(frozen=True)
class Event:
    """An event of a stream. id is the position after it, for after=; "" for job.progress and run.piece."""

    id: str
    name: str
    data: Any
