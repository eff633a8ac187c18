package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/memory"
)

// written is what the writer of memories prints of each operation that was
// acknowledged.
type written struct {
	// Op is observed, reflected, fed, purged or promoted; ID is the memory's.
	Op string `json:"op"`
	ID string `json:"id"`
	// Session and Turn are the session and turn of a feedback.
	Session string `json:"session,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
}

// memoryWriter is a host that lets memories live one after the other.
type memoryWriter struct {
	*memory.Memories
	evidence *gate.Recorder
	ids      core.SystemIDs
	out      *json.Encoder
}

// writeMemories is a program that writes memories until it is killed, and prints
// what was acknowledged.
func writeMemories() {
	app := &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	err := app.load()
	var h *host.Host
	if err == nil {
		h, err = app.openHost(context.Background())
	}
	if err == nil {
		w := &memoryWriter{Memories: h.Memories, evidence: h.Evidence, out: json.NewEncoder(os.Stdout)}
		for err == nil {
			if err = w.purged(context.Background()); err == nil {
				err = w.promoted(context.Background())
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// purged is the life of a memory on which another reflects, and which fails until
// the gate purges it.
func (w *memoryWriter) purged(ctx context.Context) error {
	id, err := w.born(ctx, "nowhere")
	for turn := int64(1); err == nil && turn <= 3; turn++ {
		err = w.turn(ctx, id, id, turn, core.ToolOutcome{Tool: "test"})
	}
	return err
}

// promoted is the life of a memory that becomes knowledge once it helps in another
// session too. If the gate had retained it before, it would never become knowledge.
func (w *memoryWriter) promoted(ctx context.Context) error {
	id, err := w.born(ctx, "middle")
	for turn := int64(1); err == nil && turn <= 13; turn++ {
		session := id
		if turn == 13 {
			session += "-again"
		}
		err = w.turn(ctx, id, session, turn, core.ToolOutcome{Tool: "test", OK: true, Recovered: true})
	}
	return err
}

// born stores a memory, which has its id as a tag too, a reflection on it, and the
// graph in which it does a node's work.
func (w *memoryWriter) born(ctx context.Context, node string) (id string, err error) {
	id = w.ids.NewID()
	_, err = w.Observe(ctx, &core.ObserveRequest{ID: id, Namespace: "ns", Content: "What a memory holds.", Attributes: core.Attributes{Tags: []string{id}}})
	if err != nil {
		return "", err
	}
	if err := w.out.Encode(written{Op: "observed", ID: id}); err != nil {
		return "", err
	}
	made, err := w.Reflect(ctx, &core.ReflectRequest{SourceIDs: []string{id}, Title: id, Content: "What follows from it."})
	if err != nil {
		return "", err
	}
	if err := w.out.Encode(written{Op: "reflected", ID: made.ID}); err != nil {
		return "", err
	}
	_, err = w.evidence.RecordDAG(ctx, &core.WorkflowDAG{
		Workflow: id, Entry: []string{"first"}, Exits: []string{"last"},
		Edges: [][2]string{{"first", "middle"}, {"middle", "last"}}, Memories: map[string][]string{id: {node}},
	})
	return id, err
}

// turn recalls the memory by its tag, reports it as used, and tells what the gate
// made of it.
func (w *memoryWriter) turn(ctx context.Context, id, session string, turn int64, tool core.ToolOutcome) error {
	r := &core.RecallRequest{Session: session, Turn: turn, Query: "what a memory holds"}
	r.Namespace, r.Tags = "ns", []string{id}
	if _, err := w.Recall(ctx, r); err != nil {
		return err
	}
	result, err := w.Feedback(ctx, &core.FeedbackRequest{Session: session, Turn: turn, Used: []string{id}, ToolOutcomes: []core.ToolOutcome{tool}})
	if err != nil {
		return err
	}
	if err := w.out.Encode(written{Op: "fed", ID: id, Session: session, Turn: turn}); err != nil {
		return err
	}
	for _, id := range result.Revalidate {
		made, err := w.Gate.Decisions(ctx, id)
		if err != nil {
			return err
		}
		op := map[string]string{verdict.NextPurge: "purged", verdict.NextPromote: "promoted"}[made[len(made)-1].NextAction]
		if op == "" {
			continue
		}
		if err := w.out.Encode(written{Op: op, ID: id}); err != nil {
			return err
		}
	}
	return nil
}
