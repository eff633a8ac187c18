package access

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Checker proves that tokens match the tokens that the journal records as issued, so that
// a token that was put into the store, or given more rights there, is detected.
// Credentials are never recreated: a rebuild drops those that are wrong. A missing
// credential isn't a problem, as it isn't valid.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// Derived implements [core.Rebuilder]. Exports leave credentials out, see the package
// comment.
func (Checker) Derived() []string {
	return []string{linkPrefix, sessionPrefix, tokenPrefix, usedPrefix}
}

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	proven, err := recordDigests(ctx, r)
	if err != nil {
		return err
	}
	for _, prefix := range (Checker{}).Derived() {
		err := scan(r, prefix, func(key string, value []byte) error {
			wrong, err := problem(r, key, value, proven)
			if err == nil && wrong != "" {
				report(core.Problem{Part: "access", Key: describe(key), Message: wrong, Rebuildable: true})
			}
			if err == nil {
				err = ctx.Err()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Rebuild implements [core.Rebuilder]: it drops credentials that aren't proven, and
// everything that belongs to them.
func (Checker) Rebuild(ctx context.Context, s core.Store) error {
	var proven map[string]string
	err := s.View(ctx, func(r core.Reader) (err error) {
		proven, err = recordDigests(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	for _, prefix := range []string{tokenPrefix, usedPrefix, linkPrefix, sessionPrefix} {
		err := core.UpdateEach(ctx, s, prefix, func(tx core.Tx, key string) error {
			value, found, err := tx.Get([]byte(key))
			if err != nil || !found {
				return err
			}
			wrong, err := problem(tx, key, value, proven)
			if err != nil || wrong == "" {
				return err
			}
			return tx.Delete([]byte(key))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recordDigests are the digests of the existing tokens' records, from the newest events:
// [MaxTokens] bounds them.
func recordDigests(ctx context.Context, r core.Reader) (map[string]string, error) {
	proven := map[string]string{}
	err := scan(r, tokenPrefix, func(key string, _ []byte) error {
		if id := key[len(tokenPrefix):]; validID(id) {
			proven[id] = ""
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	note := func(id, digest string) {
		if _, there := proven[id]; there {
			proven[id] = digest
		}
	}
	err = journal.Read(r, journal.AccessStream, func(e journal.Entry) error {
		if issued, is := journal.As[journal.TokenIssued](&e); is {
			note(issued.ID, issued.Record)
		} else if revoked, is := journal.As[journal.TokenRevoked](&e); is {
			note(revoked.ID, revoked.Record)
		}
		return ctx.Err()
	})
	if journal.IsBroken(err) {
		err = nil // the journal's own check reports it
	}
	return proven, err
}

// problem describes what is wrong with a key of this part; "" if nothing is wrong.
func problem(r core.Reader, key string, value []byte, proven map[string]string) (string, error) {
	if id, is := strings.CutPrefix(key, tokenPrefix); is {
		if _, _, ok := decodeRecord(id, value); !ok {
			return "it isn't a token's record as the program writes it", nil
		}
		if proven[id] != core.Digest(value) {
			return "the journal doesn't say that this token was issued so", nil
		}
		return "", nil
	}
	if id, is := strings.CutPrefix(key, usedPrefix); is {
		if _, ok := decodeUsed(value); !ok || id == OperatorID || !validID(id) {
			return "it isn't the time at which a token was used", nil
		}
		return ofToken(r, id)
	}
	for _, prefix := range []string{linkPrefix, sessionPrefix} {
		if !bytes.HasPrefix([]byte(key), []byte(prefix)) {
			continue
		}
		id, _, ok := splitLogin(prefix, key)
		if _, whole := decodeLogin(value); !ok || !whole {
			return "it isn't a login as the program writes it", nil
		}
		if id != OperatorID {
			return ofToken(r, id)
		}
	}
	return "", nil
}

// ofToken reports a key that belongs to a missing token.
func ofToken(r core.Reader, id string) (string, error) {
	_, found, err := r.Get(tokenKey(id))
	if err != nil || found {
		return "", err
	}
	return "it belongs to a token that doesn't exist", nil
}

// describe formats a key for messages.
func describe(key string) string { return strings.Trim(strconv.Quote(key), `"`) }
