// What every client does, against a server whose address and token are the arguments. Its namespace is
// team/here. It cuts the connection after it has stored each memory for the first time, and after every
// second event of a stream.

import assert from "node:assert/strict";
import { Client, ReflectoryError, type Event } from "../src/client.ts";

const [url, token] = process.argv.slice(2) as [string, string];
const namespace = "team/here";
const keep = "name: keep\nnodes:\n  - {name: keep, action: memory.observe, with: {content: 'The input is {{ state.input }}.'}}\n";
const client = new Client(url, token);

async function refused(code: string, call: () => unknown): Promise<ReflectoryError> {
  try {
    await call();
  } catch (error) {
    assert(error instanceof ReflectoryError, String(error));
    assert.equal(error.code, code);
    assert(!(JSON.stringify(error) + error.stack).includes(token));
    return error;
  }
  throw new Error(`${code} didn't come`);
}

async function all(events: AsyncIterable<Event>, limit = Infinity): Promise<Event[]> {
  const list: Event[] = [];
  for await (const event of events) if (list.push(event) >= limit) break;
  return list;
}

// A memory is stored once, although the connection breaks after it is stored.
const stored = await client.observe("The ferry leaves at seven.", { namespace, tags: ["harbour"], metadata: { berth: 4 } });
assert.deepEqual([stored.content, stored.metadata], ["The ferry leaves at seven.", { berth: 4 }]);
const listed = (await client.request("GET", "/v1/memories", { namespace, tags: ["harbour"], current: true })) as { items: { id: string }[] };
assert.deepEqual(listed.items.map((m) => m.id), [stored.id]);

// A turn.
const turn = await client.recall("When does the ferry leave?", { namespace, session: "s", limit: 3 });
assert.deepEqual([turn.memories[0]?.id, turn.turn], [stored.id, 1]);
const told = await client.feedback({ session: "s", turn: 1, outcome: "success", used: [turn.memories[0]!.handle!] });
assert.equal(told.outcome, "success");

// A corrected memory.
await client.observe("The ferry leaves at eight.", { namespace, supersedes: [stored.id] });
const now = await client.recall("When does the ferry leave?", { namespace });
assert.deepEqual(now.memories.map((m) => m.content), ["The ferry leaves at eight."]);

// A run, waited for and not, with its events over connections that break.
const done = await client.run(keep, 7, { namespace, wait: 60 });
assert(done.status === "completed" && done.job_id);
const queued = await client.run(keep, 8, { namespace });
assert(queued.status !== "completed");
assert.equal((await client.job(queued.job_id, { wait: 60 })).status, "completed");
const names = (await all(client.jobEvents(queued.job_id))).map((e) => `${e.id} ${e.name}`);
assert(names.at(-1)?.endsWith(" job.ended") && names.length > 2 && new Set(names).size === names.length, names.join());
const after = names.at(-2)!.split(" ")[0]!;
assert.deepEqual((await all(client.jobEvents(queued.job_id, { after }))).map((e) => `${e.id} ${e.name}`), names.slice(-1));

// Events of a namespace begin now, and go on over connections that break.
let came: Event[] | undefined;
const follower = all(client.events([namespace]), 5).then((list) => (came = list));
for (let n = 0; n < 200 && !came; n++) await client.observe(`Buoy ${n} is lit.`, { namespace });
const seqs = (await follower).map((e) => (e.data as { seq: number }).seq);
assert.deepEqual(seqs, [0, 1, 2, 3, 4].map((n) => seqs[0]! + n));

// A stream that the caller ends.
const ended = AbortSignal.timeout(50);
await refused("cancelled", () => all(client.events([namespace], { signal: ended })));

// Errors.
const invalid = await refused("several_problems", () => client.request("POST", "/v1/memories", { namespace, priority: 99, nonsense: 1 }));
assert(invalid.status === 422 && ["/priority", "/nonsense"].every((p) => invalid.errors.some((f) => f.pointer === p)));
assert((await refused("namespace_denied", () => client.observe("x", { namespace: "elsewhere" }))).hint);
await refused("plugin_not_found", () => client.evaluate("plugin: test/judge", 1, { namespace }));
await refused("plugin_not_found", () => client.correct("plugin: test/judge", 1, { namespace, errors: ["no"] }));
await refused("job_not_found", () => all(client.jobEvents("00000000-0000-7000-8000-0000000000ff")));
await refused("job_not_found", () => client.job("../tokens"));
await refused("unauthenticated", () => new Client(url, "rfl_wrong").recall("x"));
await refused("connection_failed", () => new Client("http://127.0.0.1:1", token, { retries: 1 }).recall("x"));
await refused("token_invalid", () => new Client(url, token + "\n"));
for (const bad of ["", "ftp://host", "http://", "http://user:pass@host", "http://host?q", "host:80"]) await refused("url_invalid", () => new Client(bad, token));

console.log("typescript: done");
