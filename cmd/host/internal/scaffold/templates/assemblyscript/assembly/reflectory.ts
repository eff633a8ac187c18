// The author's side of a Reflectory plugin in AssemblyScript: a WASM reactor,
// ABI version 1. A plugin calls serve with what it is, and exports the three
// functions of this file from its own entry file.
import { Value, parse, quote } from "./json";

// Refusal is an error: the plugin could not judge.
export class Refusal {
  constructor(public reason: string, public message: string, public hint: string = "", public code: string = "invalid") {}

  toJSON(): string {
    let out = '{"error":{"code":' + quote(this.code) + ',"reason":' + quote(this.reason) + ',"message":' + quote(this.message);
    if (this.hint != "") out += ',"hint":' + quote(this.hint);
    return out + "}}";
  }
}

// Prepared is what a plugin makes of a config. It answers the requests with it.
export abstract class Prepared {
  // refusal, where set by the constructor, is what is wrong with the config.
  refusal: Refusal | null = null;

  // evaluate returns {"verdict": {…}} as JSON, or sets failed and returns "".
  abstract evaluate(request: Value): string;

  // failed is why the last request could not be judged.
  failed: Refusal | null = null;
}

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
  if (op != 3) return new Refusal("kind_unsupported", "this plugin is an evaluator").toJSON();
  const digest = request.get("config").get("digest").text;
  if (!prepared.has(digest)) {
    return new Refusal("config_unknown", "no config of this digest was prepared", "", "not_found").toJSON();
  }
  const config = prepared.get(digest);
  const results: string[] = [];
  const items = request.get("items").items;
  for (let i = 0; i < items.length; i++) {
    config.failed = null;
    const response = config.evaluate(items[i]);
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
