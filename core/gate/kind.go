package gate

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/core/table"
)

const part = "evidence"

// tools are the outcomes of tools, by what follows the prefix in [toolKey].
var tools = table.Kind[outcome]{
	Part: part, Prefix: toolPrefix,
	Doc: "memory `/` session `/` turn(8) SHA-256(32) | an outcome of a tool call: `{seq, tool, ok, recovered?, ref?, at, used?}`; `seq` counts the memory's outcomes from 1; `used` says whether the turn's feedback used the memory, and is missing in early stores. The SHA-256 is of the JSON list `[tool, ref]`",

	Valid: func(id string, _ *outcome) string {
		if _, ok := toolTurn([]byte(toolPrefix + id)); !ok {
			return "the key isn't an outcome's key"
		}
		return ""
	},
	Sums: []table.Sum[outcome]{{
		Prefix: tallyPrefix,
		Doc:    "memory | the sum of the memory's outcomes, `{outcomes, failures, recoveries, good?, newest: [{seq, ref}]}`, with the newest 20 references",
		Value:  tallyValue, Wrong: "it isn't the sum of the memory's outcomes",
		Of: func(id string, _ *outcome) string {
			memory, _, _ := strings.Cut(id, "/")
			return memory
		},
	}},
}

// dags are the graphs, by their workflows.
var dags = table.Kind[keptDAG]{
	Part: part, Prefix: dagPrefix,
	Doc: "workflow | the newest graph of a workflow: `{digest, at, graph: {nodes, entry, exits, edges, memories}}`; nodes are sorted, and the other fields name nodes by their positions, sorted. `edges` is base64 with two bytes for each position. The digest is the graph's",

	Valid: func(_ string, kept *keptDAG) string {
		if kept.Graph == nil || !kept.Graph.sound() {
			return "it names nodes that aren't in it"
		}
		return ""
	},
	Agrees: func(_ core.Reader, _ string, kept *keptDAG) (wrong string, err error) {
		if kept.Digest != core.Digest(jsontext.MustEncode(kept.Graph)) {
			wrong = "the digest isn't the graph's"
		}
		return wrong, nil
	},
	Indices: []table.Index[keptDAG]{{
		Prefix: indexPrefix, Doc: "memory `/` workflow | index: empty; the workflow's graph names the memory",
		ID: func(key, _ []byte) string { _, workflow := splitIndex(key); return workflow },
		Entries: func(workflow string, kept *keptDAG) (list []table.Entry) {
			for _, memory := range slices.Sorted(maps.Keys(kept.Graph.Memories)) {
				list = append(list, table.Entry{Key: indexKey(memory, workflow)})
			}
			return list
		},
	}},
}

// omegas are the factors that are known about memories, by the memory.
var omegas = table.Kind[keptOmega]{
	Part: part, Prefix: omegaPrefix,
	Doc: "memory | the newest record of other knowledge about a memory: `{seq, at, note?, upstream_status?, codebase_verification?, runtime_utility_trend?}`; `seq` counts these records of the memory from 1",

	Agrees: func(_ core.Reader, memory string, kept *keptOmega) (wrong string, err error) {
		known := &OmegaEvidence{MemoryID: memory, OmegaFactors: kept.above(policypoint.OmegaFactors{}), Note: kept.Note}
		if CheckOmega(known) != nil || kept.Seq < 1 {
			wrong = "the factors of the memory are out of range"
		}
		return wrong, nil
	},
}

// kinds are all of them.
var kinds = table.Part{&tools, &dags, &omegas}

// tallyValue sums up the outcomes of a memory.
func tallyValue(_ context.Context, k *table.Kind[outcome], r core.Reader, memory string) (value []byte, err error) {
	t := &tally{}
	err = k.Each(r, memory+"/", func(id string, o *outcome) error {
		turn, _ := toolTurn([]byte(toolPrefix + id))
		t.count(turn, o)
		return nil
	})
	if t.Outcomes > 0 {
		value = jsontext.MustEncode(t)
	}
	return value, err
}
