package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Action is something to do next, as data. Each surface shows it in its own way: the
// command line, for example, shows a command. Only the host makes actions: no plugin
// knows the host's verbs, and an Action doesn't cross the boundary to a plugin.
type Action struct {
	// Verb is what to do, in the words of the host's commands, such as "memory list".
	Verb string `json:"verb"`
	// Args are its arguments, in the order in which they are shown.
	Args Args `json:"args,omitempty"`
}

// Arg is an argument of an [Action].
type Arg struct {
	// Name is in snake_case, such as "namespace" or "in_place".
	Name string
	// Value is a string or a bool, or nil if somebody must still choose it.
	Value any
}

// Args are arguments. As JSON they are an object whose keys keep their order.
type Args []Arg

// NewAction makes an action from a verb and its arguments, given as alternating names
// and values:
//
//	NewAction("memory list", "namespace", "team/mail", "state", nil)
//
// It panics if a name isn't a string or has no value, which is a defect of the caller.
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
	if err != nil || begin == nil { // null sets nothing, as in package json
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
		arg := Arg{Name: name.(string)} // the decoder accepts only strings as keys
		if err := d.Decode(&arg.Value); err != nil {
			return err
		}
		args = append(args, arg)
	}
	*a = args
	return nil
}
