package inject

import (
	"context"
	"reflect"
	"slices"

	"github.com/reflectory/reflectory/core"
)

// Replay is the result of making a snapshot again from its recorded input.
type Replay struct {
	// SnapshotID is the snapshot.
	SnapshotID string `json:"snapshot_id"`
	// Same is whether the result was the same.
	Same bool `json:"same"`
	// Verified is whether the stored snapshot has the right digest.
	Verified bool `json:"verified"`
	// Digest is the stored digest.
	Digest string `json:"digest"`
	// Replayed is the digest of the new result.
	Replayed string `json:"replayed"`
	// Purged are the blocks whose memories were purged: their digests and lengths are used
	// instead of their payloads.
	Purged []string `json:"purged"`

	// unsure is whether the result may differ because a text was purged: how many tokens of a
	// vocabulary it had isn't known, and where a session's was cut may have depended on it.
	unsure bool
}

// Replay makes a snapshot again.
func (p *Repository) Replay(ctx context.Context, id string) (out *Replay, err error) {
	err = p.Writer.Store.View(ctx, func(r core.Reader) error {
		rec, err := snapshots.Get(r, id)
		if err == nil && rec == nil {
			err = NotFound(id)
		}
		if err != nil {
			return err
		}
		out, err = rec.replay(r)
		return err
	})
	return out, err
}

func (r *record) replay(reader core.Reader) (*Replay, error) {
	out := &Replay{SnapshotID: r.Snapshot.SnapshotID, Digest: r.Snapshot.Digest, Verified: r.Snapshot.Verified(), Purged: []string{}}
	s := &r.Snapshot
	applied := &s.PolicyApplied
	in := &Input{
		Namespace: s.Namespace, SessionID: s.SessionID, TurnID: s.TurnID, Route: s.Route, Policy: applied.Policy,
		File: applied.File, FileDigest: applied.FileDigest, Rule: applied.Rule, RoleMix: s.RoleMix, Withheld: s.Withheld, Before: r.Before,
		early: !slices.ContainsFunc(s.BlocksUsed, func(u Used) bool { return u.TTLTurns != nil || u.CreatedTurn != nil || u.TraceRefs != nil }),
	}
	for i := range r.Candidates {
		b, purged, err := r.block(reader, &r.Candidates[i])
		if err != nil {
			return nil, err
		}
		if purged {
			out.unsure = out.unsure || r.Candidates[i].MemoryID == "" || measureOf(&applied.Policy).vocabulary != nil
			out.Purged = append(out.Purged, b.draft.BlockID)
		}
		in.Blocks = append(in.Blocks, b)
	}
	again, err := Assemble(in)
	if err != nil {
		return nil, err
	}
	out.Replayed = again.Digest
	out.Same = again.Digest == s.Digest && reflect.DeepEqual(digests(again), digests(s))
	return out, nil
}

// digests are the digests of the payloads in a snapshot.
func digests(s *Snapshot) (list []string) {
	for i := range s.BlocksUsed {
		list = append(list, s.BlocksUsed[i].PayloadDigest)
	}
	return list
}

// block is a candidate as a block. A memory's text is never cut, so the assembly needs
// only its length and its digest. For a session's, it also needs what was kept of it.
func (r *record) block(reader core.Reader, c *candidate) (b *Block, purged bool, err error) {
	p, found, err := readPayload(reader, r.Snapshot.SessionID, c.MemoryID, c.Digest)
	if err != nil {
		return nil, false, err
	}
	d := c.Draft
	if !found && c.MemoryID == "" && p.Purged == "" {
		return nil, false, corrupt(c.Digest, "a payload is missing")
	}
	if !found {
		d.Payload = PurgedPayload
		b := &Block{draft: d, chars: c.Chars, digest: c.Digest, trusted: c.Trusted, xml: &outline{}}
		for i := range r.Snapshot.BlocksUsed {
			if u := &r.Snapshot.BlocksUsed[i]; u.BlockID == c.BlockID && c.MemoryID == "" {
				b.kept = u
			}
		}
		return b, true, nil
	}
	d.Payload, d.Salt = p.Payload, p.Salt
	by := FromCaller
	if c.Trusted {
		by = FromHost
	}
	b, err = newBlock(d, by, "")
	if err == nil && (b.chars != c.Chars || b.digest != c.Digest) {
		err = corrupt(c.Digest, "a payload isn't the one that its digest proves")
	}
	return b, false, err
}
