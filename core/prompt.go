package core

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Bounds of what is recorded of a prompt. A prompt that somebody reads is shorter.
const (
	// maxPromptBytes is how many bytes of the texts of one call's prompt are kept.
	maxPromptBytes = 64 << 10
	// maxPromptMessages is how many messages of one call are kept.
	maxPromptMessages = 64
	// maxPromptRole bounds the role of a message, in bytes.
	maxPromptRole = 64
)

// Prompt is what one call of a plugin sent to a language model, as the plugin reported it.
type Prompt struct {
	// Role is what the call did: generate, evaluate or correct.
	Role sdk.Role `json:"role"`
	// Step is the child's name, if a child of a composite evaluator made the call.
	Step   string `json:"step,omitempty"`
	Plugin string `json:"plugin"`
	// Messages are its messages in order, at most 64.
	Messages []PromptMessage `json:"messages"`
	// Memories are the memories that the run had received before the call. When one of them is
	// purged, the texts and digests are removed, and Purged is set.
	Memories []string `json:"memories,omitempty"`
	Purged   bool     `json:"purged,omitempty"`
	// Withheld is why no texts were kept although they were reported; "" if they were kept.
	Withheld string `json:"withheld,omitempty"`
}

// PromptMessage is a message of a prompt.
type PromptMessage struct {
	// Role is the message's role as the plugin reported it, such as system or user.
	Role string `json:"role"`
	// Text is its text, or the beginning of it: 65,536 bytes are kept of all messages of a call.
	Text string `json:"text,omitempty"`
	// Bytes is the size of the whole text, and Digest its SHA-256.
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest,omitempty"`
}

// Withhold removes the texts for a reason, and the digests too if they could be used to guess what
// a purge removes; "" is no reason.
func (p *Prompt) Withhold(reason string) {
	if p.Withheld = reason; reason == "" {
		return
	}
	for i := range p.Messages {
		p.Messages[i].Text = ""
		if reason != PromptDigests {
			p.Messages[i].Digest = ""
		}
	}
}

// The reasons for [Prompt.Withheld].
const (
	// PromptDigests means that the workflow wants digests only.
	PromptDigests = "digests"
	// PromptSession means that the prompt may repeat the turns of a session. These are removed by
	// purges of memories that the run never received. The digests are left out too.
	PromptSession = "session"
	// PromptRecall means that a plugin of the workflow may recall memories by itself, so that its
	// output, and any prompt made from it, may have the text of a memory that the run never received.
	// The digests are left out too.
	PromptRecall = "recall"
)

// maxReportedPrompt bounds the JSON of a reported prompt, of which each byte may be escaped as six.
const maxReportedPrompt = 8 * sdk.MaxPromptBytes

// ReadPrompt reads the prompt that a plugin reported in its metadata, within the bounds. It is
// nil if there is none, or if it can't be read: a plugin may report anything.
func ReadPrompt(metadata map[string]string) []PromptMessage {
	return readPrompt(metadata[sdk.MetadataPrompt])
}

func readPrompt(reported string) (messages []PromptMessage) {
	if reported == "" || len(reported) > maxReportedPrompt {
		return nil
	}
	list := json.NewDecoder(strings.NewReader(reported))
	if start, err := list.Token(); err != nil || start != json.Delim('[') {
		return nil
	}
	for left := maxPromptBytes; list.More() && len(messages) < maxPromptMessages; {
		var m sdk.PromptMessage
		if list.Decode(&m) != nil {
			return nil
		}
		if m.Bytes <= len(m.Content) || !validDigest(m.Digest) {
			m.Bytes, m.Digest = 0, ""
		}
		m = m.Cut(left)
		left -= len(m.Content)
		if m.Digest == "" {
			m.Bytes, m.Digest = len(m.Content), Digest([]byte(m.Content))
		}
		messages = append(messages, PromptMessage{Role: cutRole(m.Role), Text: m.Content, Bytes: m.Bytes, Digest: m.Digest})
	}
	return messages
}

// promptedError is an error with the prompt of its failed call. The error itself has no prompt, so
// that wherever it is shown or stored, the prompt isn't, which a purge wouldn't find there.
type promptedError struct {
	error
	messages []PromptMessage
}

func (e *promptedError) Unwrap() error { return e.error }

// withPromptApart takes the prompt out of the details of an error.
func withPromptApart(err error) error {
	if err == nil || sdk.AsError(err).Details[sdk.PromptDetail] == nil {
		return err
	}
	e := *sdk.AsError(err)
	e.Details, e.Err = maps.Clone(e.Details), err
	delete(e.Details, sdk.PromptDetail)
	return &promptedError{&e, readPrompt(sdk.PromptOf(err))}
}

// PromptOf is what the failed call of a plugin sent to a language model, as [ReadPrompt] reads it;
// nil if the plugin didn't report it. The errors of [PluginGenerator] and its like have it.
func PromptOf(err error) []PromptMessage {
	var e *promptedError
	if !errors.As(err, &e) {
		return nil
	}
	return e.messages
}

func cutRole(role string) string {
	role = strings.ToValidUTF8(role, "\ufffd")
	return strings.ToValidUTF8(role[:min(len(role), maxPromptRole)], "")
}

// validDigest reports whether a text has the form of [Digest].
func validDigest(text string) bool {
	hex, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}
