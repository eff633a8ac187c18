package access

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Get returns a token. If there is none, the error is sdk.NotFound, reason
// "token_not_found".
func (a *Authority) Get(ctx context.Context, id string) (*Token, error) {
	var t Token
	err := a.writer.Store.View(ctx, func(r core.Reader) error {
		rec, err := readRecord(r, id)
		if err != nil {
			return err
		}
		t = rec.Token
		t.LastUsedAt, err = lastUsed(r, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// Find is [Authority.Get] that also accepts the start of an id, if only one token
// matches. If several match, the error is sdk.Conflict, reason "token_ambiguous".
func (a *Authority) Find(ctx context.Context, begun string) (*Token, error) {
	if validID(begun) || begun == "" || !isHex(begun) {
		return a.Get(ctx, begun)
	}
	var ids []string
	err := a.writer.Store.View(ctx, func(r core.Reader) (err error) {
		ids, err = core.Suffixes(r, tokenKey(begun), 2)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, NotFound(begun)
	case len(ids) > 1:
		return nil, sdk.Errorf(sdk.Conflict, "token_ambiguous", "the ids of several tokens begin with %s", core.Cut(begun)).
			WithHint("write more characters of the id").WithAction("token list")
	}
	return a.Get(ctx, begun+ids[0])
}

// ListFilter selects tokens.
type ListFilter struct {
	// Reaches reports whether the caller reaches everything that a pattern of namespaces
	// matches; a token with another pattern is left out. Nil reaches everything.
	Reaches func(pattern string) bool
	// Since leaves out tokens that were issued before; the zero time selects all.
	Since time.Time
	// After is the id of the token after which the list continues; "" means from the
	// start.
	After string
	// Limit is how many are listed at most; 0 means all.
	Limit int
}

// List lists tokens in the order in which they were issued, including those that ended
// within [KeepEnded].
func (a *Authority) List(ctx context.Context, f ListFilter) ([]Token, error) {
	var list []Token
	err := a.writer.Store.View(ctx, func(r core.Reader) error {
		return tokens.Scan(r, "", f.After, func(id string, rec *record) (bool, error) {
			if rec == nil || !rec.within(f.Reaches) || rec.CreatedAt.Before(f.Since) {
				return true, ctx.Err()
			}
			used, err := lastUsed(r, id)
			if err != nil {
				return false, err
			}
			rec.LastUsedAt = used
			list = append(list, rec.Token)
			return len(list) != f.Limit, ctx.Err()
		})
	})
	return list, sdk.Wrap("list the tokens", err)
}

// within reports whether reaches holds for all patterns of a token.
func (t *Token) within(reaches func(string) bool) bool {
	if reaches == nil {
		return true
	}
	for _, pattern := range t.Namespaces {
		if !reaches(pattern) {
			return false
		}
	}
	return true
}

// State is the state of a token now.
func (a *Authority) State(t *Token) State { return t.State(a.now()) }

// Active counts the tokens that are valid now.
func (a *Authority) Active(ctx context.Context) (n int, err error) {
	err = a.eachActive(ctx, func(*Token) { n++ })
	return n, sdk.Wrap("count the tokens", err)
}

// LastingLifetime is the shortest lifetime of a token whose end somebody has to prepare for: two weeks.
// A shorter one is made for a task, and nobody renews it.
const LastingLifetime = 14 * 24 * time.Hour

// NextExpiry is when the next of the valid tokens expires, of those that were made for
// [LastingLifetime] or longer; zero if there is none.
func (a *Authority) NextExpiry(ctx context.Context) (next time.Time, err error) {
	err = a.eachActive(ctx, func(t *Token) {
		if t.ExpiresAt.Sub(t.CreatedAt) >= LastingLifetime && (next.IsZero() || t.ExpiresAt.Before(next)) {
			next = t.ExpiresAt
		}
	})
	return next, sdk.Wrap("find the next token that expires", err)
}

// eachActive calls fn for each token that is valid now.
func (a *Authority) eachActive(ctx context.Context, fn func(*Token)) error {
	now := a.now()
	return a.writer.Store.View(ctx, func(r core.Reader) error {
		return tokens.Scan(r, "", "", func(_ string, rec *record) (bool, error) {
			if rec != nil && rec.State(now) == Active {
				fn(&rec.Token)
			}
			return true, ctx.Err()
		})
	})
}

// lastUsed is when a token was last used; zero if it never was, or that can't be read.
func lastUsed(r core.Reader, id string) (time.Time, error) {
	at, err := uses.Get(r, id)
	if err != nil || at == nil {
		return time.Time{}, err
	}
	return *at, nil
}
