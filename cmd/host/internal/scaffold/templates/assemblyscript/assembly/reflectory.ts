// The author's side of a Reflectory plugin in AssemblyScript: a WASM reactor,
// ABI version 1. A plugin calls serve with what it is, and exports the three
// functions of this file from its own entry file.
import { Kind, Value, parse, quote } from "./json";

// Refusal is an error: the plugin could not judge, make or repair.
export class Refusal {
  details: string = ""; // a JSON object; "" is none

  constructor(public reason: string, public message: string, public hint: string = "", public code: string = "invalid") {}

  toJSON(): string {
    let out = '{"error":{"code":' + quote(this.code) + ',"reason":' + quote(this.reason) + ',"message":' + quote(this.message);
    if (this.hint != "") out += ',"hint":' + quote(this.hint);
    if (this.details != "") out += ',"details":' + this.details;
    return out + "}}";
  }
}

// Prepared is what a plugin makes of a config. It answers the requests with it: a
// plugin overrides what its kinds are asked.
export abstract class Prepared {
  // refusal, where set by the constructor, is what is wrong with the config.
  refusal: Refusal | null = null;

  // evaluate returns {"verdict": {…}} as JSON, or what refuse returns.
  evaluate(request: Value): string {
    return this.refuse(new Refusal("kind_unsupported", "this plugin is no evaluator"));
  }

  // generate returns {"output": …} as JSON, or what refuse returns.
  generate(request: Value): string {
    return this.refuse(new Refusal("kind_unsupported", "this plugin is no generator"));
  }

  // correct is as generate.
  correct(request: Value): string {
    return this.refuse(new Refusal("kind_unsupported", "this plugin is no corrector"));
  }

  // failed is why the last request could not be answered.
  failed: Refusal | null = null;

  // refuse says why, and returns "".
  refuse(why: Refusal): string {
    this.failed = why;
    return "";
  }
}

// What the host does for a plugin, while a call runs.

@external("reflectory:host", "log")
declare function importLog(level: i32, ptr: usize, size: usize): void;

@external("reflectory:host", "service")
declare function importService(ptr: usize, size: usize): u64;

export enum Level { Trace, Debug, Info, Warn, Error }

// log writes a line to the host's log. It needs no grant.
export function log(level: Level, line: string): void {
  const bytes = String.UTF8.encode(line);
  importLog(level, changetype<usize>(bytes), bytes.byteLength);
}

// Answer is the host's: a value, or why there is none.
export class Answer {
  constructor(public value: Value, public failed: Refusal | null) {}
}

// These need a grant, "denied" without it: in plugin.yaml, capabilities: {host: [NAME]},
// where NAME is llm.complete, memory.recall or cache.

// complete asks the operator's model. The value is its reply, a text.
export function complete(prompt: string): Answer {
  const answer = ask("llm.complete", '{"prompt":' + quote(prompt) + "}");
  return new Answer(answer.value.get("output"), answer.failed);
}

// recall reads memories of the run's namespace. The value is a list, the best first.
export function recall(query: string, limit: i32): Answer {
  const answer = ask("memory.recall", '{"query":' + quote(query) + ',"limit":' + limit.toString() + "}");
  return new Answer(answer.value.get("memories"), answer.failed);
}

// cacheGet reads what was put under a key. The value is null if there is nothing.
export function cacheGet(key: string): Answer {
  const answer = ask("cache", '{"op":"get","key":' + quote(key) + "}");
  return new Answer(answer.value.get("value"), answer.failed);
}

// cachePut keeps a value, as JSON.
export function cachePut(key: string, value: string): Answer {
  return ask("cache", '{"op":"put","key":' + quote(key) + ',"value":' + value + "}");
}

// ask asks for a service as its own JSON has it, with all that a request may say.
export function ask(service: string, request: string): Answer {
  const bytes = String.UTF8.encode('{"service":' + quote(service) + ',"body":' + request + "}");
  const at = importService(changetype<usize>(bytes), bytes.byteLength);
  const ptr = usize(at >> 32); // the host took room for it by reflectory_alloc
  const reply = parse(String.UTF8.decodeUnsafe(ptr, usize(at & 0xffffffff)));
  heap.free(ptr);
  const error = reply.get("error");
  if (error.kind == Kind.Null) return new Answer(reply.get("response"), null);
  const failed = new Refusal(error.get("reason").text, error.get("message").text, error.get("hint").text, error.get("code").text);
  failed.details = error.get("details").raw;
  return new Answer(new Value(), failed);
}

// How a plugin is called.

let manifest = "";
let prepare: (config: Value) => Prepared = (config: Value): Prepared => unreachable();
const prepared = new Map<string, Prepared>();
const digests: string[] = []; // the oldest first
const most = 64;

// serve says what the plugin is: its manifest as JSON, and how it prepares.
export function serve(what: string, how: (config: Value) => Prepared): void {
  manifest = what;
  prepare = how;
}

export function reflectory_abi_version(): i32 {
  return 1;
}

export function reflectory_alloc(size: i32): usize {
  return heap.alloc(size);
}

let reply: usize = 0;

export function reflectory_call(op: i32, ptr: usize, size: i32): u64 {
  const request = String.UTF8.decodeUnsafe(ptr, size);
  heap.free(ptr);
  if (reply) heap.free(reply); // the host has read the last one
  const out = answer(op, parse(request));
  const length = String.UTF8.byteLength(out);
  reply = heap.alloc(length);
  String.UTF8.encodeUnsafe(changetype<usize>(out), out.length, reply);
  __collect(); // nothing of this call is used from here on
  return (u64(reply) << 32) | u64(length);
}

function answer(op: i32, request: Value): string {
  if (op == 1) return '{"manifest":' + manifest + "}";
  if (op == 2) return prepareConfig(request.get("config"));
  if (op < 3 || op > 5) return new Refusal("kind_unsupported", "this plugin doesn't know this operation").toJSON();
  const digest = request.get("config").get("digest").text;
  if (!prepared.has(digest)) {
    return new Refusal("config_unknown", "no config of this digest was prepared", "", "not_found").toJSON();
  }
  const config = prepared.get(digest);
  const results: string[] = [];
  const items = request.get("items").items;
  for (let i = 0; i < items.length; i++) {
    config.failed = null;
    const response = op == 3 ? config.evaluate(items[i]) : op == 4 ? config.generate(items[i]) : config.correct(items[i]);
    const failed = config.failed;
    results.push(failed ? failed.toJSON() : '{"response":' + response + "}");
  }
  return '{"results":[' + results.join(",") + "]}";
}

function prepareConfig(config: Value): string {
  const made = prepare(config.get("json"));
  const refusal = made.refusal;
  if (refusal) return refusal.toJSON();
  const digest = config.get("digest").text;
  if (!prepared.has(digest)) digests.push(digest);
  prepared.set(digest, made);
  if (digests.length > most) prepared.delete(digests.shift());
  return "{}";
}
