package access

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/table"
)

// Checker proves that tokens match the tokens that the journal records as issued, so that
// a token that was put into the store, or given more rights there, is detected.
// Credentials are never recreated: a rebuild drops those that are wrong. A missing
// credential isn't a problem, as it isn't valid.
type Checker struct{}

var _ core.Rebuilder = Checker{}

// kinds are the kinds, without what the journal proves.
var kinds = table.Part{&tokens, &uses, links, sessions}

// Derived implements [core.Rebuilder]. Exports leave credentials out, see the package
// comment.
func (Checker) Derived() []string { return kinds.Derived() }

// Rows are the rows of its kinds in the description of the format.
func (Checker) Rows() []string { return kinds.Rows() }

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	return proven(ctx).Check(ctx, r, report)
}

// Rebuild implements [core.Rebuilder]: it drops credentials that aren't proven, and
// everything that belongs to them.
func (Checker) Rebuild(ctx context.Context, s core.Store) error { return proven(ctx).Rebuild(ctx, s) }

// proven are the kinds for one check, which compares the tokens with the journal.
func proven(ctx context.Context) table.Part {
	var digests map[string]string
	checked := tokens
	checked.Agrees = func(r core.Reader, id string, rec *record) (wrong string, err error) {
		if digests == nil {
			digests, err = recordDigests(ctx, r)
		}
		if err == nil && digests[id] != core.Digest(jsontext.MustEncode(rec)) {
			wrong = "the journal doesn't say that this token was issued so"
		}
		return wrong, err
	}
	return table.Part{&checked, &uses, links, sessions}
}

// recordDigests are the digests of the existing tokens' records, from the newest events:
// [MaxTokens] bounds them.
func recordDigests(ctx context.Context, r core.Reader) (map[string]string, error) {
	proven := map[string]string{}
	err := tokens.Scan(r, "", "", func(id string, rec *record) (bool, error) {
		if rec != nil {
			proven[id] = ""
		}
		return true, ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	note := func(id, digest string) {
		if _, there := proven[id]; there {
			proven[id] = digest
		}
	}
	return proven, journal.CheckEntries(ctx, r, journal.AccessStream, func(e journal.Entry) error {
		if issued, is := journal.As[journal.TokenIssued](&e); is {
			note(issued.ID, issued.Record)
		} else if revoked, is := journal.As[journal.TokenRevoked](&e); is {
			note(revoked.ID, revoked.Record)
		}
		return nil
	})
}
