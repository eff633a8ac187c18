package llmeval

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// sampling is how a model picks its words.
type sampling struct {
	// temperature is from 0 to 2 (the protocol's range); nil means the endpoint's
	// default.
	temperature *float64
	// maxTokens limits the reply; 0 means the endpoint's default.
	maxTokens int64
	// topP is from 0 to 1 and seed any integer; nil means the endpoint's default.
	topP *float64
	seed *int64
	// stop are texts at which the reply ends.
	stop []string
}

// maxStops limits the texts at which a reply ends. No endpoint accepts as many.
const maxStops = 16

// message is one turn of a conversation.
type message struct {
	Role, Content string
	// Parts are the content of a message that isn't only text. Content is then their texts.
	Parts []part
	// Calls are the calls that an assistant's message asks for.
	Calls []toolCall
	// CallID and Tool are, of a tool's message, the call that it answers and the tool's name.
	CallID, Tool string
}

// The roles of messages.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// judgeConfig is an evaluator's config.
type judgeConfig struct {
	endpoint *endpoint
	sampling sampling
	prompt   string // rendered; "" means the built-in one
	system   string // "" means the built-in one
	context  json.RawMessage
	examples []example
	scale    float64 // the highest score that the judge gives: 1, 10 or 100
}

// example is a judgement that is shown to the judge.
type example struct {
	output   json.RawMessage
	pass     bool
	score    *float64
	feedback string
}

// callConfig is a generator's or corrector's config.
type callConfig struct {
	endpoint *endpoint
	sampling sampling
	messages []message
	attached *attachments // of the messages
	tools    toolbox
	parse    bool         // the reply is JSON
	schema   *replySchema // that the JSON must fit, or nil
}

func decodeJudge(raw json.RawMessage, getenv func(string) string) (*judgeConfig, error) {
	f := jsonconfig.Read(raw)
	c := &judgeConfig{endpoint: decodeEndpoint(f), sampling: decodeSampling(f)}
	f.Take("prompt", "text", &c.prompt)
	f.Take("system", "text", &c.system)
	f.Take("context", "JSON", &c.context)
	c.scale = 1
	if f.Take("scale", "a number", &c.scale) && c.scale != 1 && c.scale != 10 && c.scale != 100 {
		f.Report("scale is not 1, 10 or 100")
	}
	f.Each("examples", func(item *jsonconfig.Object) { c.examples = append(c.examples, decodeExample(item)) })
	f.Done()
	return c, finish(f, c.endpoint, getenv)
}

func decodeExample(f *jsonconfig.Object) example {
	var e example
	if !f.Take("output", "JSON", &e.output) {
		f.Report("output is missing")
	}
	if !f.Take("pass", "a boolean", &e.pass) && !f.Has("pass") {
		f.Report("pass is missing")
	}
	var score float64
	if f.Take("score", "a number", &score) {
		if score < 0 || score > 1 {
			f.Report("score is not between 0 and 1")
		}
		e.score = &score
	}
	f.Take("feedback", "text", &e.feedback)
	f.Done()
	return e
}

func decodeCall(raw json.RawMessage, getenv func(string) string) (*callConfig, error) {
	short, attached := attach(raw)
	c, err := decodeAttached(short, attached, getenv)
	if attached.used != len(attached.data) { // it isn't all of parts
		return decodeAttached(raw, &attachments{}, getenv)
	}
	return c, err
}

// decodeAttached is decodeCall for a config of which something was taken out.
func decodeAttached(raw json.RawMessage, attached *attachments, getenv func(string) string) (*callConfig, error) {
	f := jsonconfig.Read(raw)
	c := &callConfig{endpoint: decodeEndpoint(f), sampling: decodeSampling(f), messages: decodeMessages(f, attached), attached: attached, tools: decodeTools(f)}
	checkParts(f, c.messages, c.endpoint.protocol)
	var parse string
	if f.Take("parse", "text", &parse) && parse != "json" {
		f.Report(`parse %q is not known: only "json" is`, parse)
	}
	var schema json.RawMessage
	if f.Take("response_schema", "JSON", &schema) {
		var err error
		if c.schema, err = compileSchema(schema); err != nil {
			f.Report("response_schema: %v", err)
		}
	}
	c.parse = parse == "json" || c.schema != nil
	f.Done()
	return c, finish(f, c.endpoint, getenv)
}

// decodeMessages reads prompt or messages, with system in front.
func decodeMessages(f *jsonconfig.Object, attached *attachments) []message {
	var messages []message
	var system, prompt string
	if f.Take("system", "text", &system) {
		messages = append(messages, message{Role: roleSystem, Content: system})
	}
	hasPrompt, hasMessages := f.Has("prompt"), f.Has("messages")
	switch {
	case hasPrompt && hasMessages:
		f.Report("prompt and messages exclude each other")
	case !hasPrompt && !hasMessages:
		f.Report("prompt or messages is missing")
	}
	if f.Take("prompt", "text", &prompt) {
		messages = append(messages, message{Role: roleUser, Content: prompt})
	}
	f.Each("messages", func(item *jsonconfig.Object) { messages = append(messages, decodeMessage(item, attached)) })
	return messages
}

func decodeMessage(f *jsonconfig.Object, attached *attachments) message {
	var m message
	roles := []string{roleSystem, roleUser, roleAssistant, roleTool}
	if f.Take("role", "text", &m.Role); !slices.Contains(roles, m.Role) {
		f.Report("role %q is not one of %s", m.Role, strings.Join(roles, ", "))
	}
	decodeContent(f, &m, attached)
	if m.Role == roleTool {
		f.Take("tool_call_id", "text", &m.CallID)
		f.Take("name", "text", &m.Tool)
	}
	if m.Role == roleAssistant {
		m.Calls = decodeCalls(f)
	}
	f.Done()
	return m
}

func decodeSampling(f *jsonconfig.Object) sampling {
	var s sampling
	var temperature float64
	if f.Take("temperature", "a number", &temperature) {
		if temperature < 0 || temperature > 2 {
			f.Report("temperature is not between 0 and 2")
		}
		s.temperature = &temperature
	}
	if f.Take("max_tokens", "a whole number", &s.maxTokens) && s.maxTokens < 1 {
		f.Report("max_tokens is less than 1")
	}
	var topP float64
	if f.Take("top_p", "a number", &topP) {
		if topP < 0 || topP > 1 {
			f.Report("top_p is not between 0 and 1")
		}
		s.topP = &topP
	}
	var seed int64
	if f.Take("seed", "a whole number", &seed) {
		s.seed = &seed
	}
	s.stop = decodeStop(f)
	return s
}

// decodeStop reads one text or several.
func decodeStop(f *jsonconfig.Object) []string {
	var raw json.RawMessage
	if !f.Take("stop", "JSON", &raw) {
		return nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(raw, &several) != nil {
		f.Report("stop is neither text nor a list of texts")
	}
	if len(several) > maxStops {
		f.Report("stop has %d texts (limit %d)", len(several), maxStops)
	}
	return several
}

// finish returns the problems of a config, or else reads the endpoint's key.
func finish(f *jsonconfig.Object, e *endpoint, getenv func(string) string) error {
	hint := "correct the config; the README of llm-eval lists its keys"
	if e.url == "" || e.model == "" {
		hint = settingsHint
	}
	if err := f.Err("llm-eval config", hint); err != nil {
		return err
	}
	return e.unlock(getenv)
}
