package run

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
)

// Checker proves the invariants of runs. See FORMAT.md.
type Checker struct {
	// Purged reports whether a memory was purged; nil is for a store without memories.
	Purged core.Purged
	// Turns finds the turns that are counted next to the runs; nil is for a store without turns.
	Turns EachTurn
}

var _ core.Rebuilder = Checker{}

// Check implements [core.Checker].
func (part Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	c := &checking{r: r, report: report, purged: part.Purged, turns: part.Turns}
	err := runs.Check(ctx, r, report, func(_ string, record *runRecord, _ []byte) error { return c.run(record) })
	if err != nil {
		return err
	}
	for _, prefix := range []string{contentPrefix, resultPrefix, visitPrefix, attemptPrefix, promptPrefix, promptTextPrefix, stepPrefix} {
		if err := c.strays(ctx, prefix); err != nil {
			return err
		}
	}
	if err := c.strayTexts(ctx); err != nil {
		return err
	}
	if err := c.strayPrompts(ctx); err != nil {
		return err
	}
	if err := c.streams(ctx); err != nil {
		return err
	}
	err = steps.Check(ctx, r, report, func(id string, record *stepRecord, _ []byte) error { return c.step(id, record) })
	return cmp.Or(err, holders.Check(ctx, r, report, nil), c.hours(ctx))
}

// Derived implements [core.Rebuilder]: the index by time, the counts by hour, and the
// records of which host runs which run, which no other store needs.
func (Checker) Derived() []string {
	return append(table.Part{&runs, &holders, &steps}.Derived(), hourPrefix)
}

// Rows are the rows of its kinds in the description of the format.
func (Checker) Rows() []string {
	return table.Part{&runs, &holders, &contents, &ends, &visitRecords, &attemptRecords, &promptRecords, &steps}.Rows()
}

// Rebuild implements [core.Rebuilder]. A damaged run leaves the index by time, so that it stops
// no list and no pruning of the others.
func (part Checker) Rebuild(ctx context.Context, s core.Store) error {
	err := core.UpdateEach(ctx, s, timePrefix, func(tx core.Tx, key string) error {
		_, err := runs.Get(tx, timeID([]byte(key)))
		if table.Corrupt(err) {
			return tx.Delete([]byte(key))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := (table.Part{&holders, &runs, &steps}).Rebuild(ctx, s); err != nil {
		return err
	}
	return rebuildHours(ctx, s, part.Turns)
}

// checking is a check in progress.
type checking struct {
	r      core.Reader
	report func(core.Problem)
	purged core.Purged
	turns  EachTurn
}

func (c *checking) problem(key []byte, rebuildable bool, message string) {
	c.report(core.Problem{Part: "runs", Key: DescribeKey(key), Message: message, Rebuildable: rebuildable})
}

// reportDamage reports an error about a fault in a run. It returns any other error.
func (c *checking) reportDamage(err error) error {
	if sdk.ReasonOf(err) != "record_corrupt" && !absent(err) {
		return err
	}
	at := sdk.AsError(err)
	key, _ := at.Details["key"].(string)
	c.report(core.Problem{Part: "runs", Key: key, Message: at.Message})
	return nil
}

// absent reports whether an error means that a run doesn't exist.
func absent(err error) bool {
	return sdk.ReasonOf(err) == "run_not_found" || sdk.ReasonOf(err) == "run_pruned"
}

// run checks one run: its content, its history and its stream.
func (c *checking) run(record *runRecord) error {
	_, err := readRun(c.r, record.ID)
	if err == nil {
		err = c.open(record)
	}
	if err != nil {
		return c.reportDamage(err)
	}
	if err := c.reportDamage(c.prompts(record.ID)); err != nil {
		return err
	}
	return c.reportDamage(c.events(record))
}

// open checks the attempts: in each visit all attempts except the last are judged, and
// the run names the last attempt of the open visit.
func (c *checking) open(record *runRecord) error {
	loops, err := readAttempts(c.r, record.ID)
	if err != nil {
		return err
	}
	for _, l := range loops {
		for i := range l.Attempts[:len(l.Attempts)-1] {
			if !l.Attempts[i].Judged {
				return attemptRecords.Damaged(attemptKey(record.ID, l.Visit, i+1), "it isn't judged, but another follows")
			}
		}
	}
	open := record.Visits + 1
	if n := len(attemptsOf(loops, open)); n != record.Last.Iteration {
		return attemptRecords.Damaged(attemptKey(record.ID, open, n), fmt.Sprintf("the open visit has %d attempts, but the run says %d", n, record.Last.Iteration))
	}
	return nil
}

// strays reports records of runs that don't exist.
func (c *checking) strays(ctx context.Context, prefix string) error {
	known := ""
	return scanPrefix(c.r, prefix, func(key, _ []byte) error {
		id, _, _ := strings.Cut(string(key[len(prefix):]), "/")
		if id == known {
			return ctx.Err()
		}
		known = id
		if validID(id) {
			if _, found, err := c.r.Get(runKey(id)); err != nil || found {
				return err
			}
		}
		c.problem(key, false, "it belongs to a run that doesn't exist")
		return nil
	})
}

// streams checks that each stream of a run has its run, or was pruned as a whole together
// with it.
func (c *checking) streams(ctx context.Context) error {
	return journal.CheckStreams(ctx, c.r, Stream(""), func(id string, s journal.StreamHead) error {
		_, found, err := c.r.Get(runKey(id))
		if err != nil {
			return err
		}
		seal, err := journal.ReadSeal(c.r, s.Stream)
		switch {
		case err != nil:
			return err
		case !found && seal.Seq == 0:
			c.problem(runKey(id), false, "the run is gone, but no seal says that it was pruned")
		case found && seal.Seq > 0, seal.Seq > 0 && seal.Last != s.Seq:
			c.problem(runKey(id), false, "the run was pruned, but part of it is left")
		}
		return nil
	})
}

// scanPrefix calls fn for each key with a prefix, until it returns an error.
func scanPrefix(r core.Reader, prefix string, fn func(key, value []byte) error) error {
	return core.ScanPrefix(r, []byte(prefix), func(key, value []byte) (bool, error) {
		return true, fn(key, value)
	})
}
