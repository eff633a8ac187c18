package modeltext

import "strings"

// Finish is how a reply ended. Only a [Whole] reply is an output, a verdict or anything that
// may be kept.
type Finish int

// The ways in which a reply ends, from the best to the worst. If a reply has several, the
// worst counts.
const (
	// Whole is a reply that the model ended, one without a finish reason, or one whose reason
	// isn't known, which a note names.
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
	"length": Cut, "max_tokens": Cut, "model_length": Cut, "max_length": Cut, "max_output_tokens": Cut, "token_limit": Cut,
	"incomplete": Cut, "context_length": Cut, "model_context_window_exceeded": Cut,
	"content_filter": Refused, "content_filtered": Refused, "safety": Refused, "refusal": Refused, "recitation": Refused,
	"blocklist": Refused, "prohibited_content": Refused, "spii": Refused, "image_safety": Refused, "sensitive": Refused,
	"guardrail_intervened": Refused,
	"error":                Failed, "network_error": Failed, "abort": Failed, "aborted": Failed, "cancelled": Failed, "timeout": Failed,
}

// finishOf classifies a finish reason, and reports whether it is known.
func finishOf(reason string) (Finish, bool) {
	f, known := finishes[strings.ToLower(strings.TrimSpace(reason))]
	return f, known
}
