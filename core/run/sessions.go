package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// The result of inject.snapshot also has blocks with texts of its session, which may repeat
// memories. A purge removes these texts from the snapshot, where they lie under their session and
// digest. So a visit doesn't hold them at all: who reads the visit gets them from the snapshot.

const (
	// sessionTexts begins the keys of these texts, which core/inject writes.
	sessionTexts = "snapshot-session/"
	// keyedDigest begins the digest of a text that a purge removes.
	keyedDigest  = "hmac-sha256:"
	sessionField = "session_id"
)

// changeSessions replaces the payload of each block that has a text of its session, and reports
// whether there is one.
func changeSessions(result json.RawMessage, change func(session, digest string) (payload string, found bool, err error)) (json.RawMessage, bool, error) {
	if !bytes.Contains(result, []byte(blocksField)) || !bytes.Contains(result, []byte(keyedDigest)) {
		return result, false, nil
	}
	members := jsontext.Members(result)
	at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == blocksField })
	session := textOf(members, sessionField)
	var list []json.RawMessage
	if at < 0 || session == "" || json.Unmarshal(members[at].Value, &list) != nil {
		return result, false, nil
	}
	has := false
	for i := range list {
		block := jsontext.Members(list[i])
		digest := textOf(block, "payload_digest")
		in := slices.IndexFunc(block, func(m jsontext.Member) bool { return m.Key == payloadField })
		if in < 0 || textOf(block, "memory_id") != "" || !strings.HasPrefix(digest, keyedDigest) {
			continue
		}
		has = true
		payload, found, err := change(session, digest)
		if err != nil {
			return nil, false, err
		}
		if found {
			block[in].Value = jsontext.MustEncode(payload)
			list[i] = jsontext.JoinMembers(block)
		}
	}
	if !has {
		return result, false, nil
	}
	members[at].Value = joinList(list)
	return jsontext.JoinMembers(members), true, nil
}

// withoutSessions removes the texts of a session from a snapshot.
func withoutSessions(result json.RawMessage) (json.RawMessage, bool) {
	result, has, _ := changeSessions(result, func(string, string) (string, bool, error) { return purgedText, true, nil })
	return result, has
}

// withSessions puts the texts of a session back into a snapshot; [purgedText] stays in place of
// those that were purged.
func withSessions(r core.Reader, result json.RawMessage) (json.RawMessage, error) {
	result, _, err := changeSessions(result, func(session, digest string) (string, bool, error) {
		value, found, err := r.Get([]byte(sessionTexts + session + "/" + digest))
		payload := textOf(jsontext.Members(value), payloadField)
		return payload, found && payload != "", err
	})
	return result, err
}

// textOf is the text of a member; "" if it is missing, or no text.
func textOf(members []jsontext.Member, key string) (text string) {
	at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == key })
	if at >= 0 && json.Unmarshal(members[at].Value, &text) != nil {
		return ""
	}
	return text
}

// apart reports whether the visit's result lacks texts that are elsewhere in the store.
func (v *visitRecord) apart() bool {
	_, removed := withoutSessions(v.Result)
	return removed || len(v.Memories) > 0
}
