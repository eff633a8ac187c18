package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// Lifetime is how long a key is valid, from its first call.
	Lifetime = 24 * time.Hour
	// MaxKey is how many characters a key has at most.
	MaxKey = 128
	// maxOutcome bounds an outcome that is kept. Results come in pages and have bounded
	// texts, and so stay far below.
	maxOutcome = 8 << 20
	// sweepCount is how many expired records each new claim removes: more than one, so that
	// their number falls, and few, since the claim waits for it.
	sweepCount = 4
)

// Keys are the idempotency keys of a store. It is safe for concurrent use.
type Keys struct {
	// Store keeps them. Required.
	Store core.Store
	// Clock dates them. Required.
	Clock core.Clock
	// Owner names this host, unlike any other that ever opened the store. Required.
	Owner string
	// Sole means that no other host works on the store, so a claim of another host is one that
	// a crash left.
	Sole bool
	// Gone reports whether another host no longer lives, so that its claims are left over from
	// a crash. If this is a mistake, the other host still can't write any more. Nil means that
	// no host is gone.
	Gone func(r core.Reader, owner string) (bool, error)
	// Purged reports whether a memory was purged; nil means that none was.
	Purged core.Purged

	mu      sync.Mutex
	running map[string]*Claim
}

var _ core.Forgetter = (*Keys)(nil)

// Request is a call with a key.
type Request struct {
	// Subject is who calls, and Key is theirs, from 1 to [MaxKey] printable ASCII
	// characters.
	Subject, Key string
	// Operation names what is called, and Body is all that it is called with.
	Operation string
	Body      []byte
	// Repeatable is whether the call may be done again after a crash, since it changes
	// nothing more.
	Repeatable bool
}

func (r *Request) check() error {
	if len(r.Key) < 1 || len(r.Key) > MaxKey || strings.ContainsFunc(r.Key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return sdk.Errorf(sdk.Invalid, "idempotency_key_invalid", "the idempotency key isn't 1 to %d printable ASCII characters", MaxKey).
			WithHint("make a random one, such as a UUID, for each call").WithDetail("field", "idempotency_key")
	}
	return nil
}

func (r *Request) digest() string {
	sum := sha256.Sum256(jsontext.MustEncode([]string{r.Subject, r.Key}))
	return hex.EncodeToString(sum[:])
}

// Outcome is the outcome of a call. Its operation determines the form of Data.
type Outcome struct {
	Data json.RawMessage `json:"outcome,omitempty"`
	// Namespaces is where it was done.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Find returns the outcome of the first call with a key; nil if there is none, so that the
// call may be claimed. If that call is under way, it waits for its end. The refusals are
// sdk.Invalid with the reasons "idempotency_key_invalid" and, for another request than the
// first, "idempotency_key_reused"; and sdk.Conflict with the reasons
// "idempotency_in_progress" if another host does the call, "outcome_unknown" after a crash,
// and "outcome_gone" if a purge removed the outcome.
func (k *Keys) Find(ctx context.Context, r *Request) (*Outcome, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	for {
		if waited, err := k.wait(ctx, r); waited || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		var out *Outcome
		err := k.Store.View(ctx, func(reader core.Reader) (err error) {
			out, err = k.readOutcome(reader, r)
			return err
		})
		return out, err
	}
}

// wait waits for the end of a call of this host with the same key, and reports whether
// there was one.
func (k *Keys) wait(ctx context.Context, r *Request) (bool, error) {
	k.mu.Lock()
	first := k.running[r.digest()]
	k.mu.Unlock()
	if first == nil {
		return false, nil
	}
	if !first.sameAs(r) {
		return false, reused()
	}
	select {
	case <-first.ended:
		return true, nil
	case <-ctx.Done():
		return false, sdk.Wrap("wait for the first call with the idempotency key", ctx.Err())
	}
}

// readOutcome returns the outcome of a key that this host doesn't work on; nil if the key may be
// claimed.
func (k *Keys) readOutcome(reader core.Reader, r *Request) (*Outcome, error) {
	found, err := records.Get(reader, r.digest())
	if err != nil || found == nil || found.expired(k.Clock.Now()) {
		return nil, err
	}
	switch {
	case found.Operation != r.Operation, found.State == done && digestUnder(found.Salt, r.Body) != found.Request:
		return nil, reused()
	case found.State == done:
		return &found.Outcome, nil
	case found.State == purged:
		return nil, sdk.Errorf(sdk.Conflict, "outcome_gone", "the call with this idempotency key was done; its outcome told of a memory that was purged since, or was too large to keep").
			WithHint("it isn't done again with this key")
	}
	if lives, err := k.lives(reader, found.Owner); err != nil || lives {
		if lives {
			err = sdk.Errorf(sdk.Conflict, "idempotency_in_progress", "another host does the call with this idempotency key").
				WithHint("ask again, with the same key, once it has ended")
		}
		return nil, err
	}
	if found.State == claimed || r.Repeatable {
		return nil, nil
	}
	return nil, sdk.Errorf(sdk.Conflict, "outcome_unknown", "the call with this idempotency key has written something, and the host ended before its outcome was recorded").
		WithHint("look whether what it was to do is done; it isn't done again with this key").WithDetail("operation", found.Operation)
}

// lives reports whether another host may still do the calls that it claimed.
func (k *Keys) lives(reader core.Reader, owner string) (bool, error) {
	if owner == k.Owner || k.Sole {
		return false, nil
	}
	if k.Gone == nil {
		return true, nil
	}
	gone, err := k.Gone(reader, owner)
	return !gone && err == nil, err
}

func reused() error {
	return sdk.Errorf(sdk.Invalid, "idempotency_key_reused", "the idempotency key was used for another request").
		WithHint("make a new key for each request").WithDetail("field", "idempotency_key")
}

// Claim is a call that is being done. It must be ended or abandoned.
type Claim struct {
	keys    *Keys
	digest  string
	request *Request
	record  record
	salt    string
	ended   chan struct{}
}

// Name is a name for what the call makes, which no other call has. A call that is repeated after a
// crash has the name that it had before, and so finds what it made.
func (c *Claim) Name() string { return "call/" + c.salt }

func (c *Claim) sameAs(r *Request) bool {
	return c.request.Operation == r.Operation && bytes.Equal(c.request.Body, r.Body)
}

// Begin claims a key for a call that is done in some namespaces. If an earlier call has an
// outcome, Begin returns it instead. It refuses what [Keys.Find] refuses.
func (k *Keys) Begin(ctx context.Context, r *Request, namespaces []string) (*Claim, *Outcome, error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	c := &Claim{
		keys: k, digest: r.digest(), request: r, salt: newSalt(), ended: make(chan struct{}),
		record: record{State: claimed, Operation: r.Operation, Owner: k.Owner, Outcome: Outcome{Namespaces: namespaces}},
	}
	for !k.reserve(c) {
		if _, err := k.wait(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	var out *Outcome
	err := k.Store.Update(ctx, func(tx core.Tx) (err error) {
		if out, err = k.readOutcome(tx, r); err != nil || out != nil {
			return err
		}
		if err := k.sweep(tx); err != nil {
			return err
		}
		before, err := records.Get(tx, c.digest)
		if err != nil {
			return err
		}
		c.record.At = k.Clock.Now().UnixNano()
		if before != nil && before.State == written { // it is repeated by the name that it had
			c.salt, c.record.At = before.Salt, before.At
		}
		c.record.Salt = c.salt
		return records.Put(tx, c.digest, &c.record)
	})
	if err != nil || out != nil {
		c.Abandon()
		return nil, out, err
	}
	return c, nil, nil
}

// reserve makes a claim this host's only one with its key, unless there is one already.
func (k *Keys) reserve(c *Claim) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[c.digest] != nil {
		return false
	}
	if k.running == nil {
		k.running = map[string]*Claim{}
	}
	k.running[c.digest] = c
	return true
}

// sweep removes some of what is expired.
func (k *Keys) sweep(tx core.Tx) error {
	var old []string
	err := core.ScanPrefix(tx, []byte(timePrefix), func(key, _ []byte) (bool, error) {
		r, err := records.Get(tx, timeDigest(key, nil))
		switch {
		case err != nil:
			return false, err
		case r == nil: // it can't be read: a check reports it, and the ones behind it expire
			return true, nil
		case !r.expired(k.Clock.Now()):
			return false, nil
		}
		old = append(old, timeDigest(key, nil))
		return len(old) < sweepCount, nil
	})
	for i := 0; err == nil && i < len(old); i++ {
		err = records.Delete(tx, old[i])
	}
	return err
}

// Context is the context of the call. Whatever is written in it marks the claim. Once
// another host has taken the claim over, nothing can be written: sdk.Conflict, reason
// "idempotency_taken_over".
func (c *Claim) Context(ctx context.Context) context.Context {
	marked := c.record
	marked.State = written
	value := jsontext.MustEncode(&marked)
	return core.WithMark(ctx, func(tx core.Tx) error {
		now, err := records.Get(tx, c.digest)
		if err != nil {
			return err
		}
		if c.lost(now) {
			return sdk.Errorf(sdk.Conflict, "idempotency_taken_over", "another host does the call with this idempotency key, since this host's beat had stopped").
				WithHint("ask again, with the same key, for its outcome")
		}
		return tx.Put(recordKey(c.digest), value)
	})
}

// lost reports whether another host has taken the claim over.
func (c *Claim) lost(now *record) bool { return now != nil && now.Owner != c.record.Owner }

// Ending is how a call ended.
type Ending struct {
	Data json.RawMessage
	// Memories are those whose texts may be in the outcome or in the request.
	Memories []string
	// Again is whether the call may be repeated if it wrote nothing, for example after a
	// temporary fault, or because its caller went away. Then the key is free, whatever the
	// call returned.
	Again bool
}

// End records the outcome, and wakes the callers that wait for it. It continues after ctx
// has ended. After an error the claim stays unchanged, so the call isn't done again.
func (c *Claim) End(ctx context.Context, e Ending) error {
	defer c.Abandon()
	return c.keys.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		before, err := records.Get(tx, c.digest)
		if err != nil || c.lost(before) { // the outcome is that of the other host
			return err
		}
		if e.Again && before != nil && before.State == claimed {
			return records.Delete(tx, c.digest)
		}
		after := c.record
		after.State, after.Owner, after.Data = done, "", e.Data
		after.Salt, after.Request = c.salt, digestUnder(c.salt, c.request.Body)
		after.Memories = slices.Compact(slices.Sorted(slices.Values(e.Memories)))
		gone, err := c.keys.Purged.Any(tx, after.Memories...)
		if err != nil {
			return err
		}
		if gone || len(e.Data) > maxOutcome {
			return records.Put(tx, c.digest, after.forgotten())
		}
		return records.Put(tx, c.digest, &after)
	})
}

// Abandon wakes the waiting callers without an outcome. After End it does nothing.
func (c *Claim) Abandon() {
	k := c.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running[c.digest] == c {
		delete(k.running, c.digest)
		close(c.ended)
	}
}

// Forget implements [core.Forgetter].
func (k *Keys) Forget(tx core.Tx, memoryID string) ([]string, error) {
	return nil, records.Forget(tx, memoryID, func(digest string, r *record) error { return records.Put(tx, digest, r.forgotten()) })
}
