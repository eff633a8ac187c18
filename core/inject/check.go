package inject

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// Checker proves that snapshots agree with their events, and that making them again from
// their recorded input gives the same result. See FORMAT.md.
type Checker struct {
	// Purged reports whether a memory was purged; nil is for a store without memories, in
	// which no payload of a memory has to exist.
	Purged func(r core.Reader, memoryID string) (bool, error)
}

var (
	_ core.Rebuilder = Checker{}
	_ core.Prover    = Checker{}
)

// Derived implements [core.Rebuilder].
func (Checker) Derived() []string { return snapshots.Derived() }

// Rows are the rows of its kinds in the description of the format.
func (Checker) Rows() []string { return snapshots.Rows() }

// Check implements [core.Checker].
func (part Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	c := &checking{r: r, report: report, purged: part.Purged}
	if err := snapshots.Check(ctx, r, report, c.snapshot); err != nil {
		return err
	}
	for _, each := range []struct {
		prefix string
		look   func(key []byte) error
	}{
		{payloadPrefix, c.payload}, {memoryPrefix, c.owned}, {sessionPrefix, c.owned},
	} {
		err := core.ScanPrefix(r, []byte(each.prefix), func(key, _ []byte) (bool, error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			return true, each.look(bytes.Clone(key))
		})
		if err != nil {
			return err
		}
	}
	return c.checkSnapshots(ctx)
}

// checking is a check in progress.
type checking struct {
	r      core.Reader
	report func(core.Problem)
	purged func(core.Reader, string) (bool, error)
}

func (c *checking) problem(key []byte, message string) {
	c.report(core.Problem{Part: "snapshots", Key: strings.Trim(strconv.Quote(string(key)), `"`), Message: message})
}

// snapshot checks one snapshot: its digests, its making and its event.
func (c *checking) snapshot(id string, rec *record, value []byte) error {
	wrong, err := c.wrong(rec)
	if err != nil {
		return err
	}
	if wrong == "" && !bytes.Equal(value, jsontext.MustEncode(rec)) {
		wrong = "it has more than a snapshot has"
	}
	if wrong != "" {
		c.problem(snapshotKey(id), wrong)
	}
	return nil
}

// wrong describes what is wrong with a snapshot; "" if nothing is wrong.
func (c *checking) wrong(rec *record) (string, error) {
	if policy := rec.Snapshot.PolicyApplied; policy.Policy.digest() != policy.Digest {
		return "the policy's digest isn't the policy's", nil
	}
	made, err := rec.replay(c.r)
	switch {
	case table.Corrupt(err):
		return sdk.AsError(err).Message, nil
	case sdk.CodeOf(err) == sdk.Internal, sdk.CodeOf(err) == sdk.Unavailable, sdk.CodeOf(err) == sdk.Cancelled:
		return "", err
	case err != nil:
		return "it can't be made from its candidates: " + sdk.AsError(err).Message, nil
	case !made.Verified:
		return "its digest isn't the digest of what it says", nil
	case !made.Same && !made.unsure: // its event proves it all the same
		return "it doesn't come out of its candidates", nil
	}
	if missing, err := c.missing(rec); err != nil || missing {
		return "a payload is missing, though no memory of it was purged", err
	}
	entry, found, err := journal.Get(c.r, journal.NamespaceStream(rec.Snapshot.Namespace), rec.Event)
	if journal.IsBroken(err) {
		return "", nil // the journal's own check reports it
	}
	if err != nil {
		return "", err
	}
	if !found || !entry.At.Equal(rec.Snapshot.CreatedAt) || !proves(&entry, rec) {
		return "its event doesn't say the same", nil
	}
	return "", nil
}

// missing reports whether a payload with the text of a memory or a session is gone without a purge.
func (c *checking) missing(rec *record) (missing bool, err error) {
	err = rec.eachPayload(func(memory, digest string) error {
		if missing {
			return nil
		}
		if _, found, err := c.r.Get(placeOf(rec.Snapshot.SessionID, memory, digest)); err != nil || found {
			return err
		}
		if memory == "" {
			missing = true
			return nil
		}
		purged, err := c.gone(memory)
		missing = !purged
		return err
	})
	return missing && err == nil, err
}

// gone reports whether a memory was purged.
func (c *checking) gone(memory string) (bool, error) {
	if c.purged == nil {
		return true, nil
	}
	return c.purged(c.r, memory)
}

// proves reports whether an entry records that this snapshot was made.
func proves(entry *journal.Entry, rec *record) bool {
	if _, is := journal.As[journal.InjectionSnapshotCreated](entry); !is {
		return false
	}
	events := rec.events()
	return bytes.Equal(entry.Data, jsontext.MustEncode(events[len(events)-1]))
}

// payload checks a payload without a memory's text.
func (c *checking) payload(key []byte) error {
	_, _, err := readPayload(c.r, "", "", string(key[len(payloadPrefix):]))
	return c.reportDamage(key, err)
}

// owned checks a payload with the text of a memory or a session. For a session's, it may say
// instead which memory's purge removed it.
func (c *checking) owned(key []byte) error {
	var session, memory, digest string
	if bytes.HasPrefix(key, []byte(memoryPrefix)) {
		memory, digest = ownerOf(key, memoryPrefix)
	} else if session, digest = ownerOf(key, sessionPrefix); !bytes.Equal(key, placeOf(session, "", digest)) {
		c.problem(key, "it isn't the key of a payload")
		return nil
	}
	payload, _, err := readPayload(c.r, session, memory, digest)
	if err != nil {
		return c.reportDamage(key, err)
	}
	if payload.Purged != "" {
		if gone, err := c.gone(payload.Purged); err != nil {
			return err
		} else if !gone {
			c.problem(key, "its text is missing, though no memory of it was purged")
		}
	}
	value, _, err := c.r.Get(key)
	if err == nil && !bytes.Equal(value, jsontext.MustEncode(payload)) {
		c.problem(key, "it has more than a payload has")
	}
	return err
}

// reportDamage reports an error about a wrong key, and returns any other error.
func (c *checking) reportDamage(key []byte, err error) error {
	if table.Corrupt(err) {
		c.problem(key, sdk.AsError(err).Message)
		return nil
	}
	return err
}

// checkSnapshots checks that each snapshot that was made, according to the journal, exists.
func (c *checking) checkSnapshots(ctx context.Context) error {
	return journal.CheckStreams(ctx, c.r, journal.NamespaceStream(""), func(namespace string, _ journal.StreamHead) error {
		return eachMade(ctx, c.r, namespace, func(entry *journal.Entry, made *journal.InjectionSnapshotCreated) error {
			rec, err := snapshots.Get(c.r, made.SnapshotID)
			if err == nil && (rec == nil || rec.Event != entry.Seq || rec.Snapshot.Namespace != namespace) {
				c.problem(snapshotKey(made.SnapshotID), "an event says that it was made, but it isn't there")
			}
			if table.Corrupt(err) {
				return nil // reported already
			}
			return err
		})
	})
}

// eachMade calls fn for each event of a namespace that records the making of a snapshot.
func eachMade(ctx context.Context, r core.Reader, namespace string, fn func(*journal.Entry, *journal.InjectionSnapshotCreated) error) error {
	return journal.Read(r, journal.NamespaceStream(namespace), func(entry journal.Entry) error {
		made, is := journal.As[journal.InjectionSnapshotCreated](&entry)
		if !is {
			return ctx.Err()
		}
		return fn(&entry, &made)
	})
}

// Proven implements [core.Prover]: a namespace's stream proves its snapshots, and they
// prove their payloads.
func (Checker) Proven(ctx context.Context, r core.Reader, stream string) (list []core.Proven, err error) {
	namespace, is := strings.CutPrefix(stream, journal.NamespaceStream(""))
	if !is {
		return nil, nil
	}
	err = eachMade(ctx, r, namespace, func(_ *journal.Entry, made *journal.InjectionSnapshotCreated) error {
		rec, err := snapshots.Get(r, made.SnapshotID)
		if err != nil || rec == nil {
			return err
		}
		list = append(list, core.Proven{Key: snapshotKey(made.SnapshotID), Excludes: turnKey(rec.Snapshot.SessionID, rec.Snapshot.TurnID)})
		return rec.eachPayload(func(memory, digest string) error {
			key := placeOf(rec.Snapshot.SessionID, memory, digest)
			_, found, err := r.Get(key)
			if found {
				list = append(list, core.Proven{Key: key})
			}
			return err
		})
	})
	return list, err
}

// eachPayload calls fn for each payload of the snapshot and its candidates.
func (r *record) eachPayload(fn func(memory, digest string) error) error {
	for i := range r.Candidates {
		if err := fn(r.Candidates[i].MemoryID, r.Candidates[i].Digest); err != nil {
			return err
		}
	}
	for i := range r.Snapshot.BlocksUsed {
		if err := fn(r.Snapshot.BlocksUsed[i].MemoryID, r.Snapshot.BlocksUsed[i].PayloadDigest); err != nil {
			return err
		}
	}
	return nil
}

// Rebuild implements [core.Rebuilder].
func (Checker) Rebuild(ctx context.Context, s core.Store) error { return snapshots.Rebuild(ctx, s) }
