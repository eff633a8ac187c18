package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Action is something to do next, as data: what offers the operation shows it in its own
// way, such as the command line as a command. It is the host's: no plugin knows its verbs,
// and an Action doesn't cross the boundary to one.
type Action struct {
	// Verb is what to do, in the words of the host's commands, such as "memory list".
	Verb string `json:"verb"`
	// Args are what to do it with, in the order in which they are shown.
	Args Args `json:"args,omitempty"`
}

// Arg is an argument of an [Action].
type Arg struct {
	// Name is in snake_case, such as "namespace" or "in_place".
	Name string
	// Value is a string or a bool, or nil for one that somebody has yet to choose.
	Value any
}

// Args are arguments. As JSON they are an object, in their order.
type Args []Arg

// NewAction makes an action of a verb and its arguments, names and values by turns:
//
//	NewAction("memory list", "namespace", "team/mail", "state", nil)
//
// A name that isn't a string, or has no value, is a defect of the caller, which panics.
func NewAction(verb string, pairs ...any) *Action {
	a := &Action{Verb: verb}
	for i := 0; i < len(pairs); i += 2 {
		a.Args = append(a.Args, Arg{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return a
}

// MarshalJSON implements [json.Marshaler].
func (a Args) MarshalJSON() ([]byte, error) {
	text := []byte("{")
	for i, arg := range a {
		name, err := json.Marshal(arg.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(arg.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Args) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	begin, err := d.Token()
	if err != nil || begin == nil { // null sets nothing, as the package json has it
		return err
	}
	if begin != json.Delim('{') {
		return fmt.Errorf("an action's args are an object, not %s", text)
	}
	var args Args
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		arg := Arg{Name: name.(string)} // the decoder takes nothing else for a key
		if err := d.Decode(&arg.Value); err != nil {
			return err
		}
		args = append(args, arg)
	}
	*a = args
	return nil
}
