package gate

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/policypoint"
)

// Graph checks a graph and returns what it shows about a memory.
func Graph(dag *core.WorkflowDAG, memory string) (policypoint.GraphEvidence, error) {
	g, err := checkDAG(dag)
	if err != nil {
		return policypoint.GraphEvidence{}, err
	}
	return g.evidence(memory), nil
}

// The keys of the layout.
var (
	ToolKey  = toolKey
	TallyKey = tallyKey
	DAGKey   = dagKey
	IndexKey = indexKey
)
