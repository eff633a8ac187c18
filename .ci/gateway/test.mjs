// Drives each framework through the gateway, in front of the scripted upstream at control, and prints a table of what works as
// JSON: a cell is true, or what went wrong. Called by the test in cmd/host/internal/cli/gateway_clients_test.go.
import assert from "node:assert/strict";
import { z } from "zod";
import { frameworks } from "./frameworks.mjs";

const [url, token, control, only] = process.argv.slice(2);
const set = (...script) => fetch(`${control}/set`, { method: "POST", body: JSON.stringify(script) });
const get = async (what) => (await fetch(`${control}/${what}`)).json();
const user = (content) => ({ role: "user", content });
const contact = z.object({ name: z.string(), age: z.number() });
const right = { name: "Ann", age: 3 };

const cells = {
	async "plain reply"(f) {
		await set({ Text: "Hello there." });
		assert.equal((await f.ask([user("Hi")], { model: "coder" })).text, "Hello there.");
	},
	async stream(f) {
		await set({ Text: "A text that comes in many pieces. 😀" });
		assert.equal((await f.ask([user("Say something long.")], { model: "coder", stream: true })).text, "A text that comes in many pieces. 😀");
	},
	async tools(f) {
		const call = (id, args) => ({ Thinking: "Look it up.", Calls: [{ ID: id, Name: "lookup", Arguments: args }] });
		await set(call("call_1", '{"wrong":1}'), call("call_2", '{"word":"tide"}'), { Text: "It comes twice a day." });
		const asked = [];
		const run = async (input) => { asked.push((input.context ?? input).word); return "twice a day"; };
		const tool = { name: "lookup", description: "Looks a word up.", parameters: z.object({ word: z.string() }), run };
		assert.equal((await f.ask([user("What is the tide?")], { model: "coder", tool })).text, "It comes twice a day.");
		assert.deepEqual(asked, ["tide"]);
	},
	async "structured output"(f) {
		const reply = (value) => (f.schemaTool ? { Calls: [{ ID: `call_${value.age}`, Name: f.schemaTool, Arguments: JSON.stringify(value) }] } : { Text: JSON.stringify(value) });
		await set(reply({ name: "Ann", age: "three" }), reply(right));
		assert.deepEqual((await f.ask([user("Who is Ann, 3 years old?")], { model: "coder", schema: contact })).value, right);
	},
	async recall(f) {
		await set({ Text: "Run make ship-billing." });
		const { text } = await f.ask([user("How is the billing service deployed?")], { model: "keeper" });
		assert.equal(text, "Run make ship-billing.");
		assert.match((await get("requests")).at(-1).Body, /<context source=.*make ship-billing/);
	},
	async "inferred feedback"(f) {
		const before = await get("feedbacks");
		await set({ Text: "Run make ship-billing." }, { Text: "Then ship nothing more." });
		const question = user(`How is the billing service deployed with ${f.name}?`);
		const { text } = await f.ask([question], { model: "judged" });
		await f.ask([question, { role: "assistant", content: text }, user("And then?")], { model: "judged" });
		assert.equal(await get("feedbacks"), before + 1);
	},
	async errors(f) {
		await set({ Status: 400, Text: "The prompt is too long." });
		await assert.rejects(() => f.ask([user("Hi")], { model: "coder" }), (err) => /too long/.test(said(err)) || assert.fail(said(err)));
		await assert.rejects(() => f.ask([user("Hi")], { model: "nothing" }), (err) => /serves no model/.test(said(err)) || assert.fail(said(err)));
	},
};

// said is an error with what it wraps.
const said = (err) => [err?.message, err?.responseBody, JSON.stringify(err?.error ?? ""), err?.cause ? said(err.cause) : ""].join(" ");

const table = [];
for (const f of frameworks(url, token)) {
	if (only && f.name !== only) continue;
	const row = { name: f.name, uses: f.uses, changed: f.changed, cells: {} };
	for (const [name, cell] of Object.entries(cells)) {
		try {
			await cell(f);
			row.cells[name] = true;
		} catch (err) {
			row.cells[name] = String(err?.stack ?? err).slice(0, 1500);
		}
	}
	table.push(row);
}
console.log(JSON.stringify(table));
process.exit(0);
