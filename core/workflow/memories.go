package workflow

import (
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/workflow/action"
)

// A run's results hold the memories that it was given and the memories that it wrote. Only
// the action of a node shows which: both are memories with an id.

// Memories are the ids of the memories that a run of the plan was given by recalls and
// snapshots, and of those that it wrote, each once, in the order of its finished visits. A
// memory that it wrote and was given later is in both.
func (p *Plan) Memories(visits []core.Visit) (given, written []string) {
	add := func(list []string, ids []string) []string {
		for _, id := range ids {
			if !slices.Contains(list, id) {
				list = append(list, id)
			}
		}
		return list
	}
	for i := range visits {
		at := p.index(visits[i].Node)
		if at < 0 || visits[i].Skipped {
			continue
		}
		got, wrote := memoriesIn(p.Nodes[at].Action, visits[i].Result)
		given, written = add(add(given, got), visits[i].Given), add(written, wrote)
	}
	return given, written
}

// memoriesIn are the memories in the result of an action.
func memoriesIn(spec action.Spec, result json.RawMessage) (given, written []string) {
	var r struct {
		ID       string `json:"id"`
		Memories []struct {
			ID     string   `json:"id"`
			SameAs []string `json:"same_as"`
		} `json:"memories"`
		Used []struct {
			MemoryID string `json:"memory_id"`
		} `json:"blocks_used"`
	}
	memory, is := spec.(*action.MemorySpec)
	_, injects := spec.(*action.SnapshotSpec)
	if !is && !injects || json.Unmarshal(result, &r) != nil {
		return nil, nil
	}
	if injects {
		for _, u := range r.Used {
			if u.MemoryID != "" {
				given = append(given, u.MemoryID)
			}
		}
		return given, nil
	}
	switch memory.Verb {
	case action.VerbRecall:
		for _, m := range r.Memories {
			given = append(append(given, m.ID), m.SameAs...)
		}
	case action.VerbObserve, action.VerbReflect:
		if r.ID != "" {
			written = []string{r.ID}
		}
	}
	return given, written
}
