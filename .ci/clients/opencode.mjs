// Replays a conversation of opencode with the plugin that reflectory connect writes, and checks what the plugin
// shows the model and what it tells the hooks. A script stands for reflectory.
import assert from "node:assert"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const folder = mkdtempSync(join(tmpdir(), "opencode-"))
const log = join(folder, "calls.jsonl")
const script = join(folder, "reflectory.mjs")
writeFileSync(log, "")
writeFileSync(script, `
import { appendFileSync, readFileSync } from "node:fs"
const [event, flag, client] = process.argv.slice(3)
const input = JSON.parse(readFileSync(0, "utf8"))
appendFileSync(${JSON.stringify(log)}, JSON.stringify({ event, flag, client, input }) + "\\n")
if (input.prompt === "break") { console.log("no JSON"); process.exit(1) }
if (event === "session-start" || event === "prompt") console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: "about " + (input.prompt ?? "the start") } }))
`)
const plugin = join(folder, "plugin.mjs")
const load = async (command) => {
  const source = readFileSync(process.argv[2], "utf8")
  const changed = source.replace(/const command = \[.*\]/, "const command = " + JSON.stringify([...command, "hook", "EVENT", "--client", "opencode"]))
  assert.notEqual(changed, source)
  writeFileSync(plugin, changed)
  const { Reflectory } = await import(pathToFileURL(plugin) + "?" + Math.random())
  return Reflectory({ directory: "/project" })
}
const calls = () => readFileSync(log, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line))
const says = async (hooks, text) => {
  const output = { message: { id: "msg_1", sessionID: "ses_1" }, parts: [{ type: "text", text }, { type: "text", text: "not the user's", synthetic: true }, { type: "file" }] }
  await hooks["chat.message"]({ sessionID: "ses_1" }, output)
  return output.parts.slice(3)
}

const hooks = await load([process.execPath, script])
const first = await says(hooks, "How do we ship?")
assert.deepEqual(first.map((p) => p.text), ["about the start", "about How do we ship?"])
for (const p of first) assert.deepEqual([p.type, p.synthetic, p.sessionID, p.messageID, p.id.startsWith("prt_")], ["text", true, "ses_1", "msg_1", true])
assert.notEqual(first[0].id, first[1].id)
await hooks["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "call_1" }, { title: "", output: "no", metadata: { exit: 2 } })
await hooks["tool.execute.after"]({ tool: "read", sessionID: "ses_1", callID: "call_2" }, { title: "", output: "text" })
const event = (type, properties) => hooks.event({ event: { type, properties } })
await event("message.updated", { info: { id: "msg_1", role: "user", sessionID: "ses_1" } })
await event("message.updated", { info: { id: "msg_2", role: "assistant", sessionID: "ses_1" } })
await event("message.part.updated", { part: { type: "text", messageID: "msg_1", sessionID: "ses_1", text: "How do we ship?" } })
await event("message.part.updated", { part: { type: "text", messageID: "msg_2", sessionID: "ses_1", text: "With ma" } })
await event("message.part.updated", { part: { type: "text", messageID: "msg_2", sessionID: "ses_1", text: "With make ship." } })
await event("message.part.updated", { part: { type: "tool", messageID: "msg_2", sessionID: "ses_1" } })
await event("session.updated", { info: { id: "ses_1" } })
await event("server.connected", {})
await hooks.event({ event: { type: "server.connected" } })
await event("session.idle", { sessionID: "ses_1" })
assert.deepEqual((await says(hooks, "Thanks")).map((p) => p.text), ["about Thanks"])
assert.deepEqual(await says(hooks, "break"), [])

const made = calls()
assert.deepEqual(made.map((c) => c.event), ["session-start", "prompt", "tool", "tool", "stop", "prompt", "prompt"])
for (const c of made) assert.deepEqual([c.flag, c.client, c.input.session_id, c.input.cwd, c.input.hook_event_name], ["--client", "opencode", "ses_1", "/project", c.event])
assert.equal(made[1].input.prompt, "How do we ship?")
assert.deepEqual([made[2].input.tool_name, made[2].input.tool_use_id, made[2].input.tool_response.exit_code], ["bash", "call_1", 2])
assert.deepEqual([made[3].input.tool_name, made[3].input.tool_response], ["read", {}])
assert.equal(made[4].input.last_assistant_message, "With make ship.")

// Without the program, a conversation goes on.
const none = await load([join(folder, "none")])
assert.deepEqual(await says(none, "How do we ship?"), [])
await none["tool.execute.after"]({ tool: "bash", sessionID: "ses_1", callID: "call_1" }, { metadata: { exit: 0 } })
await none.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } })

rmSync(folder, { recursive: true })
console.log("opencode's plugin: 7 hooks called as documented")
