package gate

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// told checks the evidence against the journal: each event of an outcome or a graph
// has its record, which is exactly what this program writes of it, and there are no
// other records. Where the journal is broken, that is told there.
func (c *checker) told(ctx context.Context) error {
	outcomes, graphs := 0, 0
	counts := map[string]int64{} // outcomes by memory
	err := journal.Streams(c.r, func(s journal.StreamHead) (bool, error) {
		if !strings.HasPrefix(s.Stream, journal.NamespaceStream("")) && !strings.HasPrefix(s.Stream, DAGStream("")) {
			return true, nil
		}
		var newest *journal.DAGEvidenceRecorded
		var at journal.Entry
		err := journal.Read(c.r, s.Stream, func(e journal.Entry) error {
			if event, is := journal.As[journal.ToolEvidenceRecorded](&e); is {
				outcomes++
				counts[event.MemoryID]++
				return c.outcome(&e, &event, counts[event.MemoryID])
			}
			if event, is := journal.As[journal.DAGEvidenceRecorded](&e); is {
				newest, at = &event, e
			}
			return ctx.Err()
		})
		if err == nil && newest != nil {
			graphs++
			err = c.graph(&at, newest)
		}
		return err == nil, err
	})
	if journal.IsBroken(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.more(ctx, toolPrefix, outcomes); err != nil {
		return err
	}
	return c.more(ctx, dagPrefix, graphs)
}

// more reports records that no event tells of.
func (c *checker) more(ctx context.Context, prefix string, told int) error {
	stored := 0
	err := core.ScanPrefix(c.r, []byte(prefix), func(_, _ []byte) (bool, error) {
		stored++
		return true, ctx.Err()
	})
	if err == nil && stored > told {
		c.report(core.Problem{Part: "evidence", Key: prefix, Message: "there are records that no event tells of"})
	}
	return err
}

// outcome checks the record of an outcome, the seq-th of its memory. The event has
// the digest of the tool and the reference, which is a part of the record's key.
func (c *checker) outcome(e *journal.Entry, event *journal.ToolEvidenceRecorded, seq int64) error {
	sum, _ := hex.DecodeString(strings.TrimPrefix(event.Outcome, "sha256:"))
	key := append(turnKey(event.MemoryID, core.TurnRef{Session: event.SessionID, Turn: event.TurnID}), sum...)
	value, found, err := c.r.Get(key)
	if err != nil {
		return err
	}
	if !found {
		c.problem(key, false, "the outcome is gone")
		return nil
	}
	var stored outcome
	if json.Unmarshal(value, &stored) != nil {
		return nil // told by tool
	}
	right := outcome{Seq: seq, Tool: stored.Tool, OK: event.OK, Recovered: event.Recovered, Ref: stored.Ref, At: e.At, Used: stored.Used}
	if string(core.MustJSON(right)) != string(value) || core.Digest(core.MustJSON([]string{stored.Tool, stored.Ref})) != event.Outcome {
		c.problem(key, false, "the outcome isn't what its event says")
	}
	return nil
}

// graph checks the record of a workflow's newest graph.
func (c *checker) graph(e *journal.Entry, event *journal.DAGEvidenceRecorded) error {
	key := dagKey(event.Workflow)
	value, found, err := c.r.Get(key)
	if err != nil {
		return err
	}
	if !found {
		c.problem(key, false, "the graph is gone")
		return nil
	}
	kept, err := readDAG(c.r, event.Workflow)
	if isBroken(err) {
		return nil // told by dag
	}
	if err != nil {
		return err
	}
	right := keptDAG{Digest: event.Graph, At: e.At, Graph: kept.Graph}
	if string(core.MustJSON(right)) != string(value) {
		c.problem(key, false, "the graph isn't what its event says")
	}
	return nil
}
