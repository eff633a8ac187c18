// A round trip through what the generators made: hey-api's functions, and fetch with openapi-typescript's types.
import { strict as assert } from "node:assert";
import { client } from "./hey/client.gen";
import { jobEvents, memoryObserve, memoryRecall, runStart } from "./hey/sdk.gen";
import type { operations } from "./types";

type Observe = operations["memory_observe"];

async function main(): Promise<void> {
  const [baseUrl, token] = process.argv.slice(2) as [string, string];
  client.setConfig({ baseUrl, auth: token });
  const namespace = "team/hey";
  const content = "The ferry leaves at seven.";

  const stored = await memoryObserve({ body: { namespace, content, tags: ["a"] }, headers: { "Idempotency-Key": "hey-1" }, throwOnError: true });
  assert.equal(stored.data.content, content);
  const again = await memoryObserve({ body: { namespace, content, tags: ["a"] }, headers: { "Idempotency-Key": "hey-1" }, throwOnError: true });
  assert.deepEqual([again.data.id, again.response.headers.get("Idempotency-Replayed")], [stored.data.id, "true"]);
  const recalled = await memoryRecall({ body: { namespace, query: "When does the ferry leave?" }, throwOnError: true });
  assert.equal(recalled.data.memories[0]?.id, stored.data.id);
  const refused = await memoryRecall({ body: { namespace: "elsewhere", query: "x" } });
  assert.equal(refused.error?.code, "namespace_denied");

  const workflow = "name: keep\nnodes:\n  - {name: keep, action: memory.observe, with: {content: kept}}\n";
  const run = await runStart({ body: { workflow, namespace }, headers: { Prefer: "wait=30" }, throwOnError: true });
  const id = run.response.headers.get("Location")!.split("/").pop()!;
  let events = 0;
  const followed = await jobEvents({ path: { id }, sseMaxRetryAttempts: 1 });
  for await (const event of followed.stream) events += "seq" in (event as object) ? 1 : 0;
  assert(events > 1);

  const body: Observe["requestBody"]["content"]["application/json"] = { namespace, content: "The harbour closes at nine." };
  const headers: NonNullable<Observe["parameters"]["header"]> = { "Idempotency-Key": "types-1" };
  const answer = await fetch(baseUrl + "/v1/memories", {
    method: "POST", body: JSON.stringify(body), headers: { ...headers, Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
  });
  const typed = (await answer.json()) as Observe["responses"][200]["content"]["application/json"];
  assert.equal(typed.content, body.content);
  console.log("hey-api and openapi-typescript: done");
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
