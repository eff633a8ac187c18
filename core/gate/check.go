package gate

import (
	"context"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
)

var (
	_ core.Rebuilder = Evidence{}
	_ core.Prover    = Evidence{}
)

// Derived implements [core.Rebuilder]: tallies are derived from outcomes, and the index
// from graphs.
func (Evidence) Derived() []string { return kinds.Derived() }

// Rows are the rows of its kinds in the description of the format.
func (Evidence) Rows() []string { return kinds.Rows() }

// Rebuild implements [core.Rebuilder].
func (Evidence) Rebuild(ctx context.Context, s core.Store) error { return kinds.Rebuild(ctx, s) }

// Check implements [core.Checker]: all evidence can be read and matches its events, the
// index names exactly the memories of each graph, and each tally is the sum of its
// outcomes. It isn't a problem if a memory is gone, since evidence outlives it.
func (Evidence) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	if err := kinds.Check(ctx, r, report); err != nil {
		return err
	}
	c := &checker{r: r, report: report}
	return c.checkJournal(ctx)
}

// checker compares the evidence of one snapshot with the journal.
type checker struct {
	r      core.Reader
	report func(core.Problem)
}

func (c *checker) problem(key []byte, message string) {
	c.report(core.Problem{Part: part, Key: strings.Trim(strconv.Quote(string(key)), `"`), Message: message})
}
