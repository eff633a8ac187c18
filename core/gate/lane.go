package gate

import (
	"slices"

	"github.com/reflectory/reflectory/core"
)

// window is how many turns that used the memory the recurrence looks back on.
const window = 20

// react makes evidence of a memory's tool outcomes, and its references, the newest
// first.
func react(r core.Reader, m *core.Memory, t *tally) (core.ReactEvidence, []string, error) {
	recorded := 0
	for _, turn := range m.Signals.RecentUses[max(0, len(m.Signals.RecentUses)-window):] {
		has, err := hasOutcome(r, m.ID, turn)
		if err != nil {
			return core.ReactEvidence{}, nil, err
		}
		if has {
			recorded++
		}
	}
	refs := t.refs()
	if m.Signals.Uses() == 0 { // the turns that offered it show that it wasn't used
		for _, turn := range slices.Backward(m.Signals.Recent) {
			if name := turnName(turn); !slices.Contains(refs, name) {
				refs = append(refs, name)
			}
		}
	}
	return core.ReactEvidence{
		Good: t.Good, ToolFailures: t.Failures, RecoverySuccess: t.Recoveries,
		Recurrence: share(recorded, int(min(window, m.Signals.Uses()))), Refs: int64(len(refs)),
	}, refs, nil
}

// hasOutcome reports whether a turn has an outcome of a tool for a memory.
func hasOutcome(r core.Reader, memory string, turn core.TurnRef) (bool, error) {
	first, err := core.Suffixes(r, turnKey(memory, turn), 1)
	return len(first) > 0, err
}

// inGraphs is the evidence of the workflows' graphs.
type inGraphs struct {
	core.GraphEvidence
	// workflow is the one whose evidence counts.
	workflow string
	refs     []string
}

// graphs collects the evidence of all graphs that name a memory. The best lane
// counts: what a memory is worth shows where it is worth most, and a workflow
// that could do without it takes nothing from one that couldn't. So a memory is
// unreachable only if it is in every workflow, which is what a purge has to
// know; all the graphs are then what shows it, and each is a reference.
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
