package run

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// maxPromptDiff bounds the texts that a comparison of prompts looks at and shows, in bytes: two
// whole prompts of a call, with room for the JSON of their lines.
const maxPromptDiff = 4 * sdk.MaxPromptBytes

// promptLineBytes is what a line of a text counts for in addition to its bytes.
const promptLineBytes = 32

// PromptDiff is a message to a language model that differs between two attempts, or that was sent
// for only one of them.
type PromptDiff struct {
	// Role is what the call did that sent the message, Step the child of a composite evaluator that made
	// the call, if one did, and Plugin the called plugin.
	Role   sdk.Role `json:"role"`
	Step   string   `json:"step,omitempty"`
	Plugin string   `json:"plugin"`
	// Message is the message's position in its prompt, counted from 1, and MessageRole its role.
	Message     int    `json:"message"`
	MessageRole string `json:"message_role"`
	// Side is "from" or "to" if only that attempt has the message, else "both".
	Side string `json:"side"`
	// FromBytes and ToBytes are the sizes of the whole texts.
	FromBytes int `json:"from_bytes"`
	ToBytes   int `json:"to_bytes"`
	// Lines are the lines that only one of the texts has, in order.
	Lines []DiffLine `json:"lines,omitempty"`
	// Omitted is why there are no lines: "purged", "session", "recall" or "digests" if a text isn't
	// recorded (purged texts of the same size, and texts of a session, may be equal), "limit" if the texts are
	// too long, or are the same as far as they are recorded.
	Omitted string `json:"omitted,omitempty"`
}

// The values of [PromptDiff.Omitted] besides the reasons for [core.Prompt.Withheld].
const (
	omittedPurged = "purged"
	omittedLimit  = "limit"
)

// DiffPrompts lists the messages that differ between the prompts of two attempts. A prompt is
// compared with a prompt of the other attempt that the same step sent in the same role; a prompt
// that both have is left out, however often it was sent.
func DiffPrompts(from, to []core.Prompt) []PromptDiff {
	d := promptDiffer{room: maxPromptDiff, found: []PromptDiff{}}
	gone, added := onlyIn(from, to), onlyIn(to, from)
	for _, a := range gone {
		var b core.Prompt
		at := slices.IndexFunc(added, func(p core.Prompt) bool { return p.Role == a.Role && p.Step == a.Step })
		if at >= 0 {
			b = added[at]
			added = slices.Delete(added, at, at+1)
		}
		d.compare(a, b)
	}
	for _, b := range added {
		d.compare(core.Prompt{}, b)
	}
	return d.found
}

// onlyIn are the prompts of a list that another list doesn't have.
func onlyIn(list, other []core.Prompt) (rest []core.Prompt) {
	for _, p := range list {
		if !slices.ContainsFunc(other, func(q core.Prompt) bool {
			return p.Role == q.Role && p.Step == q.Step && slices.EqualFunc(p.Messages, q.Messages, sameMessage)
		}) {
			rest = append(rest, p)
		}
	}
	return rest
}

// sameMessage reports whether two messages are known to be equal.
func sameMessage(a, b core.PromptMessage) bool {
	return a.Role == b.Role && a.Bytes == b.Bytes && a.Digest != "" && a.Digest == b.Digest
}

// promptDiffer collects differences of prompts; room is how much more text it may compare.
type promptDiffer struct {
	found []PromptDiff
	room  int
}

// compare adds what differs between two prompts of the same step. One that has no role stands for none.
func (d *promptDiffer) compare(a, b core.Prompt) {
	one := PromptDiff{Role: cmp.Or(a.Role, b.Role), Step: cmp.Or(a.Step, b.Step), Plugin: cmp.Or(b.Plugin, a.Plugin)}
	for i := range max(len(a.Messages), len(b.Messages)) {
		one.Message = i + 1
		from, to := a.Messages[min(i, len(a.Messages)):], b.Messages[min(i, len(b.Messages)):]
		if len(from) > 0 && len(to) > 0 && from[0].Role == to[0].Role {
			if !sameMessage(from[0], to[0]) {
				d.add(one, SideBoth, &a, &b, from[0], to[0])
			}
			continue
		}
		if len(from) > 0 {
			d.add(one, SideFrom, &a, &a, from[0], core.PromptMessage{})
		}
		if len(to) > 0 {
			d.add(one, SideTo, &b, &b, core.PromptMessage{}, to[0])
		}
	}
}

// add adds the difference of two messages of the prompts a and b.
func (d *promptDiffer) add(one PromptDiff, side string, a, b *core.Prompt, from, to core.PromptMessage) {
	one.Side, one.MessageRole, one.FromBytes, one.ToBytes = side, cmp.Or(from.Role, to.Role), from.Bytes, to.Bytes
	size := len(from.Text) + len(to.Text) + promptLineBytes*(strings.Count(from.Text, "\n")+strings.Count(to.Text, "\n")+2)
	switch {
	case a.Purged || b.Purged:
		one.Omitted = omittedPurged
	case a.Withheld != "" || b.Withheld != "":
		one.Omitted = cmp.Or(a.Withheld, b.Withheld)
	case size > d.room || from.Text == "" && from.Bytes > 0 || to.Text == "" && to.Bytes > 0:
		one.Omitted = omittedLimit
	default:
		d.room -= size
		one.Lines = slices.DeleteFunc(DiffLines(messageLines(from), messageLines(to)), func(l DiffLine) bool { return l.Side == SideBoth })
		if len(one.Lines) == 0 {
			one.Omitted = omittedLimit
		}
	}
	d.found = append(d.found, one)
}

// messageLines are the lines of a message's text; none if it is empty.
func messageLines(m core.PromptMessage) []string {
	if m.Text == "" {
		return nil
	}
	return textLines(m.Text)
}
