package sdk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
)

// MetadataPrompt is the key of a response's metadata under which a plugin reports what it sent
// to a language model: the text that [EncodePrompt] makes. The host records it with the run's
// step. A plugin that asks no model, or was built without this, leaves it out.
const MetadataPrompt = "prompt"

// MaxPromptBytes is how much of the texts of a prompt [EncodePrompt] includes: more than the
// host keeps, and a fraction of what one message of a plugin can hold.
const MaxPromptBytes = 256 << 10

// PromptMessage is a message that was sent to a language model.
type PromptMessage struct {
	// Role is the message's role, such as system or user.
	Role string `json:"role"`
	// Content is its text, or the beginning of it.
	Content string `json:"content"`
	// Bytes and Digest are the size of the whole text, and the text's SHA-256 with "sha256:", if
	// the content is only its beginning.
	Bytes  int    `json:"bytes,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// EncodePrompt is the value of [MetadataPrompt] for messages. Beyond [MaxPromptBytes], texts are
// cut, and have their whole size and digest. Texts must not contain secrets.
func EncodePrompt(messages []PromptMessage) string {
	text, _ := json.Marshal(cutPrompt(messages, MaxPromptBytes)) // texts and numbers only: it can't fail
	return string(text)
}

func cutPrompt(messages []PromptMessage, left int) []PromptMessage {
	list := make([]PromptMessage, len(messages))
	for i, m := range messages {
		list[i] = m.Cut(left)
		left -= len(list[i].Content)
	}
	return list
}

// PromptDetail is the detail of an error with what its failed call sent to a language model, see
// [WithPrompt]. The host records it with the run's step, and takes it out of the error.
const PromptDetail = "prompt"

// Bounds of [PromptDetail]: all details of an error together have 64 KiB as JSON.
const (
	maxErrorPrompt   = 32 << 10 // as JSON
	maxErrorMessages = 64
)

// WithPrompt adds the messages of a failed call to its error. Beyond 32 KiB as JSON, texts are cut,
// and have their whole size and digest; of more than 64 messages, the first are kept. Texts must
// not contain secrets. It returns nil for nil.
func WithPrompt(err error, messages []PromptMessage) error {
	if err == nil {
		return nil
	}
	messages = messages[:min(len(messages), maxErrorMessages)]
	for left := maxErrorPrompt; ; left /= 2 {
		list := cutPrompt(messages, left)
		if text, _ := json.Marshal(list); len(text) <= maxErrorPrompt || left == 0 {
			e := *AsError(err)
			e.Details, e.Err = maps.Clone(e.Details), err
			return e.WithDetail(PromptDetail, list)
		}
	}
}

// PromptOf is what a failed call sent to a language model, according to its error, as
// [EncodePrompt] writes it; "" if the error doesn't say.
func PromptOf(err error) string {
	if err == nil || AsError(err).Details[PromptDetail] == nil {
		return ""
	}
	text, failed := json.Marshal(AsError(err).Details[PromptDetail])
	if failed != nil {
		return ""
	}
	return string(text)
}

// Cut is the message with at most so many bytes of its text, and with the size and digest of the
// whole text if that is more.
func (m PromptMessage) Cut(limit int) PromptMessage {
	m.Content = strings.ToValidUTF8(m.Content, "\ufffd")
	if len(m.Content) <= limit {
		return m
	}
	if m.Bytes == 0 {
		sum := sha256.Sum256([]byte(m.Content))
		m.Bytes, m.Digest = len(m.Content), "sha256:"+hex.EncodeToString(sum[:])
	}
	m.Content = strings.ToValidUTF8(m.Content[:max(limit, 0)], "")
	return m
}
