// About 30 calls as models send them, by each client of MCP that npm has, and by Go's: node mcp.mjs URL TOKEN.
// GOSDK is the program of the folder gosdk.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [base, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const url = new URL(base + "/mcp?profile=all");
const info = { name: "test", version: "1.0.0" };

// Each client connects and returns { names, call, close }: call gives { failed, value }, value being the
// JSON that the tool answered; null if the client checked the arguments itself and sent nothing.
const parsed = (text) => JSON.parse(text);
const ofContent = (result) => ({ failed: Boolean(result.isError), value: parsed(result.content[0].text) });
function ofError(error) { // some clients throw what a tool refuses, with its text in the message
  const text = String(error.message);
  const value = text.includes('{"error"') ? parsed(text.slice(text.indexOf('{"error"'), text.lastIndexOf("}") + 1)) : null;
  if (!value && !/schema|validation/i.test(text)) throw error;
  return { failed: true, value };
}

/** A client of the official SDK, of either version. */
async function official(Client, Transport) {
  const client = new Client(info);
  await client.connect(new Transport(url, { requestInit: { headers } }));
  return {
    names: (await client.listTools()).tools.map((t) => t.name),
    call: async (name, args) => ofContent(await client.callTool({ name, arguments: args })),
    close: () => client.close(),
  };
}

const clients = {
  async "@modelcontextprotocol/sdk"() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return official(Client, StreamableHTTPClientTransport);
  },
  async "@modelcontextprotocol/client"() {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    return official(Client, StreamableHTTPClientTransport);
  },
  async "github.com/modelcontextprotocol/go-sdk"() { // the program reads calls from us
    const program = spawn(process.env.GOSDK, [String(url), token], { stdio: ["pipe", "pipe", "inherit"] });
    const answers = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
    const next = async () => {
      const { value, done } = await answers.next();
      assert(!done, "the program with the Go SDK has ended");
      return parsed(value);
    };
    return {
      names: await next(),
      async call(name, args) {
        program.stdin.write(JSON.stringify({ name, arguments: args }) + "\n");
        return ofContent(await next());
      },
      close: () => program.stdin.end(),
    };
  },
  async "mcp-use"() {
    const { MCPClient } = await import("mcp-use/client");
    const client = new MCPClient({ mcpServers: { reflectory: { url: String(url), headers } } });
    const session = await client.createSession("reflectory");
    return {
      names: (await session.listTools()).map((t) => t.name),
      call: async (name, args) => ofContent(await session.callTool(name, args)),
      close: () => client.closeAllSessions(),
    };
  },
  async "@langchain/mcp-adapters"() {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({ mcpServers: { reflectory: { transport: "http", url: String(url), headers } } });
    const tools = await client.getTools();
    return {
      names: tools.map((t) => t.name),
      async call(name, args) {
        try {
          const out = await tools.find((t) => t.name === name).invoke(args);
          return { failed: false, value: parsed(typeof out === "string" ? out : out.text) };
        } catch (error) {
          return ofError(error);
        }
      },
      close: () => client.close(),
    };
  },
  async "@ai-sdk/mcp"() {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url: String(url), headers } });
    const tools = await client.tools();
    return {
      names: Object.keys(tools),
      call: async (name, args) => ofContent(await tools[name].execute(args, { toolCallId: "1", messages: [] })),
      close: () => client.close(),
    };
  },
  async "@mastra/mcp"() {
    const { MCPClient } = await import("@mastra/mcp");
    const client = new MCPClient({ servers: { reflectory: { url, requestInit: { headers } } } });
    const tools = await client.listTools();
    return {
      names: Object.keys(tools).map((name) => name.replace("reflectory_", "")),
      async call(name, args) {
        try {
          const out = await tools["reflectory_" + name].execute(args, {});
          return { failed: out.error === true, value: out.error === true ? null : out };
        } catch (error) {
          return ofError(error);
        }
      },
      close: () => client.disconnect(),
    };
  },
  async "@openai/agents"() {
    const { MCPServerStreamableHttp } = await import("@openai/agents");
    const server = new MCPServerStreamableHttp({ url: String(url), name: "reflectory", requestInit: { headers } });
    await server.connect();
    return {
      names: (await server.listTools()).map((t) => t.name),
      async call(name, args) {
        const value = parsed((await server.callTool(name, args))[0].text);
        return { failed: "error" in value, value };
      },
      close: () => server.close(),
    };
  },
};

const workflow = "name: keep\nnodes:\n  - {name: keep, action: memory.observe, with: {content: kept}}\n";
const judge = "plugin: reflectory/schema-eval\nconfig: {schema: {type: object, required: [port]}}\n";

/** The script. Each client has a namespace of its own below team. */
async function script({ names, call }, namespace) {
  let calls = 0;
  const ok = async (name, args) => {
    calls++;
    const { failed, value } = await call(name, args);
    assert(!failed, `${name} ${JSON.stringify(args)}: ${JSON.stringify(value)}`);
    return value;
  };
  const refused = async (code, name, args) => {
    calls++;
    const { failed, value } = await call(name, args);
    assert(failed && (value === null || value.error.code === code), `${name} ${JSON.stringify(args)}: ${JSON.stringify(value)}`);
    return value?.error;
  };
  for (const name of ["observe", "retrieve", "feedback", "forget", "run_loop", "evaluate", "discover", "inject"]) assert(names.includes(name), `${name} isn't in ${names}`);

  const user = namespace.split("/")[1]; // and the name of its session
  const first = await ok("observe", { content: "The ferry leaves at seven.", namespace, tags: ["harbour", "ferry"] });
  const quay = await ok("observe", { content: "The ferry leaves from quay four.", namespace, importance: 0.9 });
  await ok("observe", { content: "The harbour closes at nine.", namespace, kind: "semantic", occurred_at: "2026-01-02T03:04:05Z" });
  await ok("observe", { content: "Tickets cost five euros.", namespace, priority: 8, metadata: { source: "poster" } });
  const turn = await ok("retrieve", { query: "When does the ferry leave?", namespace, session: user, limit: 3 });
  assert.equal(turn.memories[0].id, first.id);
  assert.deepEqual(await ok("feedback", { session: user, turn: turn.turn, outcome: "success", used: [turn.memories[0].handle] }), { ok: true });
  assert.equal((await ok("retrieve", { query: "", namespace })).memories.length, 4);
  const second = await ok("observe", { content: "The ferry leaves at eight.", namespace, supersedes: [first.id] });
  const now = await ok("retrieve", { query: "When does the ferry leave?", namespace, limit: 1 });
  assert.equal(now.memories[0].id, second.id);
  assert.equal((await ok("retrieve", { query: "ferry", namespace, tags: ["harbour"], include_superseded: true })).memories[0].id, first.id);
  assert.equal((await ok("memory_get", { id: quay.id })).content, "The ferry leaves from quay four.");
  assert((await ok("memory_explain", { id: quay.id })).memory);
  await ok("memory_link", { from: quay.id, relation: "supports", to: second.id });
  await ok("memory_reflect", { source_ids: [quay.id, second.id], title: "Ferry", content: "The ferry leaves quay four at eight.", namespace });
  await ok("stats", { scope: "memory", namespace });
  await ok("stats", {});
  const queued = await ok("reflect", { user_id: user, force: true });
  assert(["queued", "rate_limited"].includes(queued.status)); // all clients are one subject
  await ok("reflect_status", { job_id: queued.job_id ?? first.id, user_id: user });
  await ok("cancel_reflection", { job_id: queued.job_id ?? first.id, user_id: user });
  const wrong = await ok("evaluate", { evaluator: judge, output: { host: "a" }, namespace });
  assert.equal(wrong.valid, false);
  assert.equal((await ok("evaluate", { evaluator: judge, output: { port: 1 }, namespace })).valid, true);
  await refused("kind_unsupported", "correct", { corrector: judge, output: {}, errors: wrong.errors, namespace });
  const run = await ok("run_loop", { workflow, namespace });
  let status = await ok("loop_status", { job_id: run.job_id });
  while (["queued", "running"].includes(status.status)) status = (await call("loop_status", { job_id: run.job_id })).value;
  assert.equal(status.status, "completed", JSON.stringify(status));
  await ok("discover", { intent: "check that the JSON of a reply has the right fields", namespace });
  const built = await ok("inject", { action: "build", namespace, session: user + "-inject", query: "When does the ferry leave?" });
  assert(built.prompt.includes("eight"));
  const faults = await refused("several_problems", "observe", { content: "", namespace, priority: 99 });
  assert(!faults || faults.errors.length > 1);
  await refused("namespace_denied", "observe", { content: "x", namespace: "elsewhere" });
  await refused("memory_not_found", "memory_get", { id: "00000000-0000-7000-8000-0000000000ff" });
  await refused("job_not_found", "loop_status", { job_id: "00000000-0000-7000-8000-0000000000ff" });
  await ok("forget", { id: second.id, reason: "it is wrong" });
  assert(!(await ok("retrieve", { query: "When does the ferry leave?", namespace })).memories.some((m) => m.id === second.id));
  return calls;
}

for (const [name, connect] of Object.entries(clients)) {
  if (process.argv[4] && process.argv[4] !== name) continue;
  const client = await connect();
  try {
    console.log(`${name}: ${await script(client, "team/" + name.replace(/[^a-z]/g, ""))} calls`);
  } finally {
    await client.close();
  }
}
process.exit(0); // some clients keep their connection for a while
