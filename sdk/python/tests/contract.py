"""What every client does, against a server whose address, token and description are the arguments.

The server's namespace is team/here. It cuts the connection after it has stored each memory for the first
time, and after every second event of a stream.
"""

import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import reflectory  # noqa: E402
from reflectory import Client, ReflectoryError  # noqa: E402

URL, TOKEN, OPENAPI = sys.argv[1:4]
HERE = "team/here"
KEEP = "name: keep\nnodes:\n  - {name: keep, action: memory.observe, with: {content: 'The input is {{ state.input }}.'}}\n"
client = Client(URL, TOKEN)


def refused(code, call):
    try:
        call()
    except ReflectoryError as error:
        assert error.code == code, error
        assert TOKEN not in repr(error) + str(error) + repr(vars(error)), error
        return error
    raise AssertionError(f"{code} didn't come")


# A memory is stored once, although the connection breaks after it is stored.
stored = client.observe("The ferry leaves at seven.", namespace=HERE, tags=["harbour"], metadata={"berth": 4})
assert stored["content"] == "The ferry leaves at seven." and stored["metadata"] == {"berth": 4}, stored
listed = client.request("GET", "/v1/memories", {"namespace": HERE, "tags": ["harbour"], "current": True})
assert [m["id"] for m in listed["items"]] == [stored["id"]], listed

# A turn.
turn = client.recall("When does the ferry leave?", namespace=HERE, session="s", limit=3)
assert turn["memories"][0]["id"] == stored["id"] and turn["turn"] == 1, turn
told = client.feedback("s", turn["turn"], "success", used=[turn["memories"][0]["handle"]])
assert told["outcome"] == "success", told

# A corrected memory.
client.observe("The ferry leaves at eight.", namespace=HERE, supersedes=[stored["id"]])
now = client.recall("When does the ferry leave?", namespace=HERE)
assert [m["content"] for m in now["memories"]] == ["The ferry leaves at eight."], now

# A run, waited for and not, with its events over connections that break.
done = client.run(KEEP, 7, namespace=HERE, wait=60)
assert done.status == "completed" and done.job_id, done
queued = client.run(KEEP, 8, namespace=HERE)
assert queued.status != "completed", queued
assert client.job(queued.job_id, wait=60).status == "completed"
names = [(e.id, e.name) for e in client.job_events(queued.job_id)]
assert names[-1][1] == "job.ended" and len(set(names)) == len(names) > 2, names
assert [(e.id, e.name) for e in client.job_events(queued.job_id, after=names[-2][0])] == names[-1:]

# Events of a namespace begin now, and go on over connections that break.
came, begun = [], threading.Event()
follower = client.events(HERE)
threading.Thread(target=lambda: (came.extend(next(follower) for _ in range(5)), begun.set()), daemon=True).start()
for n in range(200):
    client.observe(f"Buoy {n} is lit.", namespace=HERE)
    if begun.wait(0.05):
        break
seqs = [e.data["seq"] for e in came]
assert len(seqs) == 5 and seqs == list(range(seqs[0], seqs[0] + 5)), seqs

# Errors.
invalid = refused("several_problems", lambda: client.observe("", namespace=HERE, priority=99, nonsense=1))
assert invalid.status == 422 and {f["pointer"] for f in invalid.errors} >= {"/priority", "/nonsense"}, invalid.errors
assert refused("namespace_denied", lambda: client.observe("x", namespace="elsewhere")).hint
refused("plugin_not_found", lambda: client.evaluate("plugin: test/judge", 1, namespace=HERE))
refused("plugin_not_found", lambda: client.correct("plugin: test/judge", 1, ["no"], namespace=HERE))
refused("job_not_found", lambda: list(client.job_events("00000000-0000-7000-8000-0000000000ff")))
refused("job_not_found", lambda: client.job("../tokens"))
refused("unauthenticated", lambda: Client(URL, "rfl_wrong").recall("x"))
refused("connection_failed", lambda: Client("http://127.0.0.1:1", TOKEN, retries=1).recall("x"))
refused("token_invalid", lambda: Client(URL, TOKEN + "\n"))
for url in ("", "ftp://host", "http://", "http://user:pass@host", "http://host?q", "host:80"):
    refused("url_invalid", lambda: Client(url, TOKEN))
assert TOKEN not in repr(client)

# The types name only what the server describes.
schemas = json.loads(pathlib.Path(OPENAPI).read_text())["components"]["schemas"]
for ours, theirs in {"Memory": "RecalledMemory", "Recalled": "memory_recall_result", "Finding": "Finding", "Verdict": "evaluate_result", "Corrected": "correct_result", "Fault": "Fault"}.items():
    unknown = set(getattr(reflectory, ours).__annotations__) - set(schemas[theirs]["properties"])
    assert not unknown, (ours, unknown)

print("python: done")
