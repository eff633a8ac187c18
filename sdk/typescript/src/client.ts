// A client for a Reflectory server, without dependencies, for Node 20 and newer, Deno, Bun and workers.
//
// A request that changes something carries an Idempotency-Key, so that it can be sent again after a broken
// connection and is still done once. Redirects aren't followed: they would carry the token to another host.

import type { components } from "./schema.d.ts";

type Schemas = components["schemas"];
export type Memory = Schemas["memory_observe_result"];
export type Recalled = Schemas["memory_recall_result"];
export type Verdict = Schemas["evaluate_result"];
export type Corrected = Schemas["correct_result"];
export type FeedbackResult = Schemas["memory_feedback_result"];
export type Fault = Schemas["Fault"];

/** How a client reaches its server. timeout is for one request, in ms; retries is how often a request is sent again. */
export interface Options {
  timeout?: number;
  retries?: number;
  fetch?: typeof fetch;
}

/** For one call: an Idempotency-Key of the caller's own, and what ends the call early. */
export interface CallOptions {
  key?: string;
  signal?: AbortSignal;
}

/** For a call that may be a job: for how many seconds it waits for the result. */
export interface WaitOptions extends CallOptions {
  wait?: number;
}

/** A job. result is set once it has completed. */
export interface Job<T = unknown> {
  job_id: string;
  status: "queued" | "running" | "completed";
  result?: T;
}

/** An event of a stream. id is the position after it, for `after`; "" for job.progress and run.piece. */
export interface Event {
  id: string;
  name: string;
  data: unknown;
}

/** Where a stream begins, and what ends it. after is the id of an earlier event. */
export interface FollowOptions {
  after?: string;
  signal?: AbortSignal;
}

/**
 * Why something wasn't done. Callers branch on code. status is the HTTP status, 0 without an answer; hint is
 * what to do, errors are all faults of the request, details are facts for programs. No part has the token.
 */
export class ReflectoryError extends Error {
  readonly code: string;
  readonly status: number;
  readonly hint: string;
  readonly errors: Fault[];
  readonly details: Record<string, unknown>;
  readonly traceId: string;

  constructor(code: string, message: string, more: { status?: number; hint?: string; errors?: Fault[]; details?: Record<string, unknown>; traceId?: string } = {}) {
    super(`${code}: ${message}${more.hint ? ` (${more.hint})` : ""}`);
    this.name = "ReflectoryError";
    this.code = code;
    this.status = more.status ?? 0;
    this.hint = more.hint ?? "";
    this.errors = more.errors ?? [];
    this.details = more.details ?? {};
    this.traceId = more.traceId ?? "";
  }
}

const maxAnswer = 64 << 20; // bytes of an answer
const maxLine = 1 << 20; // characters of a line of a stream
const maxWait = 60; // seconds that one request waits for a job: the server's limit
const silence = 45_000; // ms without a byte after which a stream is broken: the server sends one every 15 s
const again = new Set([429, 502, 503]); // statuses of answers that another attempt may improve

type Fields = Record<string, unknown>;
interface Answer {
  status: number;
  body: unknown;
  location: string;
}

/** A server and a token. */
export class Client {
  readonly #url: string;
  readonly #token: string;
  readonly #timeout: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;

  constructor(url: string, token = "", options: Options = {}) {
    const at = URL.canParse(url) ? new URL(url) : undefined;
    if (!at || !/^https?:$/.test(at.protocol) || at.username || at.search || at.hash) {
      throw new ReflectoryError("url_invalid", "the url isn't http(s)://HOST without a user, query or fragment");
    }
    if (!/^[!-~]*$/.test(token)) {
      throw new ReflectoryError("token_invalid", "the token has characters that no token has", { hint: "read it without the line's end" });
    }
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#timeout = options.timeout ?? 30_000;
    this.#retries = options.retries ?? 3;
    this.#fetch = options.fetch ?? fetch;
  }

  /** Store a memory. Without a key of the caller's, each call stores one. */
  observe(content: string, fields: Omit<Schemas["memory_observe_request"], "content"> = {}, options: CallOptions = {}): Promise<Memory> {
    return this.request("POST", "/v1/memories", { ...fields, content }, options) as Promise<Memory>;
  }

  /** Find memories. With a session, the recall begins or belongs to a turn, which feedback reports on. */
  recall(query: string, fields: Omit<Schemas["memory_recall_request"], "query"> = {}, options: CallOptions = {}): Promise<Recalled> {
    return this.request("POST", "/v1/recall", { ...fields, query }, options) as Promise<Recalled>;
  }

  /** Report how a turn went. */
  feedback(fields: Schemas["memory_feedback_request"], options: CallOptions = {}): Promise<FeedbackResult> {
    return this.request("POST", "/v1/feedback", fields, options) as Promise<FeedbackResult>;
  }

  /** Judge an output. evaluator is the YAML below evaluator: in a workflow. */
  async evaluate(evaluator: string, output: unknown, fields: Omit<Schemas["evaluate_request"], "evaluator" | "output"> = {}, options: WaitOptions = {}): Promise<Verdict> {
    return done(await this.#start<Verdict>("/v1/evaluate", { ...fields, evaluator, output }, { wait: 300, ...options }));
  }

  /** Repair an output. fields.errors is a verdict, its errors, or texts. */
  async correct(corrector: string, output: unknown, fields: Omit<Schemas["correct_request"], "corrector" | "output"> = {}, options: WaitOptions = {}): Promise<Corrected> {
    return done(await this.#start<Corrected>("/v1/correct", { ...fields, corrector, output }, { wait: 300, ...options }));
  }

  /** Run a workflow, given as YAML, and wait up to options.wait seconds for its result. */
  run<T = unknown>(workflow: string, input?: unknown, options: WaitOptions & Omit<Schemas["run_start_request"], "workflow" | "input"> = {}): Promise<Job<T>> {
    const { wait, key, signal, ...fields } = options;
    return this.#start<T>("/v1/runs", { ...fields, workflow, ...(input === undefined ? {} : { input }) }, { wait: wait ?? 0, ...given({ key, signal }) });
  }

  /** A job, once it has ended or options.wait seconds have passed. A failed or cancelled job is an error. */
  async job<T = unknown>(id: string, options: WaitOptions = {}): Promise<Job<T>> {
    const until = Date.now() + 1000 * (options.wait ?? 0);
    for (;;) {
      const left = Math.max(0, Math.min(maxWait, Math.ceil((until - Date.now()) / 1000)));
      const answer = await this.#send("GET", `/v1/jobs/${encodeURIComponent(id)}/result`, left ? { wait: left } : {}, {}, this.#timeout + 1000 * left, options.signal);
      const found = answer.body as Schemas["job_result_result"];
      if (found.status === "failed" || found.status === "cancelled") {
        throw problem(0, { code: found.reason || found.status, detail: found.message, ...found.failure });
      }
      if (found.status === "completed") return { job_id: id, status: found.status, result: found.result as T };
      if (Date.now() >= until) return { job_id: id, status: found.status };
    }
  }

  /** Follow the events of namespaces: from now on, or after the id of an earlier event. It doesn't end by itself. */
  events(namespaces: string[], options: FollowOptions = {}): AsyncGenerator<Event, void, undefined> {
    return this.#follow("/v1/events?" + new URLSearchParams(namespaces.map((n) => ["namespace", n])), options);
  }

  /** Follow the events of a run from its first one until it ends. */
  runEvents(id: string, options: FollowOptions = {}): AsyncGenerator<Event, void, undefined> {
    return this.#follow(`/v1/runs/${encodeURIComponent(id)}/events`, options);
  }

  /** Follow the events of a job from its first one until it ends. */
  jobEvents(id: string, options: FollowOptions = {}): AsyncGenerator<Event, void, undefined> {
    return this.#follow(`/v1/jobs/${encodeURIComponent(id)}/events`, options);
  }

  /** Call an operation of docs/api.md: fields are the body, or for GET and DELETE the query. */
  async request(method: "GET" | "POST" | "PUT" | "DELETE", path: string, fields: Fields = {}, options: CallOptions = {}): Promise<unknown> {
    return (await this.#send(method, path, fields, { "Idempotency-Key": options.key ?? crypto.randomUUID() }, this.#timeout, options.signal)).body;
  }

  async #start<T>(path: string, body: Fields, options: WaitOptions): Promise<Job<T>> {
    const until = Date.now() + 1000 * (options.wait ?? 0);
    const first = Math.min(maxWait, Math.ceil(options.wait ?? 0));
    const headers = { "Idempotency-Key": options.key ?? crypto.randomUUID(), ...(first > 0 ? { Prefer: `wait=${first}` } : {}) };
    const answer = await this.#send("POST", path, body, headers, this.#timeout + 1000 * first, options.signal);
    if (answer.status !== 202) return { job_id: answer.location.split("/").pop() ?? "", status: "completed", result: answer.body as T };
    const queued = answer.body as Schemas["job_queued"];
    const left = (until - Date.now()) / 1000;
    if (left <= 0) return { job_id: queued.job_id, status: queued.status as Job["status"] };
    return this.job<T>(queued.job_id, { wait: left, ...given({ signal: options.signal }) });
  }

  #open(method: string, path: string, body: string | undefined, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const sent: Record<string, string> = { ...headers };
    if (this.#token) sent["Authorization"] = `Bearer ${this.#token}`;
    if (body !== undefined) sent["Content-Type"] = "application/json";
    const call = this.#fetch; // without this client as its this
    return call(this.#url + path, { method, headers: sent, redirect: "manual", signal, ...given({ body }) });
  }

  async #send(method: string, path: string, fields: Fields, headers: Record<string, string>, timeout: number, signal?: AbortSignal): Promise<Answer> {
    let body: string | undefined;
    if (method === "GET" || method === "DELETE") {
      const query = new URLSearchParams(Object.entries(fields).flatMap(([k, v]) => (Array.isArray(v) ? v : [v]).filter((v) => v !== undefined).map((v) => [k, String(v)])));
      if (query.size > 0) path += "?" + query;
    } else {
      body = JSON.stringify(fields);
    }
    for (let attempt = 0; ; attempt++) {
      let failed: ReflectoryError;
      let pause: string | null = null;
      const limit = AbortSignal.timeout(timeout);
      try {
        const answer = await this.#open(method, path, body, headers, signal ? AbortSignal.any([limit, signal]) : limit);
        const came = decoded(await textOf(answer));
        if (answer.ok && came !== undefined) return { status: answer.status, body: came, location: answer.headers.get("Location") ?? "" };
        pause = answer.headers.get("Retry-After");
        failed = problem(answer.status, came);
      } catch (error) {
        failed = lost(error, limit, signal);
      }
      if (attempt >= this.#retries || !(failed.code === "connection_failed" || failed.code === "timeout" || again.has(failed.status))) throw failed;
      await rest(attempt, pause, signal);
    }
  }

  async *#follow(path: string, options: FollowOptions): AsyncGenerator<Event, void, undefined> {
    let after = options.after ?? "";
    for (let attempt = 0; ; attempt++) {
      let came = false;
      const broken = new AbortController();
      const signal = options.signal ? AbortSignal.any([broken.signal, options.signal]) : broken.signal;
      let timer = setTimeout(() => broken.abort(), silence);
      const heard = () => {
        clearTimeout(timer);
        timer = setTimeout(() => broken.abort(), silence);
      };
      try {
        const stream = await this.#open("GET", path, undefined, { Accept: "text/event-stream", ...(after ? { "Last-Event-ID": after } : {}) }, signal);
        if (stream.status === 204) return;
        if (stream.status !== 200 || !stream.body) throw problem(stream.status, decoded(await textOf(stream)));
        for await (const event of eventsOf(stream.body, heard)) {
          after = event.id || after;
          attempt = 0;
          if (event.name === "failed") throw new ReflectoryError(String((event.data as { code: string }).code), "the server couldn't read the events");
          if (event.name === "lagged") after = (event.data as { last_id: string }).last_id;
          else if (event.name !== "" && event.name !== "bye") {
            came = true;
            yield event;
          }
        }
      } catch (error) {
        const failed = error instanceof ReflectoryError ? error : lost(error, broken.signal, options.signal);
        if (attempt >= this.#retries || (failed.status && !again.has(failed.status)) || !["connection_failed", "timeout"].includes(failed.code) && !failed.status) throw failed;
      } finally {
        clearTimeout(timer);
        broken.abort();
      }
      if (!came) await rest(attempt, "1", options.signal);
    }
  }
}

/** The events of a connection. One without a name only has the position where the stream begins. */
async function* eventsOf(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<Event, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  let [id, name, data] = ["", "", [] as string[]];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > maxLine) throw new ReflectoryError("answer_too_large", `a line of the stream has more than ${maxLine} characters`);
    for (const line of lines) {
      const [field, text] = line.includes(":") ? [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).replace(/^ /, "")] : [line, ""];
      if (field === "event") name = text;
      else if (field === "id") id = text;
      else if (field === "data") data.push(text);
      else if (line === "") {
        if (id || data.length > 0) yield { id, name, data: data.length > 0 ? JSON.parse(data.join("\n")) : null };
        [id, name, data] = ["", "", []];
      }
    }
  }
}

function done<T>(job: Job<T>): T {
  if (job.status === "completed") return job.result as T;
  throw new ReflectoryError("wait_exceeded", `the job ${job.job_id} is ${job.status}`, { hint: "wait for it with job()", details: { job_id: job.job_id } });
}

/** The error of an answer that isn't a success. */
function problem(status: number, body: unknown): ReflectoryError {
  const p = (body ?? {}) as Partial<Schemas["Problem"] & { message: string }>;
  if (typeof p.code !== "string") return new ReflectoryError("answer_invalid", `the answer has status ${status} and isn't from a Reflectory server`, { status });
  return new ReflectoryError(p.code, p.detail ?? p.message ?? "", { status, ...given({ hint: p.hint, errors: p.errors, details: p.details, traceId: p.trace_id }) });
}

/** The error of a request without an answer. */
function lost(error: unknown, limit: AbortSignal, signal?: AbortSignal): ReflectoryError {
  if (error instanceof ReflectoryError) return error;
  if (signal?.aborted) return new ReflectoryError("cancelled", "the caller ended the call");
  if (limit.aborted) return new ReflectoryError("timeout", "the server didn't answer in time");
  const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
  return new ReflectoryError("connection_failed", `no connection to the server${cause?.code ? `: ${cause.code}` : ""}`);
}

/** The text of an answer, up to maxAnswer bytes. */
async function textOf(answer: Response): Promise<string> {
  const decoder = new TextDecoder();
  let [text, size] = ["", 0];
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxAnswer) throw new ReflectoryError("answer_too_large", `the answer has more than ${maxAnswer} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The value of JSON; undefined for what isn't JSON. */
function decoded(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The fields that have a value. */
function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };
}

/** Wait before another attempt: the seconds that the server named (limit 30), or a random time up to 0.2 s, doubled each time. */
async function rest(attempt: number, named: string | null, signal?: AbortSignal): Promise<void> {
  const ms = named && /^\d+$/.test(named) ? Math.min(30_000, 1000 * Number(named)) : Math.random() * 200 * 2 ** attempt;
  await new Promise((resolve) => setTimeout(resolve, ms));
  if (signal?.aborted) throw new ReflectoryError("cancelled", "the caller ended the call");
}
