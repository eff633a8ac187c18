package gate

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// window is how many of the last turns that used the memory count for recurrence.
const window = 20

// react makes evidence from the tool outcomes of a memory and of the memories merged into
// it. It also returns the evidence's references, the newest first.
func react(r core.Reader, m *core.Memory, merged []string, t *tally) (policypoint.ReactEvidence, []string, error) {
	recorded := 0
	for _, turn := range m.Signals.RecentUses[max(0, len(m.Signals.RecentUses)-window):] {
		has, err := hasOutcome(r, append([]string{m.ID}, merged...), turn)
		if err != nil {
			return policypoint.ReactEvidence{}, nil, err
		}
		if has {
			recorded++
		}
	}
	refs := t.refs()
	if m.Signals.Uses() == 0 { // the turns that recalled it show that it wasn't used
		for _, turn := range slices.Backward(m.Signals.Recent) {
			if name := turnName(turn); !slices.Contains(refs, name) {
				refs = append(refs, name)
			}
		}
	}
	return policypoint.ReactEvidence{
		Good: t.Good, ToolFailures: t.Failures, RecoverySuccess: t.Recoveries,
		Recurrence: share(recorded, int(min(window, m.Signals.Uses()))), Refs: int64(len(refs)),
	}, refs, nil
}

// hasOutcome reports whether a turn has an outcome of a tool for one of some memories.
func hasOutcome(r core.Reader, memories []string, turn core.TurnRef) (bool, error) {
	for _, memory := range memories {
		first, err := core.Suffixes(r, turnKey(memory, turn), 1)
		if len(first) > 0 || err != nil {
			return len(first) > 0, err
		}
	}
	return false, nil
}

// inGraphs is the evidence of the workflows' graphs.
type inGraphs struct {
	policypoint.GraphEvidence
	// workflow is the workflow whose evidence counts.
	workflow string
	refs     []string
}

// graphs collects the evidence of all graphs that name a memory. The best lane counts: a
// memory's worth shows in the workflow that needs it most, and a workflow that doesn't
// need it takes nothing away. So a memory is unreachable only if it is unreachable in
// every workflow, which is what a purge has to know. Then all the graphs show that, and
// each graph is a reference.
func graphs(r core.Reader, memory string) (inGraphs, error) {
	var best inGraphs
	workflows, err := workflowsOf(r, memory)
	if err != nil {
		return best, err
	}
	for _, workflow := range workflows {
		kept, err := readDAG(r, workflow)
		if err != nil {
			return best, err
		}
		if _, named := kept.Graph.Memories[memory]; !named {
			continue // a key left by a graph that couldn't be read
		}
		best.refs = append(best.refs, "dag:"+workflow+"@"+kept.Digest)
		found := kept.Graph.evidence(memory)
		if !best.Known || found.Lane() > best.Lane() {
			best.GraphEvidence, best.workflow = found, workflow
		}
	}
	best.Refs = int64(len(best.refs))
	return best, nil
}
