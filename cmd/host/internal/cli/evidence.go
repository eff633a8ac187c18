package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func evidenceCommand(a *App) *cobra.Command {
	return noun("evidence", "Record evidence of what memories are worth", `Record evidence of what memories are worth, which the gate uses: outcomes of tool calls,
the graphs of workflows, and other factors of a memory. Evidence holds names, numbers
and references, never content.`,
		evidenceToolCommand(a), evidenceDAGCommand(a), evidenceOmegaCommand(a),
	)
}

func evidenceToolCommand(a *App) *cobra.Command {
	var file string
	in := &operation.EvidenceTool{}
	c := verb[gate.ToolsRecorded]{
		Use: "tool", Short: "Record outcomes of tool calls that involved memories",
		Long: `Record outcomes of tool calls that involved memories: a JSON object, a list
of objects, or one object per line, with the fields
{memory_id, session, turn, tool, ok, recovered?, ref?}. An outcome counts once per
memory, session, turn, tool and ref, so a file may be recorded again.`,
		Example:   "  reflectory evidence tool --file outcomes.jsonl",
		Operation: "evidence_tool", In: in,
		Prepare: func(*cobra.Command, []string) (err error) {
			in.Outcomes, err = readEvidence(a, file, gate.ReadTools)
			return err
		},
		Print: func(out *output, done *gate.ToolsRecorded) error {
			return out.say("recorded %s, %d already recorded", plural(done.Recorded, "outcome", "outcomes"), done.Duplicates)
		},
	}.command(a)
	evidenceFlag(c, &file)
	return c
}

func evidenceFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "file", "", "JSON `file`, or - for standard input (required)")
}

// readEvidence reads a file of evidence.
func readEvidence[E any](a *App, file string, read func([]byte) (E, error)) (evidence E, err error) {
	if file == "" {
		return evidence, usageError{sdk.Errorf(sdk.Invalid, "usage", "--file is missing").WithHint("give a JSON file, or - for standard input")}
	}
	data, err := a.input.read(file, gate.MaxEvidenceBytes)
	if err != nil {
		return evidence, err
	}
	return read(data)
}

func evidenceDAGCommand(a *App) *cobra.Command {
	var file string
	in := &operation.EvidenceDAG{}
	c := verb[gate.DAGRecorded]{
		Use: "dag", Short: "Record a workflow's graph, and where memories are in it",
		Long: `Record a workflow's graph, and where memories are in it: a JSON object of
{workflow, entry: [node], exits: [node], edges: [[from, to]], memories: {id: [node]}}.
It replaces the workflow's previous graph. A graph with a cycle is refused.`,
		Example:   "  reflectory evidence dag --file graph.json",
		Operation: "evidence_dag", In: in,
		Prepare: func(*cobra.Command, []string) error {
			dag, err := readEvidence(a, file, gate.ReadDAG)
			if err == nil {
				in.WorkflowDAG = *dag
			}
			return err
		},
		Print: showDAG,
	}.command(a)
	evidenceFlag(c, &file)
	return c
}

func evidenceOmegaCommand(a *App) *cobra.Command {
	var file string
	in := &operation.EvidenceOmega{}
	c := verb[gate.OmegaRecorded]{
		Use: "omega", Short: "Record further factors of a memory",
		Long: `Record further factors of a memory, each from 0 to 1: the health of its upstream,
whether the code confirms it, and whether its use is growing. The input is a JSON object
with {memory_id, upstream_status?, codebase_verification?, runtime_utility_trend?,
note?}. It replaces all factors that were recorded before.`,
		Example:   "  reflectory evidence omega --file known.json",
		Operation: "evidence_omega", In: in,
		Prepare: func(*cobra.Command, []string) error {
			known, err := readEvidence(a, file, gate.ReadOmega)
			if err == nil {
				in.OmegaEvidence = *known
			}
			return err
		},
		Print: func(out *output, done *gate.OmegaRecorded) error {
			return out.say("recorded the factors of %s (number %d)", done.MemoryID, done.Seq)
		},
	}.command(a)
	evidenceFlag(c, &file)
	return c
}

func showDAG(out *output, done *gate.DAGRecorded) error {
	word := "recorded"
	if done.Unchanged {
		word = "unchanged"
	}
	fmt.Fprintf(out.Stdout, "%s: the graph of workflow %s, with %s, %s, %s (%s)\n",
		word, term.Clean(done.Workflow), plural(done.Nodes, "node", "nodes"), plural(done.Edges, "edge", "edges"),
		plural(done.Memories, "memory", "memories"), done.Digest)
	if len(done.Unknown) > 0 {
		out.term.Line("warn: there is no memory %s: a graph must have full ids", strings.Join(done.Unknown, ", "))
	}
	if len(done.Unreachable) > 0 {
		out.term.Line("warn: no entry leads to the nodes of %s", strings.Join(done.Unreachable, ", "))
	}
	return nil
}
