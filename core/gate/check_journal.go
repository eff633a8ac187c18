package gate

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// told checks the evidence against the journal: each event of an outcome, a graph or a
// memory's factors has its record, exactly as this program writes it, and there are no
// other records. Damage to the journal is reported elsewhere.
func (c *checker) told(ctx context.Context) error {
	told := map[string]int{} // records by prefix
	err := journal.Streams(c.r, func(s journal.StreamHead) (bool, error) {
		if !strings.HasPrefix(s.Stream, journal.NamespaceStream("")) && !strings.HasPrefix(s.Stream, DAGStream("")) {
			return true, nil
		}
		t, err := readTold(ctx, c.r, s.Stream)
		if err != nil {
			return false, err
		}
		told[toolPrefix] += len(t.outcomes)
		told[omegaPrefix] += len(t.omegas)
		if t.graph != nil {
			told[dagPrefix]++
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
		if err := c.more(ctx, prefix, told[prefix]); err != nil {
			return err
		}
	}
	return nil
}

// teller collects what a stream records about evidence.
type teller struct {
	outcomes []outcomeTold
	// uses are whether turns used memories, by the last event about each.
	uses   map[turnOf]bool
	omegas map[string]*omegaTold // the newest of each memory
	graph  *graphTold            // the newest
}

// turnOf is a turn that involved a memory.
type turnOf struct {
	memory string
	turn   core.TurnRef
}

type outcomeTold struct {
	event journal.ToolEvidenceRecorded
	at    journal.Entry
}

type omegaTold struct {
	event journal.OmegaEvidenceRecorded
	at    journal.Entry
}

type graphTold struct {
	event journal.DAGEvidenceRecorded
	at    journal.Entry
}

// readTold reads what a stream records about evidence.
func readTold(ctx context.Context, r core.Reader, stream string) (*teller, error) {
	t := &teller{uses: map[turnOf]bool{}, omegas: map[string]*omegaTold{}}
	err := journal.Read(r, stream, func(e journal.Entry) error { t.add(&e); return ctx.Err() })
	return t, err
}

// Proven implements [core.Prover]: a namespace's stream proves the outcomes and factors
// of its memories.
func (Evidence) Proven(ctx context.Context, r core.Reader, stream string) ([]core.Proven, error) {
	t, err := readTold(ctx, r, stream)
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

func (t *teller) add(e *journal.Entry) {
	if event, is := journal.As[journal.ToolEvidenceRecorded](e); is {
		t.outcomes = append(t.outcomes, outcomeTold{event, *e})
	}
	if event, is := journal.As[journal.ToolEvidenceUsed](e); is {
		t.uses[turnOf{event.MemoryID, core.TurnRef{Session: event.SessionID, Turn: event.TurnID}}] = event.Used
	}
	if event, is := journal.As[journal.OmegaEvidenceRecorded](e); is {
		t.omegas[event.MemoryID] = &omegaTold{event, *e}
	}
	if event, is := journal.As[journal.DAGEvidenceRecorded](e); is {
		t.graph = &graphTold{event, *e}
	}
}

// stream checks the records that a stream names. A memory belongs to one namespace, so
// all its outcomes are counted here.
func (c *checker) stream(t *teller) error {
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
		if err := c.known(known); err != nil {
			return err
		}
	}
	if t.graph == nil {
		return nil
	}
	return c.graph(t.graph)
}

// more reports records that no event names.
func (c *checker) more(ctx context.Context, prefix string, told int) error {
	stored := 0
	err := core.ScanPrefix(c.r, []byte(prefix), func(_, _ []byte) (bool, error) {
		stored++
		return true, ctx.Err()
	})
	if err == nil && stored > told {
		c.report(core.Problem{Part: "evidence", Key: prefix, Message: "there are records that no event names"})
	}
	return err
}

// outcome checks the record of an outcome against right, the outcome that its events
// describe. For the tool and the reference the event has the digest, which is part of the
// record's key.
func (c *checker) outcome(event *journal.ToolEvidenceRecorded, right outcome) error {
	key := outcomeKey(event)
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
		return nil // reported by tool
	}
	right.Tool, right.Ref = stored.Tool, stored.Ref
	if string(core.MustJSON(right)) != string(value) || core.Digest(core.MustJSON([]string{stored.Tool, stored.Ref})) != event.Outcome {
		c.problem(key, false, "the outcome doesn't match its events")
	}
	return nil
}

// known checks the record of a memory's factors. The event has the digest of its note.
func (c *checker) known(told *omegaTold) error {
	event := &told.event
	key := omegaKey(event.MemoryID)
	value, found, err := c.r.Get(key)
	if err != nil {
		return err
	}
	if !found {
		c.problem(key, false, "the factors of the memory are gone")
		return nil
	}
	stored, err := readOmega(c.r, event.MemoryID)
	if isBroken(err) {
		return nil // reported by omega
	}
	if err != nil {
		return err
	}
	right := keptOmega{
		Seq: event.Seq, At: told.at.At, Note: stored.Note,
		OmegaFactors: core.OmegaFactors{
			UpstreamStatus: event.UpstreamStatus, CodebaseVerification: event.CodebaseVerification,
			RuntimeUtilityTrend: event.RuntimeUtilityTrend,
		},
	}
	if string(core.MustJSON(right)) != string(value) || noteDigest(stored.Note) != event.Note {
		c.problem(key, false, "the factors of the memory don't match their event")
	}
	return nil
}

// graph checks the record of a workflow's newest graph.
func (c *checker) graph(told *graphTold) error {
	workflow := told.event.Workflow
	key := dagKey(workflow)
	value, found, err := c.r.Get(key)
	if err != nil {
		return err
	}
	if !found {
		c.problem(key, false, "the graph is gone")
		return nil
	}
	kept, err := readDAG(c.r, workflow)
	if isBroken(err) {
		return nil // reported by dag
	}
	if err != nil {
		return err
	}
	right := keptDAG{Digest: told.event.Graph, At: told.at.At, Graph: kept.Graph}
	if string(core.MustJSON(right)) != string(value) {
		c.problem(key, false, "the graph doesn't match its event")
	}
	return nil
}
