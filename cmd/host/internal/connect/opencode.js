// Written by reflectory connect; reflectory connect opencode --undo removes it.
import { spawn } from "node:child_process"

const command = ["reflectory", "hook", "EVENT", "--client", "opencode"]

// hook calls a hook, and returns its answer; nothing if there is none in time.
function hook(event, input) {
  return new Promise((done) => {
    const [program, ...args] = command.map((word) => (word === "EVENT" ? event : word))
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], timeout: 3000 })
    let said = ""
    child.stdout.on("data", (data) => (said += data))
    child.on("error", () => done(undefined))
    child.on("close", () => {
      try {
        done(JSON.parse(said).hookSpecificOutput.additionalContext)
      } catch {
        done(undefined)
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ hook_event_name: event, ...input }))
  })
}

export const Reflectory = async ({ directory }) => {
  const roles = new Map() // of messages
  const replies = new Map() // the newest text of the agent, by session
  const add = (output, text) =>
    output.parts.push({
      id: "prt_" + crypto.randomUUID().replaceAll("-", ""),
      sessionID: output.message.sessionID,
      messageID: output.message.id,
      type: "text",
      text,
      synthetic: true,
    })
  return {
    "chat.message": async (input, output) => {
      const prompt = output.parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
      const about = { session_id: input.sessionID, cwd: directory }
      if (!replies.has(input.sessionID)) {
        replies.set(input.sessionID, "")
        const start = await hook("session-start", about)
        if (start) add(output, start)
      }
      const context = await hook("prompt", { ...about, prompt })
      if (context) add(output, context)
    },
    "tool.execute.after": async (input, output) => {
      const { exit, error } = output.metadata ?? {}
      await hook("tool", { session_id: input.sessionID, cwd: directory, tool_name: input.tool, tool_use_id: input.callID, tool_response: { exit_code: exit, error } })
    },
    event: async ({ event }) => {
      const { info, part, sessionID } = event.properties ?? {}
      if (event.type === "message.updated") roles.set(info.id, info.role)
      if (event.type === "message.part.updated" && part.type === "text" && roles.get(part.messageID) === "assistant") replies.set(part.sessionID, part.text)
      if (event.type === "session.idle") {
        await hook("stop", { session_id: sessionID, cwd: directory, last_assistant_message: replies.get(sessionID) ?? "" })
        roles.clear()
      }
    },
  }
}
