// The official client of MCP's extension for tasks runs two workflows: node tasks.mjs URL TOKEN.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const [base, token] = process.argv.slice(2);
const url = new URL(base + "/mcp?profile=all");
const headers = { Authorization: `Bearer ${token}` };
const clientInfo = { name: "test", version: "1.0.0" };
const protocolVersion = "2026-07-28";
const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));

let sent = 0;
const session = createTaskSessionFromClient(client, {
  endpointId: "reflectory",
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities: {} },
  async rawDispatch(request, options) {
    const name = request.params?.taskId ?? request.params?.name;
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        ...headers, ...options?.context?.headers, "Content-Type": "application/json", Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": protocolVersion, "Mcp-Method": request.method, ...(name ? { "Mcp-Name": name } : {}),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++sent, ...request }),
    });
    const { result, error } = await answer.json();
    return error ? { kind: "error", error } : { kind: "result", result };
  },
});

const namespace = "team/tasks";
const workflow = (action) => `name: keep\nnodes:\n  - {name: keep, ${action}}\n`;
async function run(action) {
  const execution = await session.callTool("run_loop", { workflow: workflow(action), namespace });
  return resultFromTaskOutcome((await execution.settle()).outcome);
}
const kept = await run("action: memory.observe, with: {content: kept}");
assert(!kept.isError && kept.content[0].text.includes("kept"), JSON.stringify(kept));
const failed = await run("action: memory.reflect, with: {source_ids: [lost-memory], title: t, content: c}");
assert(failed.content[0].text.includes("memory_not_found") || failed.content[0].text.includes("lost-memory"), JSON.stringify(failed));
assert(sent >= 4, `only ${sent} requests for two tasks`);
await session.close();
await client.close();
console.log(`@modelcontextprotocol/ext-tasks: two tasks, ${sent} requests`);
process.exit(0);
