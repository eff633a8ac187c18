package inject

import (
	"bytes"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// record is a stored snapshot: without payloads, but with the blocks that it was made
// from, so that it can be made again.
type record struct {
	Snapshot Snapshot `json:"snapshot"`
	// Candidates are the blocks that it was made from, without their payloads.
	Candidates []candidate `json:"candidates"`
	// Before is the digest of the prefix of the session's previous snapshot.
	Before string `json:"before,omitempty"`
	// Event is the number of the entry that records its making, in the stream of its
	// namespace.
	Event uint64 `json:"event"`
}

// candidate is a block without its payload.
type candidate struct {
	Draft
	Payload string `json:"payload,omitempty"` // always empty: it hides the draft's
	Chars   int    `json:"chars"`
	Digest  string `json:"payload_digest"`
	Trusted bool   `json:"trusted,omitempty"`
}

// inputs is the digest of what the snapshot was made from, except for the parts that are
// in the snapshot itself.
func (r *record) inputs() string {
	return core.Digest(jsontext.MustEncode([]any{r.Candidates, r.Before}))
}

// newRecord is the record of a snapshot. Its candidates are sorted, so that the order of
// the input doesn't matter here either.
func newRecord(s *Snapshot, in *Input) *record {
	r := &record{Snapshot: *s, Before: in.Before, Candidates: make([]candidate, 0, len(in.Blocks))}
	r.Snapshot.BlocksUsed = make([]Used, len(s.BlocksUsed))
	for i, u := range s.BlocksUsed {
		u.Payload = ""
		r.Snapshot.BlocksUsed[i] = u
	}
	for _, b := range in.Blocks {
		c := candidate{Draft: b.draft, Chars: b.chars, Digest: b.digest, Trusted: b.trusted}
		c.Draft.Payload = ""
		r.Candidates = append(r.Candidates, c)
	}
	sortByJSON(r.Candidates)
	return r
}

// storedPayload is a payload with the text of a memory or a session, and the salt of its digest.
// Both are removed together, so that nothing proves a text that is gone.
type storedPayload struct {
	Salt    string `json:"salt,omitempty"`
	Payload string `json:"payload,omitempty"`
	// Purged is the memory whose purge removed the text of a session; "" if it is there.
	Purged string `json:"purged,omitempty"`
}

// snapshots are the records of snapshots, and how they are found.
var snapshots = table.Kind[record]{
	Part: "snapshots", Prefix: snapshotPrefix,
	Doc: "id | the prompt of a turn: `{snapshot, candidates, before?, event}`. `snapshot` is what `inject show` prints, without payloads; `candidates` are the blocks that it was made from, with `payload_digest` and `chars` in place of the payload, sorted by their JSON; `before` is the digest of the prefix of the session's previous snapshot; `event` is the number of its event `agent.injection.snapshot.created` in the namespace's stream",

	Valid: func(id string, rec *record) string {
		if rec.Snapshot.SnapshotID != id {
			return "it has another id than its key"
		}
		return ""
	},
	Indices: []table.Index[record]{
		{Prefix: turnPrefix, Doc: "session `/` turn(8) | the id of the turn's snapshot", ID: table.InValue, Entries: func(id string, rec *record) []table.Entry {
			return []table.Entry{{Key: turnKey(rec.Snapshot.SessionID, rec.Snapshot.TurnID), Value: []byte(id)}}
		}},
		{Prefix: timePrefix, Doc: "namespace 00 ^time(8) id | index of the namespace's snapshots, the newest first: empty", ID: func(key, _ []byte) string { return timeID(key) }, Entries: func(id string, rec *record) []table.Entry {
			return []table.Entry{{Key: timeKey(rec.Snapshot.Namespace, rec.Snapshot.CreatedAt, id)}}
		}},
	},
}

// readPayload returns a payload, and whether it exists: a purge removes the payloads of
// memories and sessions.
func readPayload(r core.Reader, session, memory, digest string) (p storedPayload, found bool, err error) {
	key := placeOf(session, memory, digest)
	value, found, err := r.Get(key)
	if err != nil || !found {
		return p, false, err
	}
	if bytes.HasPrefix(key, []byte(payloadPrefix)) {
		p.Payload = string(value)
	} else if json.Unmarshal(value, &p) != nil {
		return p, false, corrupt(digest, "a payload can't be decoded")
	}
	if p.Purged != "" && memory == "" && p == (storedPayload{Purged: p.Purged}) {
		return p, false, nil
	}
	if digestOf(p.Salt, p.Payload) != digest {
		return p, false, corrupt(digest, "a payload isn't the one that its digest proves")
	}
	return p, true, nil
}

// writePayload stores a payload, once. If its memory is gone, it stores nothing.
func writePayload(tx core.Tx, session, memory, salt, digest, payload string, purged func(core.Reader, string) (bool, error)) error {
	key := placeOf(session, memory, digest)
	if bytes.HasPrefix(key, []byte(payloadPrefix)) {
		return tx.Put(key, []byte(payload))
	}
	if purged != nil && memory != "" {
		if gone, err := purged(tx, memory); err != nil || gone {
			return err
		}
	}
	return tx.Put(key, jsontext.MustEncode(storedPayload{Salt: salt, Payload: payload}))
}

// write stores a record with its payloads, its indices and its events. in has the blocks
// of the record's candidates.
func (r *record) write(tx *journal.Tx, in *Input, used []Used, purged func(core.Reader, string) (bool, error)) error {
	session := in.SessionID
	for _, b := range in.Blocks {
		if err := writePayload(tx, session, b.draft.MemoryID, b.draft.Salt, b.digest, b.draft.Payload, purged); err != nil {
			return err
		}
	}
	for _, u := range used { // a block that was cut has a different payload
		if err := writePayload(tx, session, u.MemoryID, in.saltOf(&u), u.PayloadDigest, u.Payload, purged); err != nil {
			return err
		}
	}
	stream := journal.NamespaceStream(r.Snapshot.Namespace)
	if err := tx.Append(stream, r.events()...); err != nil {
		return err
	}
	head, err := tx.Head(stream)
	if err != nil {
		return err
	}
	r.Event = head.Seq
	return snapshots.Add(tx, r.Snapshot.SnapshotID, r)
}

// saltOf is the salt of the digest of a block in the prompt.
func (in *Input) saltOf(u *Used) string {
	for _, b := range in.Blocks {
		if b.draft.BlockID == u.BlockID && b.draft.MemoryID == u.MemoryID && digestOf(b.draft.Salt, u.Payload) == u.PayloadDigest {
			return b.draft.Salt
		}
	}
	return ""
}

// events are the journal's events about the snapshot. The last one records that it was
// made.
func (r *record) events() []journal.Event {
	s := &r.Snapshot
	info, category := s.info(), map[string]Category{}
	for _, u := range s.BlocksUsed {
		category[u.BlockID] = u.Category
	}
	p := &s.PolicyApplied
	list := []journal.Event{journal.InjectionPolicySelected{
		InjectionInfo: info, Mode: string(p.Mode), Policy: p.Digest, MaxBlocks: p.MaxBlocks, MaxChars: p.MaxChars, MaxTokens: p.MaxTokens,
	}}
	if m := s.RoleMix; m != nil {
		list = append(list, journal.InjectionRoleMixSelected{InjectionInfo: info, Profile: m.ProfileID, Roles: m.Roles, Reason: m.ActivationReason})
	}
	for _, d := range s.DroppedBlocks {
		list = append(list, journal.InjectionBlockDropped{InjectionInfo: info, BlockID: d.BlockID, Category: string(d.Category), Reason: string(d.Reason)})
	}
	for _, t := range s.TruncatedBlocks {
		list = append(list, journal.InjectionBlockTruncated{InjectionInfo: info, BlockID: t.BlockID, Category: string(category[t.BlockID]), From: t.From, To: t.To})
	}
	return append(list, r.created(info))
}

func (r *record) created(info journal.InjectionInfo) journal.InjectionSnapshotCreated {
	e := journal.InjectionSnapshotCreated{InjectionInfo: info, Digest: r.Snapshot.Digest, Inputs: r.inputs(), Chars: r.Snapshot.CharsInjected}
	if t := r.Snapshot.TokensInjected; t != nil {
		e.Tokens = *t
	}
	return e
}

// info is what all events of the snapshot have in common.
func (s *Snapshot) info() journal.InjectionInfo {
	info := journal.InjectionInfo{
		TurnInfo: journal.TurnInfo{SessionID: s.SessionID, TurnID: s.TurnID, LatencyMillis: s.LatencyMillis}, SnapshotID: s.SnapshotID,
		Budget:     s.budget(),
		Counts:     journal.InjectionCounts{Used: len(s.BlocksUsed), Dropped: len(s.DroppedBlocks), Truncated: len(s.TruncatedBlocks)},
		Categories: map[string]int{},
	}
	for _, u := range s.BlocksUsed {
		info.Categories[string(u.Category)]++
	}
	return info
}

// budget is in characters, or in tokens if only tokens are limited.
func (s *Snapshot) budget() journal.InjectionBudget {
	if p := &s.PolicyApplied; p.MaxChars == 0 && s.TokensInjected != nil {
		return journal.InjectionBudget{Max: p.MaxTokens, Used: *s.TokensInjected, Unit: "tokens"}
	}
	return journal.InjectionBudget{Max: s.PolicyApplied.MaxChars, Used: s.CharsInjected, Unit: "chars"}
}

// corrupt is the error for a stored record that can't be right.
func corrupt(id, message string) error {
	return sdk.Errorf(sdk.Internal, "record_corrupt", "snapshot %s: %s", core.Cut(id), message).
		WithHint("look for more of it with a check of the store").WithAction("store check").WithDetail("key", snapshotPrefix+core.Cut(id))
}
