package gate

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/table"
)

// checkJournal checks the evidence against the journal: each event of an outcome, a graph or a
// memory's factors has its record, exactly as this program writes it, and there are no
// other records. Damage to the journal is reported elsewhere.
func (c *checker) checkJournal(ctx context.Context) error {
	named := map[string]int{} // records by prefix
	err := journal.Streams(c.r, func(s journal.StreamHead) (bool, error) {
		if !strings.HasPrefix(s.Stream, journal.NamespaceStream("")) && !strings.HasPrefix(s.Stream, DAGStream("")) {
			return true, nil
		}
		t, err := readEvents(ctx, c.r, s.Stream)
		if err != nil {
			return false, err
		}
		named[toolPrefix] += len(t.outcomes)
		named[omegaPrefix] += len(t.omegas)
		if t.graph != nil {
			named[dagPrefix]++
		}
		return true, c.stream(t)
	})
	if journal.IsBroken(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, prefix := range []string{toolPrefix, dagPrefix, omegaPrefix} {
		if err := c.more(ctx, prefix, named[prefix]); err != nil {
			return err
		}
	}
	return nil
}

// streamEvidence collects what a stream records about evidence.
type streamEvidence struct {
	outcomes []outcomeEvent
	// uses are whether turns used memories, by the last event about each.
	uses   map[turnOf]bool
	omegas map[string]*omegaEvent // the newest of each memory
	graph  *graphEvent            // the newest
}

// turnOf is a turn that involved a memory.
type turnOf struct {
	memory string
	turn   core.TurnRef
}

type outcomeEvent struct {
	event journal.ToolEvidenceRecorded
	at    journal.Entry
}

type omegaEvent struct {
	event journal.OmegaEvidenceRecorded
	at    journal.Entry
}

type graphEvent struct {
	event journal.DAGEvidenceRecorded
	at    journal.Entry
}

// readEvents reads what a stream records about evidence.
func readEvents(ctx context.Context, r core.Reader, stream string) (*streamEvidence, error) {
	t := &streamEvidence{uses: map[turnOf]bool{}, omegas: map[string]*omegaEvent{}}
	err := journal.Read(r, stream, func(e journal.Entry) error { t.add(&e); return ctx.Err() })
	return t, err
}

// Proven implements [core.Prover]: a namespace's stream proves the outcomes and factors
// of its memories.
func (Evidence) Proven(ctx context.Context, r core.Reader, stream string) ([]core.Proven, error) {
	t, err := readEvents(ctx, r, stream)
	if err != nil {
		return nil, err
	}
	var list []core.Proven
	for i := range t.outcomes {
		list = append(list, core.Proven{Key: outcomeKey(&t.outcomes[i].event)})
	}
	for memory := range t.omegas {
		list = append(list, core.Proven{Key: omegaKey(memory)})
	}
	if t.graph != nil {
		list = append(list, core.Proven{Key: dagKey(t.graph.event.Workflow)})
	}
	return list, nil
}

// outcomeKey is the key of the outcome that an event records.
func outcomeKey(e *journal.ToolEvidenceRecorded) []byte {
	sum, _ := hex.DecodeString(strings.TrimPrefix(e.Outcome, "sha256:"))
	return append(turnKey(e.MemoryID, core.TurnRef{Session: e.SessionID, Turn: e.TurnID}), sum...)
}

func (t *streamEvidence) add(e *journal.Entry) {
	if event, is := journal.As[journal.ToolEvidenceRecorded](e); is {
		t.outcomes = append(t.outcomes, outcomeEvent{event, *e})
	}
	if event, is := journal.As[journal.ToolEvidenceUsed](e); is {
		t.uses[turnOf{event.MemoryID, core.TurnRef{Session: event.SessionID, Turn: event.TurnID}}] = event.Used
	}
	if event, is := journal.As[journal.OmegaEvidenceRecorded](e); is {
		t.omegas[event.MemoryID] = &omegaEvent{event, *e}
	}
	if event, is := journal.As[journal.DAGEvidenceRecorded](e); is {
		t.graph = &graphEvent{event, *e}
	}
}

// stream checks the records that a stream names. A memory belongs to one namespace, so
// all its outcomes are counted here.
func (c *checker) stream(t *streamEvidence) error {
	counts := map[string]int64{}
	for i := range t.outcomes {
		o := &t.outcomes[i]
		counts[o.event.MemoryID]++
		turn := core.TurnRef{Session: o.event.SessionID, Turn: o.event.TurnID}
		right := outcome{
			Seq: counts[o.event.MemoryID], OK: o.event.OK, Recovered: o.event.Recovered, At: o.at.At,
			Used: t.uses[turnOf{o.event.MemoryID, turn}],
		}
		if err := c.outcome(&o.event, right); err != nil {
			return err
		}
	}
	for _, known := range t.omegas {
		if err := c.checkOmega(known); err != nil {
			return err
		}
	}
	if t.graph == nil {
		return nil
	}
	workflow := t.graph.event.Workflow
	return agree(c, &dags, workflow, "the graph", "its event", func(stored *keptDAG) (any, bool) {
		return keptDAG{Digest: t.graph.event.Graph, At: t.graph.at.At, Graph: stored.Graph}, true
	})
}

// more reports records that no event names.
func (c *checker) more(ctx context.Context, prefix string, named int) error {
	stored := 0
	err := core.ScanPrefix(c.r, []byte(prefix), func(_, _ []byte) (bool, error) {
		stored++
		return true, ctx.Err()
	})
	if err == nil && stored > named {
		c.report(core.Problem{Part: part, Key: prefix, Message: "there are records that no event names"})
	}
	return err
}

// agree checks that the record that an event names is there, and is what right makes of it; proven
// is whether the event has the digests of the texts in it. A damaged record is reported with its
// kind.
func agree[R any](c *checker, k *table.Kind[R], id, what, events string, right func(stored *R) (rec any, proven bool)) error {
	key := []byte(k.Prefix + id)
	value, found, err := c.r.Get(key)
	if err != nil {
		return err
	}
	if !found {
		c.problem(key, what+" is gone")
		return nil
	}
	stored, err := k.Parse(id, value)
	if err != nil {
		return nil //nolint:nilerr // it can only be damage
	}
	if rec, proven := right(stored); !proven || string(jsontext.MustEncode(rec)) != string(value) {
		c.problem(key, what+" doesn't match "+events)
	}
	return nil
}

// outcome checks the record of an outcome against right, the outcome that its events
// describe. For the tool and the reference the event has the digest, which is part of the
// record's key.
func (c *checker) outcome(event *journal.ToolEvidenceRecorded, right outcome) error {
	return agree(c, &tools, string(outcomeKey(event)[len(toolPrefix):]), "the outcome", "its events", func(stored *outcome) (any, bool) {
		right.Tool, right.Ref = stored.Tool, stored.Ref
		return right, core.Digest(jsontext.MustEncode([]string{stored.Tool, stored.Ref})) == event.Outcome
	})
}

// checkOmega checks the record of a memory's factors. The event has the digest of its note.
func (c *checker) checkOmega(known *omegaEvent) error {
	event := &known.event
	return agree(c, &omegas, event.MemoryID, "what is known of the memory", "its event", func(stored *keptOmega) (any, bool) {
		return keptOmega{
			Seq: event.Seq, At: known.at.At, Note: stored.Note,
			OmegaFactors: policypoint.OmegaFactors{
				UpstreamStatus: event.UpstreamStatus, CodebaseVerification: event.CodebaseVerification,
				RuntimeUtilityTrend: event.RuntimeUtilityTrend,
			},
		}, noteDigest(stored.Note) == event.Note
	})
}
