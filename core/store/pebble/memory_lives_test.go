package pebble

import (
	"context"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// livesScenario has the gate purge the memory a, on which others reflect, and
// promote b.
func livesScenario() []memoryStep {
	steps := []memoryStep{recordGraph("a", "nowhere"), recordGraph("b", "middle")}
	for turn := range int64(3) {
		steps = append(steps, turnOf("a", "x", "failing", turn, core.ToolOutcome{Tool: "test"})...)
	}
	helps := core.ToolOutcome{Tool: "test", OK: true, Recovered: true}
	for turn := range int64(12) {
		steps = append(steps, turnOf("b", "z", "helping", turn, helps)...)
	}
	steps = append(steps, turnOf("b", "z", "again", 1, helps)...)
	return append(steps, func(ctx context.Context, m *memoryWorld) error {
		if _, err := m.Get(ctx, "a"); sdk.ReasonOf(err) != "memory_purged" {
			return fmt.Errorf("a wasn't purged: %v", err)
		}
		_, err := m.Promotion(ctx, "b")
		return err
	})
}

// recordGraph has a memory do the work of a workflow's node.
func recordGraph(id, node string) memoryStep {
	return func(ctx context.Context, m *memoryWorld) error {
		_, err := m.evidence.RecordDAG(ctx, &core.WorkflowDAG{
			Workflow: id, Entry: []string{"first"}, Exits: []string{"last"},
			Edges: [][2]string{{"first", "middle"}, {"middle", "last"}}, Memories: map[string][]string{id: {node}},
		})
		return err
	}
}

// turnOf recalls a memory by its tag and reports it as used.
func turnOf(id, tag, session string, turn int64, tool core.ToolOutcome) []memoryStep {
	return []memoryStep{
		func(ctx context.Context, m *memoryWorld) error {
			r := &core.RecallRequest{Session: session, Turn: turn, Query: "c", Limit: 10}
			r.Namespace, r.Tags = "ns", []string{tag}
			_, err := m.Recall(ctx, r)
			return err
		},
		func(ctx context.Context, m *memoryWorld) error {
			_, err := m.Feedback(ctx, &core.FeedbackRequest{Session: session, Turn: turn, Used: []string{id}, ToolOutcomes: []core.ToolOutcome{tool}})
			return err
		},
	}
}
