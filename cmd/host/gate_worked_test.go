package main

import "github.com/reflectory/reflectory/core"

// worked is a decision of the gate that was worked out with a calculator from spec
// 3.4 to 3.6, apart from this program.
type worked struct {
	name  string
	turns string // see seedLife
	// tools are outcomes of calls, by the turn: S went well, F failed, R failed and
	// was recovered from, once for each letter.
	tools string
	// dag is a graph without its workflow and memories, and node the memory's.
	dag, node string
	// factors are flags, settings those of the namespace.
	factors, settings string

	verdict    string
	confidence float64
	reason     string
	numbers    core.GateNumbers
	unmet      []string
	state      core.MemoryState // "" is purged
}

const (
	lineDAG = `"entry":["a"],"exits":["c"],"edges":[["a","b"],["b","c"]]`
	// forkDAG has two exits, of which one needs b.
	forkDAG = `"entry":["a"],"exits":["c","d"],"edges":[["a","b"],["b","c"],["a","d"]]`
)

// allFactors are flags that set the three factors.
func allFactors(upstream, codebase, trend string) string {
	return " --upstream-status " + upstream + " --codebase-verification " + codebase + " --runtime-utility-trend " + trend
}

// workedOut are the decisions. The query is the memory's own text, so the similarity
// is 1, the score .7 + .3·q, and the weight of a use .2 + .55 + .25·(score+1)/2: from
// .5 failures take q to .401875, .3243446679 and .2602830646.
func workedOut() []worked {
	failing := core.GateNumbers{
		React: .2, ToolFailures: 3, Recurrence: 1, GraphKnown: true, Workflow: "w", Omega: .5, Q: .2602830646,
		Utility: .2410566129, Uses: 3, RelevantTurns: 3, Sessions: 1, FailureRate: 1, MinimumConfidence: .7,
	}
	carefully := failing
	carefully.MinimumConfidence = .95
	const fails, useless, neither = "a1F a2F a3F", "its uses failed, and it is of little use", "neither proven nor obsolete"
	return []worked{
		{ // .32·1/5·1 + .23·0 + .25·.5 + .2·q; .55 + 1.8·(.32−.2410566) + .8·(1−.7)
			name: "three failures, and nothing leads to it", turns: fails, tools: fails, dag: lineDAG, node: "lost",
			verdict: "obsolete", confidence: .9320980967, reason: useless, numbers: failing,
		},
		{ // the same; .42 + .6·(.32−.2410566)
			name: "the namespace asks for more", turns: fails, tools: fails, dag: lineDAG, node: "lost", settings: "gate.min_confidence=0.95",
			verdict: "retain", confidence: .4673660322, reason: "it would be obsolete, but confidence is 0.932098097, of at least 0.95",
			numbers: carefully, unmet: []string{"confidence"}, state: core.StateCooling,
		},
		{ // .064 + .23·.5 + 0 + .2·q; .42 + .6·(.32−.2310566)
			name: "three failures, without a graph", turns: "a1F a2F b1F", tools: "a1F a2F b1F", factors: allFactors("0", "0", "0"),
			verdict: "retain", confidence: .4733660322, reason: "it would be obsolete, but graph_evidence_refs is 0, of at least 1",
			numbers: core.GateNumbers{
				React: .2, ToolFailures: 3, Recurrence: 1, Graph: .5, Q: .2602830646,
				Utility: .2310566129, Uses: 3, RelevantTurns: 3, Sessions: 2, FailureRate: 1, MinimumConfidence: .7,
			},
			unmet: []string{"graph_evidence_refs"}, state: core.StateCooling,
		},
		{ // react 1/4·(.4+.6·2/6): .048 + 0 + .125 + .2·.3233028; .42 + .6·(.32−.2376606)
			name: "two failures, and then no use", turns: "a1F a2F a3- a4- a5- a6-", tools: "a1F a2F", dag: lineDAG, node: "lost",
			verdict: "retain", confidence: .4694036657, reason: "it would be obsolete, but failed_turns is 2, of at least 3",
			numbers: core.GateNumbers{
				React: .15, ToolFailures: 2, Recurrence: 1.0 / 3, GraphKnown: true, Workflow: "w", Omega: .5, Q: .3233027861,
				Utility: .2376605572, Uses: 2, RelevantTurns: 6, Sessions: 1, FailureRate: 1, MinimumConfidence: .7,
			},
			unmet: []string{"failed_turns"}, state: core.StateCooling,
		},
		{ // react 1/2·.4: .064 + 0 + .125 + .1; .75 + 1.8·(.32−.289)
			name: "never used, and nothing leads to it", turns: "a1- a2- a3- a4- a5- a6- a7- a8- a9- a10-", dag: lineDAG, node: "lost",
			verdict: "obsolete", confidence: .8058, reason: "offered often, never used, and nothing leads to it",
			numbers: core.GateNumbers{
				React: .2, GraphKnown: true, Workflow: "w", Omega: .5, Q: .5, Utility: .289, RelevantTurns: 10, MinimumConfidence: .7,
			},
		},
		{ // react 13/14, graph .4+.35+.25·2/3, omega .9: .2971429 + .2108333 + .225 + .2·.6617060; .55 + 1.8·(.8653174−.78) + .8·.25
			name: "of use in two sessions", turns: "a1S a2P b1S", tools: "a1RRRR a2RRRR b1RRRR", dag: lineDAG, node: "a", factors: allFactors("1", "0.9", "0.8"),
			verdict: "promote", confidence: .9035713051, reason: "used often, with success, and useful",
			numbers: core.GateNumbers{
				React: .9285714286, RecoverySuccess: 12, Recurrence: 1, Graph: .9166666667, GraphKnown: true, PathReachable: true,
				Dependency: 1, Decomposition: 2.0 / 3, Workflow: "w", Omega: .9, Q: .6617060063,
				Utility: .8653173917, Uses: 3, RelevantTurns: 3, Sessions: 2, MinimumConfidence: .7,
			},
			state: core.StatePromoted,
		},
		{ // the same by another number of uses: .2887805 + .2108333 + .25 + .2·.8976580; .42 + .6·(.9291454−.78)
			name: "of use in one session", turns: fails + " a4S a5S a6S a7S a8S a9S a10S a11S a12S",
			tools: fails + " a4RRRR a5RRRR a6RRRR a7RRRR a8RRRR a9RRRR a10RRRR a11RRRR a12RRRR", dag: lineDAG, node: "a", factors: allFactors("1", "1", "1"),
			verdict: "retain", confidence: .5094872534, reason: "it would be promote, but sessions is 1, of at least 2",
			numbers: core.GateNumbers{
				React: .9024390244, ToolFailures: 3, RecoverySuccess: 36, Recurrence: 1, Graph: .9166666667, GraphKnown: true, PathReachable: true,
				Dependency: 1, Decomposition: 2.0 / 3, Workflow: "w", Omega: 1, Q: .8976580059,
				Utility: .9291454223, Uses: 12, RelevantTurns: 12, Sessions: 1, FailureRate: .25, MinimumConfidence: .7,
			},
			unmet: []string{"sessions"}, state: core.StateActive,
		},
		{ // react 10/12, graph .4+.35+.25/3, omega 1: .2666667 + .1916667 + .25 + .2·.5942791; .55 + 1.8·.0471892 is too little
			name: "of use, with a failure in four", turns: "a1S a2S a3S b1F", tools: "a1RRR a2RRR a3RRR b1F", dag: lineDAG, node: "b", factors: allFactors("1", "1", "1"),
			verdict: "retain", confidence: .4483134968, reason: "it would be promote, but confidence is 0.63494049, of at least 0.7",
			numbers: core.GateNumbers{
				React: 10.0 / 12, ToolFailures: 1, RecoverySuccess: 9, Recurrence: 1, Graph: .8333333333, GraphKnown: true, PathReachable: true,
				Dependency: 1, Decomposition: 1.0 / 3, Workflow: "w", Omega: 1, Q: .5942791398,
				Utility: .8271891613, Uses: 4, RelevantTurns: 4, Sessions: 2, FailureRate: .25, MinimumConfidence: .7,
			},
			unmet: []string{"confidence"}, state: core.StateActive,
		},
		{ // react 2/4·(.4+.6·2/3), graph .4+.35/2+.25/4, omega 1.9/3: .128 + .146625 + .1583333 + .2·q; .42 + .6·(.4850149−.32)
			name: "failing on one of two ways", turns: fails, tools: "a1F a2R", dag: forkDAG, node: "b", factors: " --upstream-status 0.9",
			verdict: "retain", confidence: .5190089678, reason: neither,
			numbers: core.GateNumbers{
				React: .4, ToolFailures: 1, RecoverySuccess: 1, Recurrence: 2.0 / 3, Graph: .6375, GraphKnown: true, PathReachable: true,
				Dependency: .5, Decomposition: .25, Workflow: "w", Omega: .6333333333, Q: .2602830646,
				Utility: .4850149463, Uses: 3, RelevantTurns: 3, Sessions: 1, FailureRate: 1, MinimumConfidence: .7,
			},
			state: core.StateCooling,
		},
		halfProven(),
	}
}

// halfProven is what is of use, and has little evidence of it.
func halfProven() worked {
	return worked{ // react 2/3·(.4+.6/3): .128 + .146625 + .125 + .2·.7410499; .42 + .6·(.78−.5478350)
		name: "of use, with little evidence", turns: "a1S a2S b1S", tools: "a1R", dag: forkDAG, node: "b",
		verdict: "retain", confidence: .5567009892, reason: "neither proven nor obsolete",
		numbers: core.GateNumbers{
			React: .4, RecoverySuccess: 1, Recurrence: 1.0 / 3, Graph: .6375, GraphKnown: true, PathReachable: true,
			Dependency: .5, Decomposition: .25, Workflow: "w", Omega: .5, Q: .7410499096,
			Utility: .5478349819, Uses: 3, RelevantTurns: 3, Sessions: 2, MinimumConfidence: .7,
		},
		state: core.StateActive,
	}
}
