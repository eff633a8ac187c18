package gate_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestAnAddedGraphKeepsTheMemoriesOfTheOneBefore(t *testing.T) {
	onEngines(t, func(t *testing.T, d *desk) {
		d.dag(&core.WorkflowDAG{
			Workflow: "w", Entry: []string{"a"}, Exits: []string{"z"}, Edges: [][2]string{{"a", "old"}, {"old", "z"}},
			Memories: map[string][]string{"m": {"a"}, "n": {"old"}},
		})
		added := &core.WorkflowDAG{
			Workflow: "w", Entry: []string{"a"}, Exits: []string{"z"}, Edges: [][2]string{{"a", "b"}, {"b", "z"}},
			Memories: map[string][]string{"m": {"b"}, "x": {"b"}},
		}
		if err := d.AddDAG(t.Context(), added); err != nil {
			t.Fatal(err)
		}
		want := *added
		want.Memories = map[string][]string{"m": {"a", "b"}, "x": {"b"}} // n's node is gone
		if done := d.dag(&want); !done.Unchanged {
			t.Errorf("the graph is another one than %+v", want)
		}
		if len(added.Memories["m"]) != 1 {
			t.Errorf("the graph that was given was changed: %v", added.Memories)
		}
		if err := d.AddDAG(t.Context(), added); err != nil {
			t.Fatal(err)
		}
		if done := d.dag(&want); !done.Unchanged {
			t.Error("the same graph again changed something")
		}
	})
}
