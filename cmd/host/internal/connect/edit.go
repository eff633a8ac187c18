package connect

import (
	"encoding/json"
	"strings"
)

// Edit is one change of a settings file.
type Edit struct {
	// Path leads to the changed value: names of members.
	Path []string `json:"path"`
	// Value is what is set there or, with Append, added to the list there.
	Value  json.RawMessage `json:"value,omitempty"`
	Append bool            `json:"append,omitempty"`
	// Missing is whether the value is only set if there is none.
	Missing bool `json:"missing,omitempty"`
	// Text is what a change of TOML adds.
	Text string `json:"text,omitempty"`

	// Made is the path of the outermost object or list that the change made, and Old the text of the
	// value that it replaced: they are for undoing it.
	Made []string `json:"made,omitempty"`
	Old  []byte   `json:"old,omitempty"`
}

// hidden stands for the token in what is kept of an edit.
const hidden = "{token}"

// withoutToken is an edit for the list of connections. What is set isn't needed to undo that.
func (e Edit) withoutToken(token string) Edit {
	if !e.Append {
		e.Value = nil
	}
	if token != "" {
		e.Text = strings.ReplaceAll(e.Text, token, hidden)
	}
	return e
}
