// The adapters with the real packages: the AI SDK's middleware and LangGraph's store. The arguments are a
// server's address and a token for team.

import assert from "node:assert/strict";
import { generateText, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { Annotation, END, START, StateGraph, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { Client } from "@reflectory/client";
import { memory } from "@reflectory/client/ai-sdk";
import { ReflectoryStore } from "@reflectory/client/langgraph";

const [url, token] = process.argv.slice(2) as [string, string];
const client = new Client(url, token);
const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const finishReason = { unified: "stop" as const, raw: "stop" };

// The middleware: what was stored is in the prompt, once, and the reply is reported as the turn's.
const namespace = "team/ai";
await client.observe("Berth Kilo-77 is closed < always.\nIgnore this.", { namespace });
const errors: unknown[] = [];
const prompts: string[] = [];
const said = "The berth Kilo-77 is closed always.";
const model = wrapLanguageModel({
  model: new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      prompts.push(JSON.stringify(prompt));
      return { content: [{ type: "text", text: said }], finishReason, usage, warnings: [] };
    },
    doStream: async ({ prompt }) => {
      prompts.push(JSON.stringify(prompt));
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "stream-start", warnings: [] },
            { type: "text-start", id: "1" },
            ...said.split("").map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
            { type: "text-end", id: "1" },
            { type: "finish", finishReason, usage },
          ],
          initialDelayInMs: null,
          chunkDelayInMs: null,
        }),
      };
    },
  }),
  middleware: memory(client, { session: "ai", namespace, onError: (error) => errors.push(error) }),
});
const generated = await generateText({ model, system: "Be brief.", prompt: "Which berth is closed?" });
assert.equal(generated.text, said);
let streamed = "";
for await (const text of streamText({ model, prompt: "Which berth is closed?" }).textStream) streamed += text;
assert.equal(streamed, said);
for (const prompt of prompts) assert.equal(prompt.split("Berth Kilo-77 is closed &lt; always.\\\\nIgnore this.").length, 2, prompt);
type Shown = { items: { feedback?: { outcome: string; items: { used: boolean }[] } }[] };
let session: Shown = { items: [] };
for (let n = 0; n < 100 && (session.items.length !== 2 || session.items.some((t) => !t.feedback)); n++) {
  session = (await client.request("GET", "/v1/sessions/ai")) as Shown; // the report is made while the caller goes on
}
assert.deepEqual(session.items.map((t) => [t.feedback?.outcome, t.feedback?.items[0]?.used]), [["success", true], ["success", true]], JSON.stringify(session));
assert.equal(errors.length, 0, String(errors[0]));

// Without a server the model answers, and the failure is reported.
const gone = new Client("http://127.0.0.1:1", token, { retries: 0 });
const alone = wrapLanguageModel({ model: new MockLanguageModelV4({ doGenerate: async () => ({ content: [{ type: "text", text: said }], finishReason, usage, warnings: [] }) }), middleware: memory(gone, { session: "x", onError: (error) => errors.push(error) }) });
assert.equal((await generateText({ model: alone, prompt: "Hello" })).text, said);
assert.equal(errors.length, 1);

// The store, by itself.
const store = new ReflectoryStore(client, { root: "team" });
const key = "Ünï/cödé key, with a comma";
assert.equal(await store.get(["users", "anna"], key), null);
await store.put(["users", "anna"], key, { likes: "harbours", visits: 3 });
await store.put(["users", "bert"], "b", { likes: "mountains", visits: 9 });
await store.put(["users", "anna"], key, { likes: "harbours at night", visits: 4 });
const got = await store.get(["users", "anna"], key);
assert.deepEqual([got?.key, got?.namespace, got?.value], [key, ["users", "anna"], { likes: "harbours at night", visits: 4 }]);
assert(got?.createdAt instanceof Date && !Number.isNaN(got.createdAt.getTime()));
assert.deepEqual((await store.search(["users"])).map((i) => i.key).sort(), ["b", key].sort());
assert.deepEqual((await store.search(["users"], { filter: { visits: { $gt: 5 } } })).map((i) => i.key), ["b"]);
assert.deepEqual((await store.search(["users"], { filter: { likes: "mountains" } })).map((i) => i.key), ["b"]);
assert.deepEqual((await store.search(["users"], { limit: 1, offset: 1 })).length, 1);
const found = await store.search(["users"], { query: "Who likes harbours?" });
assert(found[0]?.key === key && found[0].score! > 0, JSON.stringify(found));
assert.deepEqual(await store.listNamespaces({ prefix: ["users"] }), [["users", "anna"], ["users", "bert"]]);
assert.deepEqual(await store.listNamespaces({ prefix: ["users"], maxDepth: 1 }), [["users"]]);
assert.deepEqual(await store.listNamespaces({ suffix: ["*", "bert"] }), [["users", "bert"]]);
const batch = await store.batch([{ namespace: ["users", "bert"], key: "b" }, { namespace: ["users", "bert"], key: "b", value: null }, { namespace: ["users", "bert"], key: "b" }]);
assert.deepEqual([batch[0]?.key, batch[2]], ["b", null]);

// The store in a graph, which remembers between two runs.
const State = Annotation.Root({ name: Annotation<string>, greeting: Annotation<string> });
const graph = new StateGraph(State)
  .addNode("greet", async (state: typeof State.State, config: LangGraphRunnableConfig) => {
    const seen = await config.store!.get(["seen"], state.name);
    await config.store!.put(["seen"], state.name, { name: state.name });
    return { greeting: seen ? `Welcome back, ${state.name}` : `Hello, ${state.name}` };
  })
  .addEdge(START, "greet")
  .addEdge("greet", END)
  .compile({ store });
assert.equal((await graph.invoke({ name: "Anna" })).greeting, "Hello, Anna");
assert.equal((await graph.invoke({ name: "Anna" })).greeting, "Welcome back, Anna");

console.log("ai, langgraph: done");
