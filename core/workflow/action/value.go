package action

import "encoding/json"

// Value is a value of a workflow that may hold templates.
type Value interface {
	// Render returns the value as JSON, with the given variables for its templates. A
	// value without templates returns the same bytes each time; the caller mustn't change
	// them.
	Render(v Variables) (json.RawMessage, error)
	// Constant reports whether the value doesn't depend on the variables.
	Constant() bool
}

// Sampler is a [Value] with templates that are known to produce text.
type Sampler interface {
	// Sample returns the value with some text in place of each template, so that the rest
	// of a config can be checked before there are variables; nil if a template may
	// produce anything.
	Sample() json.RawMessage
}

// Variables are the variables of templates. Each is JSON; nil is null.
type Variables struct {
	State   json.RawMessage
	Output  json.RawMessage
	Context json.RawMessage
}

// Constant is a [Value] without templates.
type Constant json.RawMessage

// Render returns the value itself.
func (c Constant) Render(Variables) (json.RawMessage, error) { return json.RawMessage(c), nil }

// Constant returns true.
func (c Constant) Constant() bool { return true }
