package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/sdk"
)

// memoryStep is one call, of one commit or several.
type memoryStep func(context.Context, *memoryWorld) error

// memoryScenario are calls that make memories, and then live with them until the
// gate purges one and promotes another; and what else changes memories.
func memoryScenario() []memoryStep {
	return slices.Concat(makingScenario(), livesScenario(), changesScenario())
}

// makingScenario makes memories under settings of their namespace: reflections,
// such that are approved, rejected or too deep, and one that waits for ever.
func makingScenario() []memoryStep {
	return []memoryStep{
		func(ctx context.Context, w *memoryWorld) error {
			_, err := w.settings.Set(ctx, "ns", "max_reflection_depth=2", "require_approval_above_depth=1")
			return err
		},
		func(ctx context.Context, w *memoryWorld) error {
			_, _, err := w.ObserveAll(ctx, []*core.ObserveRequest{
				{ID: "a", Namespace: "ns", Content: "c", Attributes: core.Attributes{Tags: []string{"x", "y"}, AgentID: "alice"}},
				{ID: "b", Namespace: "ns", Content: "c", Attributes: core.Attributes{Tags: []string{"z"}}},
				{ID: "c", Namespace: "ns", Content: "c"}, {ID: "dreamt", Namespace: "ns", Content: "c"},
			})
			return err
		},
		reflecting("shallow", "a", "b", "c"),
		func(ctx context.Context, w *memoryWorld) error {
			_, err := w.Link(ctx, &memory.LinkRequest{From: "a", Relation: "contradicts", To: "b"})
			return err
		},
		reflecting("deep", "shallow", "a"),
		func(ctx context.Context, w *memoryWorld) error {
			made, err := w.Approve(ctx, w.made["deep"])
			if err == nil {
				w.made["deep"] = made.ID
			}
			return err
		},
		reflecting("unwanted", "shallow", "b"),
		func(ctx context.Context, w *memoryWorld) error {
			_, err := w.Reject(ctx, w.made["unwanted"], "no")
			return err
		},
		func(ctx context.Context, w *memoryWorld) error {
			_, err := w.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{w.made["deep"]}, Title: "too deep", Content: "c"})
			if sdk.ReasonOf(err) != "depth_exceeded" {
				return fmt.Errorf("it isn't too deep: %v", err)
			}
			return nil
		},
		reflecting("waiting", "a", "shallow", "c"),
	}
}

// reflecting derives a memory from others, each named by its id, or by what the
// scenario calls it.
func reflecting(name string, sources ...string) memoryStep {
	return func(ctx context.Context, w *memoryWorld) error {
		r := &core.ReflectRequest{Title: name, Content: "c", IdempotencyKey: name}
		for _, source := range sources {
			if made := w.made[source]; made != "" {
				source = made
			}
			r.SourceIDs = append(r.SourceIDs, source)
		}
		made, err := w.Reflect(ctx, r)
		if err == nil {
			w.made[name] = made.ID + made.PendingID
		}
		return err
	}
}

// livesScenario has the gate purge the memory a, on which others reflect, and
// promote b.
func livesScenario() []memoryStep {
	steps := []memoryStep{recordGraph("a", "nowhere"), recordGraph("b", "middle")}
	for turn := range int64(3) {
		steps = append(steps, turnOf("a", "x", "failing", turn+1, core.ToolOutcome{Tool: "test"})...)
	}
	helps := core.ToolOutcome{Tool: "test", OK: true, Recovered: true}
	for turn := range int64(12) {
		steps = append(steps, turnOf("b", "z", "helping", turn+1, helps)...)
	}
	steps = append(steps, turnOf("b", "z", "again", 1, helps)...)
	return append(steps, func(ctx context.Context, w *memoryWorld) error {
		if _, err := w.Get(ctx, "a"); sdk.ReasonOf(err) != "memory_purged" {
			return fmt.Errorf("a wasn't purged: %v", err)
		}
		_, err := w.Knowledge.Promotion(ctx, "b")
		return err
	})
}

// recordGraph makes a memory do the work of a workflow's node.
func recordGraph(id, node string) memoryStep {
	return func(ctx context.Context, w *memoryWorld) error {
		_, err := w.evidence.RecordDAG(ctx, &core.WorkflowDAG{
			Workflow: id, Entry: []string{"first"}, Exits: []string{"last"},
			Edges: [][2]string{{"first", "middle"}, {"middle", "last"}}, Memories: map[string][]string{id: {node}},
		})
		return err
	}
}

// turnOf recalls a memory by its tag and reports it as used.
func turnOf(id, tag, session string, turn int64, tool core.ToolOutcome) []memoryStep {
	return []memoryStep{
		func(ctx context.Context, w *memoryWorld) error {
			r := &core.RecallRequest{Session: session, Turn: turn, Query: "c", Limit: 10}
			r.Namespace, r.Tags = "ns", []string{tag}
			_, err := w.Recall(ctx, r)
			return err
		},
		func(ctx context.Context, w *memoryWorld) error {
			_, err := w.Feedback(ctx, &core.FeedbackRequest{Session: session, Turn: turn, Used: []string{id}, ToolOutcomes: []core.ToolOutcome{tool}})
			return err
		},
	}
}

// changesScenario has what else changes memories, and then what the host writes
// at its end: the decisions of the policies, and the heads of all streams.
func changesScenario() []memoryStep {
	return []memoryStep{
		archive("dreamt"),
		func(ctx context.Context, w *memoryWorld) error { _, err := w.Restore(ctx, "dreamt"); return err },
		func(ctx context.Context, w *memoryWorld) error { _, err := w.Gate.Sweep(ctx, "ns", nil); return err },
		func(ctx context.Context, w *memoryWorld) error {
			options := w.options
			options.Embedder = otherModel{}
			other, err := memory.New(options)
			if err != nil {
				return err
			}
			defer other.Close()
			p, err := other.Vectors.Reembed(ctx, "ns", nil)
			if err == nil && p.Changed == 0 {
				err = fmt.Errorf("no vector was made again: %+v", p)
			}
			return err
		},
		func(_ context.Context, w *memoryWorld) error { return w.log.Close() },
		func(ctx context.Context, w *memoryWorld) error { _, err := journal.Record(ctx, w.writer); return err },
	}
}

// otherModel makes the vectors of the local embedder under another name.
type otherModel struct{ embed.Hashed }

func (otherModel) Model() string { return "other" }

// archive writes what a step of a dream pass writes that archives an open memory.
func archive(id string) memoryStep {
	return func(ctx context.Context, w *memoryWorld) error {
		return w.writer.Update(ctx, func(tx *journal.Tx) error {
			key := []byte("memory/" + id)
			record, _, err := tx.Get(key)
			if err != nil {
				return err
			}
			record = bytes.Replace(record, []byte(`"state":"open"`), []byte(`"state":"archived"`), 1)
			if err := tx.Put(key, record); err != nil {
				return err
			}
			if err := moveIndices(tx, id); err != nil {
				return err
			}
			stream := journal.NamespaceStream("ns")
			err = tx.Append(stream, journal.MemoryTransitioned{MemoryID: id, Before: core.StateOpen, After: core.StateArchived, Cause: "dream"})
			if err != nil {
				return err
			}
			head, err := tx.Head(stream)
			if err != nil {
				return err
			}
			if err := tx.Put(binary.BigEndian.AppendUint64([]byte("memory-history/"+id+"/"), head.Seq), nil); err != nil {
				return err
			}
			return tx.Append(stream, journal.RecordsWritten{Records: []journal.RecordDigest{
				{Key: fmt.Sprintf("memory-history/%s/%d", id, head.Seq), Digest: core.Digest(nil)}, {Key: "memory/" + id, Digest: core.Digest(record)},
			}})
		})
	}
}

// moveIndices moves an open memory to the archived ones, which hold no title, and counts it
// there.
func moveIndices(tx core.Tx, id string) error {
	open, archived, title := []byte("memory-state/ns\x00open\x00"), []byte("memory-state/ns\x00archived\x00"), []byte("memory-title/ns\x00")
	var keys [][]byte
	for _, start := range [][]byte{open, title} {
		err := tx.Scan(start, append(slices.Clone(start), 0xff, 0xff), func(key, _ []byte) (bool, error) {
			if bytes.HasSuffix(key, []byte(id)) {
				keys = append(keys, bytes.Clone(key))
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
		if place, in := bytes.CutPrefix(key, open); in {
			if err := tx.Put(append(slices.Clone(archived), place...), nil); err != nil {
				return err
			}
		}
	}
	return countArchived(tx, []byte("memory-count/ns"))
}

// countArchived counts one of the open memories among the archived ones.
func countArchived(tx core.Tx, key []byte) error {
	count, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	var counted struct {
		Memories int64            `json:"memories"`
		Bytes    int64            `json:"bytes"`
		States   map[string]int64 `json:"states"`
		Kinds    map[string]int64 `json:"kinds"`
	}
	if err := json.Unmarshal(count, &counted); err != nil {
		return err
	}
	counted.States["open"]--
	counted.States["archived"]++
	return tx.Put(key, jsontext.MustEncode(counted))
}
