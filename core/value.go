package core

import "encoding/json"

// Value is a value of a workflow that may hold templates.
type Value interface {
	// Render returns the value as JSON for a scope. A value without templates
	// returns the same bytes each time; the caller mustn't change them.
	Render(scope Scope) (json.RawMessage, error)
	// Constant reports whether the value is the same in every scope.
	Constant() bool
}

// Sampler is a [Value] with templates of which it is known that each gives a text.
type Sampler interface {
	// Sample returns the value with some text in the place of each template, so
	// that the rest of a config can be checked before there is a scope; nil where a
	// template may give anything.
	Sample() json.RawMessage
}

// Scope is what templates see. Each is JSON; nil is null.
type Scope struct {
	State   json.RawMessage
	Output  json.RawMessage
	Context json.RawMessage
}

// Constant is a [Value] without templates.
type Constant json.RawMessage

// Render returns the value itself.
func (c Constant) Render(Scope) (json.RawMessage, error) { return json.RawMessage(c), nil }

// Constant returns true.
func (c Constant) Constant() bool { return true }
