// A LangGraph store whose items are memories: compile({ store: new ReflectoryStore(client) }).
//
// An item is a memory in the namespace of the same name, whose metadata has the key and the value, and whose
// content is what search finds: the value's text. Putting a key again supersedes its memory. Deleting one
// asks for its erasure, which a token with the scope memory:erase does at once.

import { BaseStore } from "@langchain/langgraph";
import type { Item, Operation, OperationResults } from "@langchain/langgraph";
import type { Client, Memory } from "./client.ts";

type Search = Extract<Operation, { namespacePrefix: string[] }>;
type SearchItem = Awaited<ReturnType<BaseStore["search"]>>[number];
type List = Extract<Operation, { matchConditions?: unknown; offset: number }>;

/** The tag of the memories that are items of a store. */
const tag = "langgraph-store";

/** A store on a server's memory. All its namespaces are below root, as the client's token requires. */
export class ReflectoryStore extends BaseStore {
  readonly #client: Client;
  readonly #root: string[];

  constructor(client: Client, options: { root?: string } = {}) {
    super();
    this.#client = client;
    this.#root = options.root ? options.root.split("/") : [];
  }

  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results = [];
    for (const op of operations) results.push(await this.#one(op)); // in order: a later one sees an earlier one
    return results as OperationResults<Op>;
  }

  async #one(op: Operation): Promise<unknown> {
    if ("namespacePrefix" in op) return this.#search(op);
    if ("value" in op) return this.#put(op.namespace, op.key, op.value);
    if ("key" in op) return this.#item((await this.#found(op.namespace, op.key))[0]);
    return this.#namespaces(op as List);
  }

  /** The current memories of a key, the newest first. */
  async #found(namespace: string[], key: string): Promise<Memory[]> {
    const listed = await this.#list(this.#path(namespace), false, [tag, await keyTag(key)]);
    return listed.filter((m) => keyOf(m) === key);
  }

  async #put(namespace: string[], key: string, value: Record<string, unknown> | null): Promise<void> {
    const before = await this.#found(namespace, key);
    if (value === null) {
      for (const m of before) {
        await this.#client.request("POST", `/v1/gate/${encodeURIComponent(m.id)}/request`, { erase: true, reason: "deleted from the store" });
      }
      return;
    }
    await this.#client.observe(textOf(value), {
      namespace: this.#path(namespace),
      tags: [tag, await keyTag(key)],
      metadata: { key, value },
      ...(before.length > 0 ? { supersedes: before.map((m) => m.id) } : {}),
    });
  }

  async #search(op: Search): Promise<SearchItem[]> {
    const { query, filter = {}, limit = 10, offset = 0 } = op;
    const namespace = this.#path(op.namespacePrefix);
    const found: (Memory & { score?: number })[] = query
      ? (await this.#client.recall(query, { namespace, subtree: true, tags: [tag], limit: Math.min(50, limit + offset) })).memories
      : await this.#list(namespace, true, [tag]);
    return found
      .flatMap((m) => {
        const item = this.#item(m);
        return item ? [{ ...item, ...(query && m.score !== undefined ? { score: m.score } : {}) }] : [];
      })
      .filter((item) => Object.entries(filter).every(([name, want]) => matches(item.value[name], want)))
      .slice(offset, offset + limit);
  }

  async #namespaces(op: List): Promise<string[][]> {
    const all = new Map<string, string[]>();
    for (const m of await this.#list(this.#root.join("/"), true, [tag])) {
      const path = m.namespace.split("/").slice(this.#root.length);
      const fits = (op.matchConditions ?? []).every(({ matchType, path: want }) => {
        const part = matchType === "prefix" ? path.slice(0, want.length) : path.slice(-want.length);
        return part.length === want.length && want.every((w, i) => w === "*" || w === part[i]);
      });
      const shown = path.slice(0, op.maxDepth ?? path.length);
      if (fits) all.set(shown.join("/"), shown);
    }
    return [...all.keys()].sort().map((name) => all.get(name)!).slice(op.offset, op.offset + op.limit);
  }

  /** All current memories of a namespace with some tags, the newest first. */
  async #list(namespace: string, subtree: boolean, tags: string[]): Promise<Memory[]> {
    const all: Memory[] = [];
    for (let token: string | undefined = ""; token !== undefined; ) {
      const page = (await this.#client.request("GET", "/v1/memories", {
        namespace, subtree, tags, current: true, limit: 200, ...(token ? { page_token: token } : {}),
      })) as { items: Memory[]; next_page_token?: string };
      all.push(...page.items);
      token = page.next_page_token;
    }
    return all;
  }

  #path(namespace: string[]): string {
    return [...this.#root, ...namespace].join("/");
  }

  #item(m: Memory | undefined): Item | null {
    const stored = m?.metadata as { key: string; value: Record<string, unknown> } | undefined;
    if (!m || stored?.key === undefined) return null;
    return {
      key: stored.key, value: stored.value, namespace: m.namespace.split("/").slice(this.#root.length),
      createdAt: new Date(m.created_at), updatedAt: new Date(m.updated_at),
    };
  }
}

function keyOf(m: Memory): unknown {
  return (m.metadata as { key?: unknown } | undefined)?.key;
}

/** The tag of a key: a key may have characters that a tag may not. */
async function keyTag(key: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
  return "key-" + [...digest.slice(0, 16)].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/** What search reads of a value: its texts and numbers. */
function textOf(value: unknown): string {
  const texts: string[] = [];
  JSON.stringify(value, (name, v: unknown) => {
    if (v !== null && typeof v !== "object") texts.push(name ? `${name}: ${v}` : String(v));
    return v;
  });
  return texts.join("\n") || "{}";
}

/** Whether a value is what a filter wants: equal, or by its operators. */
function matches(value: unknown, want: unknown): boolean {
  const operators: Record<string, (a: never, b: never) => boolean> = {
    $eq: (a, b) => a === b, $ne: (a, b) => a !== b, $gt: (a, b) => a > b, $gte: (a, b) => a >= b, $lt: (a, b) => a < b, $lte: (a, b) => a <= b,
  };
  if (want !== null && typeof want === "object" && Object.keys(want).some((k) => k in operators)) {
    return Object.entries(want).every(([k, w]) => operators[k]?.(value as never, w as never) ?? false);
  }
  return JSON.stringify(value) === JSON.stringify(want);
}
