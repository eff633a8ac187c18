package modeltext

import (
	"slices"
	"strings"
)

// Finish is how a reply ended. Only a [Whole] reply is an output, a verdict or anything that
// may be kept.
type Finish int

// The ways in which a reply ends, from the best to the worst. If a reply has several, the
// worst counts.
const (
	// Whole is a reply that the model ended, one without a finish reason, or one whose reason
	// isn't known, which [Reply.Unknown] names.
	Whole Finish = iota
	// Cut is a reply that was cut off at a length limit.
	Cut
	// Refused is a reply that the model or a filter refused to complete.
	Refused
	// Failed is a reply in which the endpoint reports an error of its own.
	Failed
)

// finishes are the finish reasons of common endpoints, in lower case.
var finishes = map[string]Finish{
	"": Whole, "stop": Whole, "end_turn": Whole, "tool_calls": Whole, "tool_use": Whole, "function_call": Whole,
	"stop_sequence": Whole, "eos": Whole, "eos_token": Whole, "complete": Whole, "completed": Whole,
	"model_length": Cut, "token_limit": Cut, "incomplete": Cut, "model_context_window_exceeded": Cut, "pause_turn": Cut,
	"refusal": Refused, "recitation": Refused, "spii": Refused, "sensitive": Refused, "guardrail_intervened": Refused, "language": Refused,
	"load": Failed, "unload": Failed, "in_progress": Failed, "queued": Failed,
	"other": Failed, "unexpected_tool_call": Failed, "too_many_tool_calls": Failed,
}

// finishWords are the words in a reason that say how the reply ended where [finishes] doesn't know
// it: no endpoint calls a whole reply by one of them. The first that is found counts.
var finishWords = []struct {
	finish Finish
	words  []string
}{
	{Refused, []string{"filter", "safety", "block", "refus", "prohibit", "toxic", "moderat", "recitation", "policy", "violat"}},
	{Cut, []string{"length", "limit", "max", "truncat"}},
	{Failed, []string{"error", "resource", "cancel", "abort", "timeout", "timed", "fail", "malformed", "interrupt", "overload", "unavailable", "disconnect"}},
}

// finishOf classifies a finish reason, and reports whether it is known.
func finishOf(reason string) (Finish, bool) {
	reason = strings.ToLower(strings.TrimSpace(reason))
	if f, known := finishes[reason]; known {
		return f, true
	}
	for _, by := range finishWords {
		if slices.ContainsFunc(by.words, func(word string) bool { return strings.Contains(reason, word) }) {
			return by.finish, true
		}
	}
	return Whole, false
}
