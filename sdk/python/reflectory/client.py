"""Requests to a Reflectory server.

A request that changes something carries an Idempotency-Key, so that it can be sent again after a broken
connection and is still done once. Redirects aren't followed: they would carry the token to another host.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Iterator, Mapping, Sequence

from .error import ReflectoryError, problem
from .results import Corrected, Event, Job, Memory, Recalled, Verdict

MAX_ANSWER = 64 << 20  # bytes of an answer
MAX_LINE = 1 << 20  # bytes of a line of a stream
MAX_WAIT = 60  # seconds that one request waits for a job: the server's limit
SILENCE = 45.0  # seconds without a byte after which a stream is broken: the server sends one every 15
AGAIN = frozenset({429, 502, 503})  # statuses of answers that another attempt may improve


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Client:
    """A server and a token. timeout is for one request, in seconds; retries is how often a request is sent
    again. A client may be used by several threads."""

    def __init__(self, url: str, token: str = "", *, timeout: float = 30.0, retries: int = 3) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ReflectoryError("url_invalid", "the url isn't http(s)://HOST without a user, query or fragment")
        if any(not "!" <= c <= "~" for c in token):
            raise ReflectoryError("token_invalid", "the token has characters that no token has", hint="read it without the line's end")
        self._url, self._token = url.rstrip("/"), token
        self._timeout, self._retries = timeout, retries
        self._opener = urllib.request.build_opener(_NoRedirect)

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def observe(self, content: str, *, namespace: str = "", tags: Sequence[str] = (), supersedes: Sequence[str] = (),
                occurred_at: str = "", metadata: Mapping[str, Any] | None = None, key: str = "", **more: Any) -> Memory:
        """Store a memory. key is the Idempotency-Key; without one, each call stores one."""
        body = _given(content=content, namespace=namespace, tags=list(tags), supersedes=list(supersedes), occurred_at=occurred_at, metadata=metadata)
        result: Memory = self.request("POST", "/v1/memories", {**body, **more}, key=key)
        return result

    def recall(self, query: str, *, namespace: str = "", session: str = "", turn: int | None = None, limit: int | None = None, **more: Any) -> Recalled:
        """Find memories. With a session, the recall begins or belongs to a turn, which feedback reports on."""
        body = _given(query=query, namespace=namespace, session=session, turn=turn, limit=limit)
        result: Recalled = self.request("POST", "/v1/recall", {**body, **more})
        return result

    def feedback(self, session: str, turn: int, outcome: str, *, used: Sequence[str] = (), reply: Any = None, key: str = "", **more: Any) -> dict[str, Any]:
        """Report how a turn went: outcome is success, failure or partial."""
        body = _given(session=session, turn=turn, outcome=outcome, used=list(used), reply=reply)
        result: dict[str, Any] = self.request("POST", "/v1/feedback", {**body, **more}, key=key)
        return result

    def evaluate(self, evaluator: str, output: Any, *, namespace: str = "", wait: float = 300, **more: Any) -> Verdict:
        """Judge an output. evaluator is the YAML below evaluator: in a workflow; wait is in seconds."""
        result: Verdict = self._done(self._start("/v1/evaluate", {**_given(evaluator=evaluator, namespace=namespace), "output": output, **more}, wait))
        return result

    def correct(self, corrector: str, output: Any, errors: Any = None, *, namespace: str = "", wait: float = 300, **more: Any) -> Corrected:
        """Repair an output. errors is a verdict, its errors, or texts; wait is in seconds."""
        body = {**_given(corrector=corrector, namespace=namespace, errors=errors), "output": output, **more}
        result: Corrected = self._done(self._start("/v1/correct", body, wait))
        return result

    def run(self, workflow: str, input: Any = None, *, wait: float = 0, namespace: str = "", key: str = "", **more: Any) -> Job:
        """Run a workflow, given as YAML, and wait up to wait seconds for its result."""
        return self._start("/v1/runs", {**_given(workflow=workflow, input=input, namespace=namespace), **more}, wait, key)

    def job(self, job_id: str, *, wait: float = 0) -> Job:
        """A job, once it has ended or wait seconds have passed. A failed or cancelled job is an error."""
        until = time.monotonic() + wait
        while True:
            left = max(0, min(MAX_WAIT, int(until - time.monotonic() + 0.999)))
            found = self.request("GET", f"/v1/jobs/{_quoted(job_id)}/result", {"wait": left} if left else None, timeout=self._timeout + left)
            if found["status"] in ("failed", "cancelled"):
                raise problem(200, {**_given(code=found.get("reason") or found["status"], message=found.get("message")), **(found.get("failure") or {})})
            if found["status"] == "completed" or time.monotonic() >= until:
                return Job(job_id, found["status"], found.get("result"))

    def events(self, *namespaces: str, after: str = "") -> Iterator[Event]:
        """Follow the events of namespaces: from now on, or after the id of an earlier event. It doesn't end by itself."""
        return self._follow("/v1/events?" + urllib.parse.urlencode([("namespace", n) for n in namespaces]), after)

    def run_events(self, run_id: str, *, after: str = "") -> Iterator[Event]:
        """Follow the events of a run from its first one until it ends."""
        return self._follow(f"/v1/runs/{_quoted(run_id)}/events", after)

    def job_events(self, job_id: str, *, after: str = "") -> Iterator[Event]:
        """Follow the events of a job from its first one until it ends."""
        return self._follow(f"/v1/jobs/{_quoted(job_id)}/events", after)

    def request(self, method: str, path: str, fields: Mapping[str, Any] | None = None, *, key: str = "",
                headers: Mapping[str, str] | None = None, timeout: float = 0) -> Any:
        """Call an operation of docs/api.md: fields are the body, or for GET and DELETE the query."""
        return self._send(method, path, fields, {"Idempotency-Key": key or str(uuid.uuid4()), **(headers or {})}, timeout or self._timeout)[0]

    def _start(self, path: str, body: Mapping[str, Any], wait: float, key: str = "") -> Job:
        first, begun = min(MAX_WAIT, int(wait + 0.999)), time.monotonic()
        headers = {"Idempotency-Key": key or str(uuid.uuid4()), **({"Prefer": f"wait={first}"} if first > 0 else {})}
        answer, status, location = self._send("POST", path, body, headers, self._timeout + first)
        if status != 202:
            return Job(location.rpartition("/")[2], "completed", answer)
        left = wait - (time.monotonic() - begun)
        return self.job(answer["job_id"], wait=left) if left > 0 else Job(answer["job_id"], answer["status"])

    @staticmethod
    def _done(job: Job) -> Any:
        if job.status != "completed":
            raise ReflectoryError("wait_exceeded", f"the job {job.job_id} is {job.status}", hint="wait for it with job()", details={"job_id": job.job_id})
        return job.result

    def _open(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout: float) -> Any:
        sent = {"User-Agent": "reflectory-python/0.1.0", **headers}
        if self._token:
            sent["Authorization"] = "Bearer " + self._token
        if body is not None:
            sent["Content-Type"] = "application/json"
        request = urllib.request.Request(self._url + path, body, sent, method=method)
        try:
            return self._opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as refused:
            return refused

    def _send(self, method: str, path: str, fields: Mapping[str, Any] | None, headers: Mapping[str, str], timeout: float) -> tuple[Any, int, str]:
        body = None
        if method in ("GET", "DELETE"):
            query = [(k, json.dumps(v) if isinstance(v, bool) else v) for k, v in (fields or {}).items()]
            path += "?" + urllib.parse.urlencode(query, doseq=True) if query else ""
        else:
            body = json.dumps(fields or {}, allow_nan=False).encode()
        for attempt in range(self._retries + 1):
            failed: ReflectoryError
            try:
                with self._open(method, path, body, headers, timeout) as answer:
                    data, pause = answer.read(MAX_ANSWER + 1), answer.headers.get("Retry-After", "")
                    if answer.status < 300:
                        return _decoded(data), answer.status, answer.headers.get("Location", "")
                    failed = problem(answer.status, _decoded(data, None))
            except (OSError, http.client.HTTPException) as lost:
                failed, pause = _lost(lost), ""
            if attempt == self._retries or failed.status and failed.status not in AGAIN:
                raise failed
            _pause(attempt, pause)
        raise AssertionError

    def _follow(self, path: str, after: str) -> Iterator[Event]:
        attempt = 0
        while True:
            came = False
            try:
                with self._open("GET", path, None, {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}, SILENCE) as stream:
                    if stream.status == 204:
                        return
                    if stream.status != 200:
                        failed = problem(stream.status, _decoded(stream.read(MAX_LINE), None))
                        if failed.status not in AGAIN or attempt >= self._retries:
                            raise failed
                    else:
                        for event in _events(stream, after):
                            came, attempt, after = came or event.name not in ("bye", ""), 0, event.id or after
                            if event.name == "failed":
                                raise ReflectoryError(str(event.data.get("code")), "the server couldn't read the events")
                            if event.name == "lagged":
                                after = event.data["last_id"]
                            elif event.name not in ("bye", ""):
                                yield event
            except (OSError, http.client.HTTPException) as lost:
                if attempt >= self._retries:
                    raise _lost(lost) from None
            if not came:
                _pause(attempt, "1")
                attempt += 1


def _events(stream: Any, after: str) -> Iterator[Event]:
    """The events of a connection. One without a name only has the position where the stream begins."""
    name, ident, data = "", "", []
    while line := stream.readline(MAX_LINE):
        if not line.endswith(b"\n"):
            raise http.client.IncompleteRead(line)
        field, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "id":
            ident = value
        elif field == "data":
            data.append(value)
        elif not field and not line.strip():
            if data or ident:
                yield Event(ident, name, json.loads("\n".join(data)) if data else None)
            name, ident, data = "", "", []


def _given(**fields: Any) -> dict[str, Any]:
    return {k: v for k, v in fields.items() if v is not None and v != "" and v != []}


def _quoted(ident: str) -> str:
    return urllib.parse.quote(ident, safe="")


def _decoded(data: bytes, *otherwise: Any) -> Any:
    """The JSON of an answer; otherwise, if given, for one that isn't JSON."""
    if len(data) > MAX_ANSWER:
        raise ReflectoryError("answer_too_large", f"the answer has more than {MAX_ANSWER} bytes")
    try:
        return json.loads(data)
    except ValueError:
        if otherwise:
            return otherwise[0]
        raise ReflectoryError("answer_invalid", "the answer isn't JSON") from None


def _lost(error: BaseException) -> ReflectoryError:
    reason = getattr(error, "reason", error)
    timed = isinstance(reason, TimeoutError)
    return ReflectoryError("timeout" if timed else "connection_failed", "the server didn't answer in time" if timed else f"no connection to the server: {type(reason).__name__}")


def _pause(attempt: int, named: str) -> None:
    """Wait before another attempt: the seconds that the server named (limit 30), or a random time up to 0.2 s, doubled each time."""
    time.sleep(min(30.0, float(named)) if named.isdigit() else random.uniform(0, 0.2 * 2**attempt))
