package modeltext

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Reply is what a model sent.
type Reply struct {
	// Text is the answer: the content's text parts, joined, without the thoughts in them.
	Text string
	// Thought is what the model thought, from fields and parts of their own and from the
	// content. It is never an answer.
	Thought string
	// Refusal is what the model says if it refuses.
	Refusal string
	// Parts are the parts of the content that are neither text nor thoughts, at most 64.
	Parts []Part
	// ToolCalls are the calls that the model asks for, at most 128.
	ToolCalls []ToolCall
	// Finish is how the reply ended, and FinishReason what the endpoint calls that.
	Finish       Finish
	FinishReason string
	// Unknown is a finish reason that isn't known, which a note names too; "" if all are. The reply
	// may be a part of one, so it is used, but never again.
	Unknown string
	// Error is the error that the endpoint reports in place of a reply, or inside of it, as it
	// came; nil if it reports none. Finish is then Failed.
	Error json.RawMessage
	// NoChoice means that there is no reply in it at all.
	NoChoice bool
	// Model is the model's name, as the endpoint gives it.
	Model string
	// Usage is what the endpoint counted.
	Usage Usage
	// PromptCut means that the endpoint can't have read the whole prompt, see
	// [Reply.CheckUsage].
	PromptCut bool
	// Notes are remarks about what was odd, each once.
	Notes []string

	content string // the text with the thoughts in it
	aside   string // the thoughts that weren't in the text
}

// ToolCall is a call of a tool that a model asks for.
type ToolCall struct {
	ID, Name string
	// Arguments is JSON, as the model wrote it: it may be broken.
	Arguments string
}

// Errors of replies that can't be read.
var (
	// ErrTruncated is a reply whose JSON ends too early: sending the request again may help.
	ErrTruncated = errors.New("the JSON is cut off")
	// ErrNotReply is a reply that isn't of the protocol.
	ErrNotReply = errors.New("not a JSON object")
)

// FieldError is a field of a reply that has a wrong type, without which it can't be read.
type FieldError struct{ Field string }

// Error implements error.
func (e *FieldError) Error() string { return e.Field + " of a wrong type" }

// Read reads a whole reply of a protocol. What an endpoint writes otherwise than the protocol
// says is read if it can only mean one thing. The error is [ErrTruncated], [ErrNotReply] or a
// [*FieldError].
func Read(protocol Protocol, body []byte) (*Reply, error) {
	s := Stream{Protocol: protocol}
	p, err := protocol.decode(body)
	if err != nil {
		return nil, err
	}
	s.add(p)
	return s.Reply(), nil
}

// piece is a reply, or a piece of a streamed one, with only the parts that are read, in the form
// of chat completions, into which the other protocols' files turn their own. Decoding
// skips the others without allocating memory for them: hostile JSON takes 280 times its size
// if all of it becomes values.
type piece struct {
	Error json.RawMessage `json:"error"`
	Model text            `json:"model"`
	// Choices has the first choice, since only one is requested, or nil.
	Choices [1]*choice `json:"choices"`
	Usage   counted    `json:"usage"`
}

type choice struct {
	Index   count           `json:"index"`
	Finish  text            `json:"finish_reason"`
	Error   json.RawMessage `json:"error"`
	Message message         `json:"message"` // of a whole reply
	Delta   message         `json:"delta"`   // of a piece
	Usage   counted         `json:"usage"`   // where Moonshot puts it
}

type message struct {
	Content          content         `json:"content"`
	Refusal          text            `json:"refusal"`
	ReasoningContent thoughts        `json:"reasoning_content"`
	Reasoning        thoughts        `json:"reasoning"`
	Thinking         thoughts        `json:"thinking"`
	ReasoningDetails thoughts        `json:"reasoning_details"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	// arguments go on with the arguments of the last call.
	arguments string
}

// Stream puts a reply together that arrives in pieces. The zero value is ready.
type Stream struct {
	// Protocol is the form of the pieces.
	Protocol Protocol

	text, thought, refusal strings.Builder
	// whole is a message that came in place of deltas.
	whole    message
	parts    []Part
	calls    callList
	finish   Finish
	reason   string
	unknown  string
	model    string
	counts   counted
	err      json.RawMessage
	hasReply bool
	ended    bool
	counted  bool
}

// Add adds an event's JSON, and returns the text that came with it, which may contain
// thoughts. It has the same errors as [Read].
func (s *Stream) Add(event []byte) (text string, err error) {
	p, err := s.Protocol.decode(event)
	if err != nil {
		return "", err
	}
	return s.add(p), nil
}

// Error is the error that the endpoint has reported in the stream, or nil.
func (s *Stream) Error() json.RawMessage { return s.err }

// Began reports whether a piece of a reply has arrived.
func (s *Stream) Began() bool { return s.hasReply }

// Finished reports whether a finish reason has arrived.
func (s *Stream) Finished() bool { return s.ended }

// Counted reports whether the usage of the whole reply has arrived: with the finish reason, or
// in a piece without a choice, which is the last one.
func (s *Stream) Counted() bool { return s.counted }

// Usage is what the endpoint has counted so far.
func (s *Stream) Usage() Usage { return s.counts.usage(s.text.Len() + s.thought.Len()) }

func (s *Stream) add(p *piece) string {
	s.fail(p.Error)
	s.model = cmp.Or(string(p.Model), s.model)
	s.counts.latest(p.Usage)
	c := p.Choices[0]
	if c == nil {
		s.counted = s.counted || p.Usage != counted{}
		return ""
	}
	if c.Index > 0 { // only the first choice was requested
		return ""
	}
	s.hasReply = true
	s.counts.latest(c.Usage)
	s.fail(c.Error)
	if s.end(string(c.Finish)); c.Finish != "" && (p.Usage != counted{} || c.Usage != counted{}) {
		s.counted = true
	}
	if !c.Message.empty() {
		s.whole = c.Message
	}
	s.addMessage(&c.Delta)
	return c.Delta.Content.text
}

// fail records an error that the endpoint reports. An empty one is none.
func (s *Stream) fail(raw json.RawMessage) {
	switch string(raw) {
	case "", "null", `""`, "false", "0", "{}", "[]":
		return
	}
	s.finish = Failed
	if s.err == nil {
		s.err = raw
	}
}

// end records a finish reason. Of several, the worst counts.
func (s *Stream) end(reason string) {
	if reason == "" {
		return
	}
	s.ended = true
	f, known := finishOf(reason)
	if !known {
		s.unknown = reason
	}
	if f >= s.finish || s.reason == "" {
		s.reason = reason
	}
	s.finish = max(s.finish, f)
}

// addMessage adds a delta, or a whole message.
func (s *Stream) addMessage(m *message) {
	s.text.WriteString(m.Content.text)
	s.thought.WriteString(m.Content.thought)
	s.thought.WriteString(string(cmp.Or(m.ReasoningContent, m.Reasoning, m.Thinking, m.ReasoningDetails)))
	s.refusal.WriteString(m.Content.refusal)
	s.refusal.WriteString(string(m.Refusal))
	s.parts = append(s.parts, m.Content.parts[:min(len(m.Content.parts), maxParts-len(s.parts))]...)
	s.calls.add(m.ToolCalls)
	s.calls.extend(m.arguments)
}

func (m *message) empty() bool {
	return m.Content.text == "" && m.Content.thought == "" && m.Content.refusal == "" && len(m.Content.parts) == 0 &&
		m.Refusal == "" && m.ReasoningContent == "" && m.Reasoning == "" && m.Thinking == "" && m.ReasoningDetails == "" && len(m.ToolCalls) == 0
}

// Reply is what has arrived. Nothing may be added afterwards.
func (s *Stream) Reply() *Reply {
	if s.text.Len()+s.thought.Len()+s.refusal.Len()+len(s.parts)+len(s.calls.list) == 0 {
		s.addMessage(&s.whole)
	}
	if len(s.calls.list) == 0 {
		s.calls.addParts(s.parts)
	}
	if len(s.calls.list) == 0 { // a stream of the responses protocol has them at its end
		s.calls.addParts(s.whole.Content.parts)
	}
	r := &Reply{
		Refusal: s.refusal.String(), Parts: s.parts, ToolCalls: s.calls.list, Finish: s.finish, FinishReason: s.reason, Unknown: s.unknown,
		Error: s.err, NoChoice: !s.hasReply, Model: s.model, content: s.text.String(), aside: s.thought.String(),
	}
	if r.Refusal != "" {
		r.Finish = max(r.Finish, Refused)
	}
	r.Usage = s.counts.usage(utf8.RuneCountInString(r.content) + utf8.RuneCountInString(r.aside))
	if s.unknown != "" {
		r.note(fmt.Sprintf("unknown finish reason %q", s.unknown[:min(len(s.unknown), 60)]))
	}
	r.split()
	return r
}

// split separates the answer from the thoughts.
func (r *Reply) split() {
	var inside string
	r.Text, inside = Split(r.content)
	r.Thought = r.aside + inside
}

func (r *Reply) note(text string) { r.Notes = append(r.Notes, text) }

// Replace replaces every text of the reply by what fn makes of it, such as one without a key.
func (r *Reply) Replace(fn func(string) string) {
	r.content, r.aside, r.Refusal = fn(r.content), fn(r.aside), fn(r.Refusal)
	r.FinishReason, r.Unknown, r.Model = fn(r.FinishReason), fn(r.Unknown), fn(r.Model)
	for i := range r.Parts {
		r.Parts[i] = Part{fn(r.Parts[i].Type), json.RawMessage(fn(string(r.Parts[i].JSON)))}
	}
	for i, c := range r.ToolCalls {
		r.ToolCalls[i] = ToolCall{fn(c.ID), fn(c.Name), fn(c.Arguments)}
	}
	for i := range r.Notes {
		r.Notes[i] = fn(r.Notes[i])
	}
	r.split()
}

// Value is the one JSON value in the answer, see [Value].
func (r *Reply) Value(fits func(json.RawMessage) bool) (value json.RawMessage, note string, err error) {
	return Value(r.content, fits)
}

// CheckUsage estimates a usage that the endpoint didn't count, for a prompt of this many
// characters, and notes a prompt that was cut.
func (r *Reply) CheckUsage(promptChars int) {
	if r.PromptCut = r.Usage.promptCut(promptChars); r.PromptCut {
		r.note(fmt.Sprintf("prompt_cut: %d tokens counted for a prompt of %d characters", r.Usage.In, promptChars))
	}
	if r.Usage.In+r.Usage.Out == 0 {
		r.Usage = Usage{In: tokens(promptChars), Out: tokens(utf8.RuneCountInString(r.content) + utf8.RuneCountInString(r.aside)), Estimated: true}
	}
	if r.Usage.Estimated {
		r.note("usage estimated")
	}
}
