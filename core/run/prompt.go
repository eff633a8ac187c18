package run

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// The result of inject.snapshot has its blocks with their payloads, and the prompt, which repeats
// the payloads. So if a block has a memory's text, the prompt is stored as [purgedText], and is
// made again from the payloads when it is read.

// The members of a snapshot, and of its blocks.
const (
	blocksField  = "blocks_used"
	payloadField = "payload"
	promptField  = "prompt"
)

// blockMemory is the memory whose text a block has; "" if it has none.
func blockMemory(members []jsontext.Member) string {
	found := map[string]string{}
	for _, m := range members {
		if m.Key == "memory_id" || m.Key == payloadField {
			var text string
			if json.Unmarshal(m.Value, &text) != nil {
				return ""
			}
			found[m.Key] = text
		}
	}
	if found[payloadField] == "" || !core.ValidID(found["memory_id"]) {
		return ""
	}
	return found["memory_id"]
}

// withoutPrompt removes a snapshot's prompt, if it has texts of memories.
func withoutPrompt(result json.RawMessage, recalled bool) json.RawMessage {
	members, at := promptOf(result)
	if at < 0 || !recalled {
		return result
	}
	members[at].Value = jsontext.MustEncode(purgedText)
	return jsontext.JoinMembers(members)
}

// withPrompt restores a prompt that was removed.
func withPrompt(result json.RawMessage) json.RawMessage {
	members, at := promptOf(result)
	if at < 0 || string(members[at].Value) != string(jsontext.MustEncode(purgedText)) {
		return result
	}
	blocks := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == blocksField })
	var list []struct {
		Payload  string `json:"payload"`
		Category string `json:"category"`
		MemoryID string `json:"memory_id"`
	}
	if json.Unmarshal(members[blocks].Value, &list) != nil {
		return result
	}
	parts := make([]core.PromptPart, len(list))
	for i, b := range list {
		parts[i] = core.PromptPart{Payload: b.Payload, Recalled: b.MemoryID != "" || b.Category == "memory_recall"}
	}
	members[at].Value = jsontext.MustEncode(core.JoinPrompt(parts))
	return jsontext.JoinMembers(members)
}

// promptOf finds the prompt among the members of a snapshot; at is -1 if the result isn't a
// snapshot with a prompt.
func promptOf(result json.RawMessage) (members []jsontext.Member, at int) {
	if !strings.Contains(string(result), blocksField) {
		return nil, -1
	}
	members = jsontext.Members(result)
	if !slices.ContainsFunc(members, func(m jsontext.Member) bool { return m.Key == blocksField }) {
		return nil, -1
	}
	return members, slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == promptField })
}
