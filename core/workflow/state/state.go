// Package state is the state of a run: a JSON object that begins with the workflow's own
// values, which the caller's may override ([Overlay]), and gets the result of each node
// under the node's name.
//
// It is internal to Reflectory: its API may change in any release.
package state

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// State is a run's state. It keeps its encoded form, which is sent with each call of a
// plugin, and its decoded form, which conditions read: a state grows to megabytes, and a
// node with ten gotos would decode it ten times. Both are made when they are first
// needed, and dropped when a key changes. It is for one goroutine.
type State struct {
	members map[string]json.RawMessage
	encoded json.RawMessage
	vars    map[string]any
}

// New makes a state from a JSON object; nil and null are an empty one. Reserved keys are
// refused, reason "state_key_invalid": only loops write them.
func New(object json.RawMessage) (*State, error) {
	members, err := decodeObject(object)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if err := checkKey(key); err != nil {
			return nil, err
		}
	}
	return &State{members: members}, nil
}

// Set sets the value of a key, which must be JSON. The state keeps the value's bytes.
func (s *State) Set(key string, value json.RawMessage) {
	s.members[key] = value
	s.encoded, s.vars = nil, nil
}

// JSON is the state as a JSON object with its keys sorted. The caller mustn't change it.
func (s *State) JSON() json.RawMessage {
	if s.encoded == nil {
		s.encoded = encodeObject(s.members)
	}
	return s.encoded
}

// Vars are the variables of policypoint.When: the decoded state as "state". The caller
// mustn't change them.
func (s *State) Vars() (map[string]any, error) {
	if s.vars == nil {
		v, err := jsontext.Decode(s.JSON())
		if err != nil {
			return nil, sdk.Wrap("read the state", err)
		}
		s.vars = map[string]any{"state": v}
	}
	return s.vars, nil
}
