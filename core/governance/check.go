package governance

import (
	"bytes"
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/sdk"
)

var _ core.Prover = (*Governor)(nil)

// Check implements [core.Checker]: every stored record can be read, and matches the
// newest event of its level.
func (g *Governor) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	problem := func(level string, err error) {
		if err != nil {
			report(core.Problem{Part: "governance", Key: string(key(level)), Message: sdk.AsError(err).Message})
		}
	}
	recorded := map[string]bool{} // the levels that have events
	err := levels(ctx, r, func(level string, after []byte) error {
		recorded[level] = true
		value, found, err := r.Get(key(level))
		if err != nil {
			return err
		}
		if !found {
			value = []byte("null")
		}
		if !bytes.Equal(value, after) {
			problem(level, sdk.Errorf(sdk.Internal, "governance_forged", "the settings of %s aren't what their newest event says", level))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return core.ScanPrefix(r, []byte(prefix), func(stored, value []byte) (bool, error) {
		level := strings.TrimPrefix(string(stored), prefix)
		err := checkLevel(level)
		if err == nil {
			_, err = decode(level, value)
		}
		if err == nil && !recorded[level] {
			err = sdk.Errorf(sdk.Internal, "governance_forged", "no event says that %s has settings", level)
		}
		problem(level, err)
		return true, ctx.Err()
	})
}

// levels calls fn for each level whose settings were ever changed, with the record in its
// newest event; null if it has none.
func levels(ctx context.Context, r core.Reader, fn func(level string, after []byte) error) error {
	return journal.CheckStreams(ctx, r, journal.NamespaceStream(""), func(level string, s journal.StreamHead) error {
		var after []byte
		err := journal.Read(r, s.Stream, func(e journal.Entry) error {
			if changed, is := journal.As[journal.GovernanceChanged](&e); is {
				after = changed.After
			}
			return ctx.Err()
		})
		if err == nil && after != nil {
			err = fn(level, after)
		}
		return err
	})
}

// Proven implements [core.Prover]: a level's stream proves its settings.
func (g *Governor) Proven(_ context.Context, r core.Reader, stream string) ([]core.Proven, error) {
	level, ok := strings.CutPrefix(stream, journal.NamespaceStream(""))
	if !ok {
		return nil, nil
	}
	_, found, err := r.Get(key(level))
	if err != nil || !found {
		return nil, err
	}
	return []core.Proven{{Key: key(level)}}, nil
}
