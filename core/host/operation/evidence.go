package operation

import (
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
)

// evidence are the operations that record what memories are worth. Their requests come
// from outside, from logs and tools: the gate reads the JSON, and refuses unknown keys
// and missing ones.
func evidence() []Operation {
	return []Operation{
		define(Operation{
			Name: "evidence_tool", Method: "POST", Path: "/v1/evidence/tool", Scope: core.ScopeMemoryWrite, Idempotent: true,
			Doc: "Record up to 10,000 outcomes of tool calls that involved memories.",
		}, ofOutcomes, evidenceTool),
		define(Operation{
			Name: "evidence_dag", Method: "POST", Path: "/v1/evidence/dag", Scope: core.ScopeMemoryWrite, Idempotent: true,
			Doc: "Record a workflow's graph, and where memories are in it. It replaces the previous graph.",
		}, everywhere[EvidenceDAG], evidenceDAG),
		define(Operation{
			Name: "evidence_omega", Method: "POST", Path: "/v1/evidence/omega", Scope: core.ScopeMemoryWrite,
			Doc: "Record further factors of a memory. They replace all factors that were recorded before.",
		}, ofKnown, evidenceOmega),
	}
}

// EvidenceTool has outcomes of tool calls: see [gate.Recorder.RecordTools].
type EvidenceTool struct {
	Outcomes Outcomes `json:"outcomes"`
}

// Outcomes are read from JSON by [gate.ReadTools]: a list, or one outcome.
type Outcomes []core.ToolOutcome

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Outcomes) UnmarshalJSON(data []byte) error {
	list, err := gate.ReadTools(data)
	*o = list
	return err
}

func ofOutcomes(ctx context.Context, c *Call, in *EvidenceTool) (place, error) {
	var ids []string
	for i := range in.Outcomes {
		ids = append(ids, in.Outcomes[i].MemoryID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	whole := slices.Clone(ids)
	at, err := c.atMemories(ctx, whole)
	for i := range in.Outcomes {
		o := &in.Outcomes[i]
		n, _ := slices.BinarySearch(ids, o.MemoryID)
		o.MemoryID = whole[n]
		if o.Session == "" || err != nil {
			continue
		}
		if _, err := c.ownSession(ctx, &o.Session); err != nil {
			return place{}, err
		}
	}
	slices.Sort(at.namespaces)
	at.namespaces = slices.Compact(at.namespaces)
	return at, err
}

func evidenceTool(ctx context.Context, c *Call, in *EvidenceTool) (*gate.ToolsRecorded, error) {
	done, err := c.Host.Evidence.RecordTools(ctx, in.Outcomes)
	if err != nil {
		return nil, err
	}
	return &done, nil
}

// EvidenceDAG is a workflow's graph.
type EvidenceDAG struct{ core.WorkflowDAG }

// evidenceDAG requires a caller that reaches every namespace: a workflow has one graph
// for all, so recording it changes what other callers' memories are worth, and reveals
// whether the graph was already recorded.
func evidenceDAG(ctx context.Context, c *Call, in *EvidenceDAG) (*gate.DAGRecorded, error) {
	return c.Host.Evidence.RecordDAG(ctx, &in.WorkflowDAG)
}

// EvidenceOmega has the factors of a memory.
type EvidenceOmega struct{ gate.OmegaEvidence }

func ofKnown(ctx context.Context, c *Call, in *EvidenceOmega) (place, error) {
	ids := []string{in.MemoryID}
	at, err := c.atMemories(ctx, ids)
	in.MemoryID = ids[0]
	return at, err
}

func evidenceOmega(ctx context.Context, c *Call, in *EvidenceOmega) (*gate.OmegaRecorded, error) {
	return c.Host.Evidence.RecordOmega(ctx, &in.OmegaEvidence)
}
