package access

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Options are the parts and settings of an Authority.
type Options struct {
	// Writer changes the store, records what was done, and gives the time.
	Writer *journal.Writer
	// Random is the source of secrets. Default crypto/rand.
	Random io.Reader
	// OperatorFile is the file of the operator's token; "" means that there is none.
	OperatorFile string
}

// Authority issues credentials and checks them. Any number of processes may have one on
// the same store. It is safe for concurrent use, and needn't be closed.
type Authority struct {
	writer   *journal.Writer
	random   io.Reader
	operator string
	cache    *cache

	// lastRead is the operator as their file was read last; nil before. fileTime is the time
	// by the clock that files are stamped by, which isn't the injected one.
	lastRead atomic.Pointer[operatorRead]
	fileTime func() time.Time
}

// New makes an Authority.
func New(o Options) *Authority {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return &Authority{writer: o.Writer, random: o.Random, operator: o.OperatorFile, cache: newCache(), fileTime: time.Now}
}

func (a *Authority) now() time.Time {
	if a.writer.Clock == nil {
		return core.SystemClock{}.Now()
	}
	return a.writer.Clock.Now()
}

// Authenticate returns the caller that a token belongs to. If the token isn't valid,
// [IsUnauthenticated] holds for the error; other errors come from the store.
func (a *Authority) Authenticate(ctx context.Context, token string) (core.Caller, error) {
	c, ok := parse(kindToken, token) // an invalid token is looked up too, so that it takes as long
	var found *holder
	err := a.writer.Store.View(ctx, func(r core.Reader) (err error) {
		found, err = a.holder(r, c.id)
		return err
	})
	if err != nil {
		return core.Caller{}, sdk.Wrap("check a token", err)
	}
	same, live := found.digest.equal(c.digest()), found.live(a.now())
	if !ok || !same || !live {
		return nobody()
	}
	a.use(ctx, found)
	return found.caller, nil
}

// Issued is a new token with its secret, which is returned only here.
type Issued struct {
	Token
	Secret Secret `json:"token"`
}

// Issue makes a token. All errors of the request are reported at once; the reason is
// "expires_in_denied" if the token would outlast the context's caller, "models_denied" if it could ask
// models that the caller can't, and sdk.Exhausted, "tokens_full", if there are too many tokens.
func (a *Authority) Issue(ctx context.Context, q Request) (*Issued, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	c, err := newSecret(a.random, "")
	if err != nil {
		return nil, err
	}
	rec := record{Token: Token{Subject: q.Subject, Scopes: q.Scopes, Namespaces: q.Namespaces, DefaultNamespace: q.DefaultNamespace, ModelGrant: q.ModelGrant, Label: q.Label}, Digest: c.digest()}
	err = a.writer.Update(ctx, func(tx *journal.Tx) error {
		q := q // a transaction may be tried again
		now := tx.Now().UTC().Truncate(time.Second)
		if err := core.JoinErrors(q.within(tx.Caller(), now), q.withinGrant(tx.Caller()), makeRoom(tx, now)); err != nil {
			return err
		}
		if rec.ID, err = a.newID(tx, now); err != nil {
			return err
		}
		rec.IssuedBy, rec.CreatedAt, rec.ExpiresAt = tx.Caller().Subject, now, now.Add(q.Lifetime)
		if err := tokens.Add(tx, rec.ID, &rec); err != nil {
			return err
		}
		event := journal.TokenIssued{ID: rec.ID, For: rec.Subject, Namespaces: rec.Namespaces, ExpiresAt: rec.ExpiresAt, Record: core.Digest(jsontext.MustEncode(rec))}
		for _, s := range rec.Scopes {
			event.Scopes = append(event.Scopes, string(s))
		}
		return tx.Append(journal.AccessStream, event)
	})
	if err != nil {
		return nil, sdk.Wrap("issue a token", err)
	}
	c.id = rec.ID
	return &Issued{rec.Token, c.text(kindToken)}, nil
}

// makeRoom drops tokens that ended long ago. It refuses a new one if there are still too many.
func makeRoom(tx core.Tx, now time.Time) error {
	count := 0
	var old []string
	err := tokens.Scan(tx, "", "", func(id string, rec *record) (bool, error) {
		if rec != nil && rec.ended().Before(now.Add(-KeepEnded)) {
			old = append(old, id)
			return true, nil
		}
		count++
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, id := range old {
		if err := drop(tx, id); err != nil {
			return err
		}
	}
	if count >= MaxTokens {
		return sdk.Errorf(sdk.Exhausted, "tokens_full", "there are %d tokens (limit %d)", count, MaxTokens).
			WithHint("revoke tokens that nobody needs: ended tokens are dropped after %d days", int(KeepEnded.Hours()/24))
	}
	return nil
}

// drop removes a token with everything that belongs to it.
func drop(tx core.Tx, id string) error {
	return core.JoinErrors(tokens.Delete(tx, id), uses.Delete(tx, id), endLogins(tx, id))
}

// newID makes an id that no token has: see [idDigits].
func (a *Authority) newID(r core.Reader, now time.Time) (string, error) {
	for range 10 {
		var b [8]byte
		if _, err := io.ReadFull(a.random, b[:]); err != nil {
			return "", sdk.Errorf(sdk.Unavailable, "no_randomness", "draw an id: %w", err)
		}
		binary.BigEndian.PutUint32(b[:4], uint32(now.Unix()))
		id := hex.EncodeToString(b[:])
		if _, found, err := r.Get(tokenKey(id)); err != nil || !found {
			return id, err
		}
	}
	return "", sdk.Errorf(sdk.Unavailable, "no_randomness", "every generated id is taken: the source of randomness repeats itself")
}

// Revoke ends a token, and every login made with it: no check of the token that begins
// after Revoke returns succeeds, in any process. Revoking it again changes nothing. If
// there is no such token, the error is sdk.NotFound, reason "token_not_found".
func (a *Authority) Revoke(ctx context.Context, id string) (*Token, error) {
	err := a.writer.Update(ctx, func(tx *journal.Tx) error {
		rec, err := readRecord(tx, id)
		if err != nil || !rec.RevokedAt.IsZero() {
			return err
		}
		rec.RevokedAt = tx.Now().UTC().Truncate(time.Second)
		if err := core.JoinErrors(tokens.Put(tx, id, rec), endLogins(tx, id)); err != nil {
			return err
		}
		return tx.Append(journal.AccessStream, journal.TokenRevoked{ID: id, Record: core.Digest(jsontext.MustEncode(rec))})
	})
	if err != nil {
		return nil, sdk.Wrap("revoke a token", err)
	}
	return a.Get(ctx, id)
}

// readRecord reads a token's record. A record that can't be read is treated as missing:
// its token isn't valid, and a check of the store reports it.
func readRecord(r core.Reader, id string) (*record, error) {
	if !validID(id) {
		return nil, NotFound(id)
	}
	rec, err := tokens.Get(r, id)
	if err == nil && rec == nil {
		err = NotFound(id)
	}
	return rec, err
}

// NotFound is the error for an id that no token has. A text that is too long for an id
// isn't repeated: it may be a token, given instead of its id.
func NotFound(id string) error {
	name := fmt.Sprintf("%q", id)
	if len(id) > idDigits {
		name = fmt.Sprintf("of an id of %d bytes: an id has %d digits", len(id), idDigits)
	}
	return sdk.Errorf(sdk.NotFound, "token_not_found", "there is no token %s", name).
		WithHint("list the tokens").WithAction("token list")
}
