package llmeval

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// sampling is how a model picks its words.
type sampling struct {
	// temperature is from 0 to 2 (the protocol's range); nil leaves it to the
	// endpoint.
	temperature *float64
	// maxTokens bounds the reply; 0 leaves it to the endpoint.
	maxTokens int64
}

// message is one turn of a conversation.
type message struct{ role, content string }

// The roles of messages.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
)

// judgeConfig is an evaluator's config.
type judgeConfig struct {
	endpoint *endpoint
	sampling sampling
	prompt   string // rendered; "" means the built-in one
	system   string // "" means the built-in one
	context  json.RawMessage
	examples []example
}

// example is a judgement that the judge is shown.
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
	parse    bool // the reply is JSON
}

func decodeJudge(raw json.RawMessage, getenv func(string) string) (*judgeConfig, error) {
	var problems []string
	f := readFields(raw, "", &problems)
	c := &judgeConfig{endpoint: decodeEndpoint(f), sampling: decodeSampling(f)}
	f.take("prompt", "text", &c.prompt)
	f.take("system", "text", &c.system)
	f.take("context", "JSON", &c.context)
	f.each("examples", func(item *fields) { c.examples = append(c.examples, decodeExample(item)) })
	f.done()
	return c, finish(c.endpoint, problems, getenv)
}

func decodeExample(f *fields) example {
	var e example
	if !f.take("output", "JSON", &e.output) {
		f.report("%soutput is missing", f.path)
	}
	if !f.take("pass", "a boolean", &e.pass) && !f.has("pass") {
		f.report("%spass is missing", f.path)
	}
	var score float64
	if f.take("score", "a number", &score) {
		if score < 0 || score > 1 {
			f.report("%sscore is not between 0 and 1", f.path)
		}
		e.score = &score
	}
	f.take("feedback", "text", &e.feedback)
	f.done()
	return e
}

func decodeCall(raw json.RawMessage, getenv func(string) string) (*callConfig, error) {
	var problems []string
	f := readFields(raw, "", &problems)
	c := &callConfig{endpoint: decodeEndpoint(f), sampling: decodeSampling(f), messages: decodeMessages(f)}
	var parse string
	if f.take("parse", "text", &parse) && parse != "json" {
		f.report(`parse %q is not known: only "json" is`, parse)
	}
	c.parse = parse == "json"
	f.done()
	return c, finish(c.endpoint, problems, getenv)
}

// decodeMessages reads prompt or messages, with system in front.
func decodeMessages(f *fields) []message {
	var messages []message
	var system, prompt string
	if f.take("system", "text", &system) {
		messages = append(messages, message{roleSystem, system})
	}
	hasPrompt, hasMessages := f.has("prompt"), f.has("messages")
	switch {
	case hasPrompt && hasMessages:
		f.report("prompt and messages exclude each other")
	case !hasPrompt && !hasMessages:
		f.report("prompt or messages is missing")
	}
	if f.take("prompt", "text", &prompt) {
		messages = append(messages, message{roleUser, prompt})
	}
	f.each("messages", func(item *fields) { messages = append(messages, decodeMessage(item)) })
	return messages
}

func decodeMessage(f *fields) message {
	var m message
	roles := []string{roleSystem, roleUser, roleAssistant}
	if f.take("role", "text", &m.role); !slices.Contains(roles, m.role) {
		f.report("%srole %q is not one of %s", f.path, m.role, strings.Join(roles, ", "))
	}
	if !f.take("content", "text", &m.content) && !f.has("content") {
		f.report("%scontent is missing", f.path)
	}
	f.done()
	return m
}

func decodeSampling(f *fields) sampling {
	var s sampling
	var temperature float64
	if f.take("temperature", "a number", &temperature) {
		if temperature < 0 || temperature > 2 {
			f.report("temperature is not between 0 and 2")
		}
		s.temperature = &temperature
	}
	if f.take("max_tokens", "a whole number", &s.maxTokens) && s.maxTokens < 1 {
		f.report("max_tokens is less than 1")
	}
	return s
}

// finish turns problems into one error, or else reads the endpoint's key.
func finish(e *endpoint, problems []string, getenv func(string) string) error {
	if len(problems) == 0 {
		return e.unlock(getenv)
	}
	err := sdk.Errorf(sdk.Invalid, "config_invalid", "llm-eval config: %s", strings.Join(problems, "; ")).
		WithDetail("problems", problems)
	if e.url == "" || e.model == "" {
		err.Hint = settingsHint
	}
	return err
}
