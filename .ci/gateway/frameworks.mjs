// The frameworks that make test-gateway drives through the gateway. changed are the options by which each reaches it instead
// of its model's own endpoint. ask sends a conversation, with a tool, a schema or as a stream if there is one, and returns the
// text and the value.
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import instructorOf from "@instructor-ai/instructor";
import { tool as chainTool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { OpenAI as Llama } from "@llamaindex/openai";
import { tool as llamaTool } from "llamaindex";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { Agent, OpenAIProvider, Runner, tool as agentTool } from "@openai/agents";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { z as z3 } from "zod/v3";

const collect = async (parts, textOf) => {
	let text = "";
	for await (const part of parts) text += textOf(part) ?? "";
	return { text };
};

// own are the value's members without those that a framework adds.
const own = ({ _meta, ...value }) => value;

// vercel is the AI SDK with one of its providers.
const vercel = (name, uses, changed, modelOf, schemaTool) => ({
	name, uses, changed, schemaTool,
	async ask(messages, { model, stream, tool: t, schema }) {
		const options = {
			model: modelOf(model), messages, maxRetries: 0,
			...(t && { tools: { [t.name]: tool({ description: t.description, inputSchema: t.parameters, execute: t.run }) }, stopWhen: stepCountIs(5) }),
			...(schema && { output: Output.object({ schema }) }),
		};
		if (stream) return collect(streamText(options).textStream, (part) => part);
		const r = await generateText(options);
		return { text: r.text, value: schema && r.output };
	},
});

export const frameworks = (url, token) => {
	const openai = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: token, maxRetries: 0 });
	const anthropic = new Anthropic({ baseURL: `${url}/anthropic`, apiKey: token, maxRetries: 0 });
	const aiOpenAI = createOpenAI({ baseURL: `${url}/openai/v1`, apiKey: token });
	const aiAnthropic = createAnthropic({ baseURL: `${url}/anthropic/v1`, apiKey: token });
	const chain = (model) => new ChatOpenAI({ model, apiKey: token, maxRetries: 0, configuration: { baseURL: `${url}/openai/v1` } });
	const instructor = instructorOf({ client: openai, mode: "TOOLS" });
	const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openai }), tracingDisabled: true });
	return [
		{
			name: "openai, chat completions", uses: ["openai"], changed: ["baseURL", "apiKey"],
			async ask(messages, { model, stream, tool: t, schema }) {
				if (t) {
					const fn = { name: t.name, description: t.description, parameters: z.toJSONSchema(t.parameters), parse: JSON.parse, function: t.run };
					return { text: await openai.chat.completions.runTools({ model, messages, tools: [{ type: "function", function: fn }] }).finalContent() };
				}
				if (schema) {
					const c = await openai.chat.completions.parse({ model, messages, response_format: zodResponseFormat(schema, "contact") });
					return { value: c.choices[0].message.parsed };
				}
				if (stream) return collect(await openai.chat.completions.create({ model, messages, stream }), (c) => c.choices[0]?.delta.content);
				return { text: (await openai.chat.completions.create({ model, messages })).choices[0].message.content };
			},
		},
		{
			name: "openai, responses", uses: ["openai"], changed: ["baseURL", "apiKey"],
			async ask(input, { model, stream, tool: t, schema }) {
				if (schema) return { value: (await openai.responses.parse({ model, input, text: { format: zodTextFormat(schema, "contact") } })).output_parsed };
				if (stream) return collect(await openai.responses.create({ model, input, stream }), (e) => (e.type === "response.output_text.delta" ? e.delta : ""));
				const tools = t && [{ type: "function", name: t.name, description: t.description, parameters: z.toJSONSchema(t.parameters), strict: true }];
				let r = await openai.responses.create({ model, input, tools });
				for (let calls; (calls = r.output.filter((item) => item.type === "function_call")).length > 0; ) {
					const results = calls.map(async (c) => ({ type: "function_call_output", call_id: c.call_id, output: await t.run(JSON.parse(c.arguments)) }));
					r = await openai.responses.create({ model, input: await Promise.all(results), tools, previous_response_id: r.id });
				}
				return { text: r.output_text };
			},
		},
		{
			name: "@anthropic-ai/sdk", uses: ["@anthropic-ai/sdk"], changed: ["baseURL", "apiKey"],
			async ask(messages, { model, stream, tool: t, schema }) {
				const body = { model, messages, max_tokens: 999 };
				const textOf = (m) => m.content.filter((b) => b.type === "text").map((b) => b.text).join("");
				if (t) {
					const tools = [betaZodTool({ name: t.name, description: t.description, inputSchema: t.parameters, run: t.run })];
					return { text: textOf(await anthropic.beta.messages.toolRunner({ ...body, tools })) };
				}
				if (schema) return { value: (await anthropic.messages.parse({ ...body, output_config: { format: zodOutputFormat(schema) } })).parsed_output };
				if (stream) return { text: await anthropic.messages.stream(body).finalText() };
				return { text: textOf(await anthropic.messages.create(body)) };
			},
		},
		vercel("ai with @ai-sdk/openai", ["ai", "@ai-sdk/openai"], ["baseURL", "apiKey"], (model) => aiOpenAI(model)),
		vercel("ai with @ai-sdk/openai, chat", ["ai", "@ai-sdk/openai"], ["baseURL", "apiKey"], (model) => aiOpenAI.chat(model)),
		vercel("ai with @ai-sdk/anthropic", ["ai", "@ai-sdk/anthropic"], ["baseURL", "apiKey"], (model) => aiAnthropic(model), "json"),
		{
			name: "@openai/agents", uses: ["@openai/agents"], changed: ["baseURL", "apiKey"],
			async ask(messages, { model, stream, tool: t, schema }) {
				const tools = t ? [agentTool({ name: t.name, description: t.description, parameters: t.parameters, execute: t.run })] : [];
				const agent = new Agent({ name: "agent", model, tools, ...(schema && { outputType: schema }) });
				const input = messages.map((m) => (m.role === "user" ? m : { role: "assistant", status: "completed", content: [{ type: "output_text", text: m.content }] }));
				if (stream) return collect((await runner.run(agent, input, { stream })).toTextStream(), (part) => part);
				const r = await runner.run(agent, input);
				return { text: r.finalOutput, value: r.finalOutput };
			},
		},
		{
			name: "@langchain/openai with langgraph", uses: ["@langchain/openai", "@langchain/langgraph"], changed: ["configuration.baseURL", "apiKey"],
			async ask(messages, { model, stream, tool: t, schema }) {
				if (schema) return { value: await chain(model).withStructuredOutput(schema, { method: "jsonSchema", strict: true }).invoke(messages) };
				if (stream) return collect(await chain(model).stream(messages), (c) => c.text);
				const tools = t ? [chainTool(t.run, { name: t.name, description: t.description, schema: t.parameters })] : [];
				const r = await createReactAgent({ llm: chain(model), tools }).invoke({ messages });
				return { text: r.messages.at(-1).text };
			},
		},
		{
			name: "@instructor-ai/instructor", schemaTool: "contact", uses: ["@instructor-ai/instructor", "openai"], changed: ["baseURL", "apiKey"],
			async ask(messages, { model, stream, tool: t, schema }) {
				const create = (more) => instructor.chat.completions.create({ model, messages, ...more });
				// It reads schemas of zod 3.
				if (schema) return { value: own(await create({ max_retries: 0, response_model: { schema: z3.object({ name: z3.string(), age: z3.number() }), name: "contact" } })) };
				if (stream) return collect(await create({ stream }), (c) => c.choices[0]?.delta.content);
				const tools = t && [{ type: "function", function: { name: t.name, description: t.description, parameters: z.toJSONSchema(t.parameters) } }];
				for (messages = [...messages]; ; ) {
					const { message } = (await create({ tools, messages })).choices[0];
					if (!message.tool_calls) return { text: message.content };
					messages.push(message);
					for (const c of message.tool_calls) messages.push({ role: "tool", tool_call_id: c.id, content: await t.run(JSON.parse(c.function.arguments)) });
				}
			},
		},
		{
			name: "llamaindex", uses: ["llamaindex", "@llamaindex/openai"], changed: ["baseURL", "apiKey"],
			async ask(messages, { model, stream, tool: t, schema }) {
				const llm = new Llama({ model, apiKey: token, baseURL: `${url}/openai/v1`, maxRetries: 0, supportToolCall: true });
				if (schema) return { value: JSON.parse((await llm.chat({ messages, responseFormat: zodResponseFormat(schema, "contact") })).message.content) };
				if (stream) return collect(await llm.chat({ messages, stream }), (c) => c.delta);
				if (!t) return { text: (await llm.chat({ messages })).message.content };
				const tools = [llamaTool({ name: t.name, description: t.description, parameters: t.parameters, execute: t.run })];
				for (const history = [...messages]; ; ) {
					const { newMessages, toolCalls } = await llm.exec({ messages: history, tools });
					history.push(...newMessages);
					if (toolCalls.length === 0) return { text: newMessages.at(-1).content };
				}
			},
		},
		{
			name: "@mastra/core", uses: ["@mastra/core"], changed: ["url", "apiKey"],
			async ask(messages, { model, stream, tool: t, schema }) {
				const tools = t ? { [t.name]: createTool({ id: t.name, description: t.description, inputSchema: t.parameters, execute: t.run }) } : {};
				const agent = new MastraAgent({ id: "agent", name: "agent", instructions: "Help.", model: { id: `gateway/${model}`, url: `${url}/openai/v1`, apiKey: token }, tools, maxRetries: 0 });
				if (stream) return collect((await agent.stream(messages)).textStream, (part) => part);
				const r = await agent.generate(messages, { ...(schema && { structuredOutput: { schema } }) });
				if (r.error) throw r.error;
				return { text: r.text, value: r.object };
			},
		},
	];
};
