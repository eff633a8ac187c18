package cli

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate/verdict"
)

// worked is a decision of the gate that was worked out with a calculator from
// the documented formulas, without this program.
type worked struct {
	name  string
	turns string // see seedLife
	// tools are outcomes of calls, by the turn: S went well, F failed, R failed and
	// was recovered from, once for each letter.
	tools string
	// dag is a graph without its workflow and memories, and node the memory's.
	dag, node string
	// factors are flags; settings are the settings of the namespace.
	factors, settings string

	verdict    string
	confidence float64
	reason     string
	numbers    verdict.GateNumbers
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
// is 1, the score .7 + .3·q, for each failure among the uses so far less, and the weight
// of a use .2 + .55 + .25·(score+1)/2.
func workedOut() []worked {
	failing := verdict.GateNumbers{
		React: 0.2, ToolFailures: 3, Recurrence: 1, Omega: 0.4548333333, Q: 0.2657507881, UtilityScore: 0.3645, Utility: 0.230858491, Frequency: 0.5, EvidenceTTL: 0.265, Uses: 3, Failures: 3, Named: 3, RelevantTurns: 3, Sessions: 1, FailureRate: 1,
		GraphKnown: true, Workflow: "w", MinimumConfidence: .7,
	}
	carefully := failing
	carefully.MinimumConfidence = .96
	const fails, useless, neither = "a1F a2F a3F", "its uses failed, and it is of little use", "neither proven nor obsolete"
	return []worked{
		{ // .32·1/5·1 + .23·0 + .25·(.5 + .5 + .3645)/3 + .2·q; .55 + 1.8·(.32−utility) + .8·(1−.7)
			name: "three failures, and nothing leads to it", turns: fails, tools: fails, dag: lineDAG, node: "lost",
			verdict: "obsolete", confidence: 0.9504547162, reason: useless, numbers: failing,
		},
		{ // the same; .42 + .6·(.32−utility)
			name: "the namespace asks for more", turns: fails, tools: fails, dag: lineDAG, node: "lost", settings: "gate.min_confidence=0.96",
			verdict: "retain", confidence: 0.4734849054, reason: "obsolete needs more: confidence is 0.950454716 (at least 0.96)",
			numbers: carefully, unmet: []string{"confidence"}, state: core.StateCooling,
		},
		{ // .064 + .23·.5 + 0 + .2·q; .42 + .6·(.32−utility)
			name: "three failures, without a graph", turns: "a1F a2F b1F", tools: "a1F a2F b1F", factors: allFactors("0", "0", "0"),
			verdict: "retain", confidence: 0.4727099052, reason: "obsolete needs more: graph_evidence_refs is 0 (at least 1)",
			numbers: verdict.GateNumbers{
				React: 0.2, ToolFailures: 3, Recurrence: 1, Graph: 0.5, Q: 0.2657507881, UtilityScore: 0.3645, Utility: 0.232150158, Frequency: 0.5, EvidenceTTL: 0.265, Uses: 3, Failures: 3, Named: 3, RelevantTurns: 3, Sessions: 2, FailureRate: 1,
				MinimumConfidence: .7,
			},
			unmet: []string{"graph_evidence_refs"}, state: core.StateCooling,
		},
		{ // react 1/4: .08 + 0 + .25·(1.405)/3 + .2·q; what isn't used doesn't count against it
			name: "two failures, and then no use", turns: "a1F a2F a3- a4- a5- a6-", tools: "a1F a2F", dag: lineDAG, node: "lost",
			verdict: "retain", confidence: 0.4546234500, reason: "obsolete needs more: failed_turns is 2 (at least 3)",
			numbers: verdict.GateNumbers{
				React: 0.25, ToolFailures: 2, Recurrence: 1, Omega: 0.4683333333, Q: 0.3260545833, UtilityScore: 0.405, Utility: 0.26229425, Frequency: 0.4, EvidenceTTL: 0.23, Uses: 2, Failures: 2, Named: 2, RelevantTurns: 6, Sessions: 1, FailureRate: 1,
				GraphKnown: true, Workflow: "w", MinimumConfidence: .7,
			},
			unmet: []string{"failed_turns"}, state: core.StateCooling,
		},
		{ // react 1/2·.4: .064 + 0 + .125 + .1; .75 + 1.8·(.32−.289)
			name: "never used, and nothing leads to it", turns: "a1- a2- a3- a4- a5- a6- a7- a8- a9- a10-", dag: lineDAG, node: "lost",
			verdict: "obsolete", confidence: .8058, reason: "offered often, never used, and nothing leads to it",
			numbers: verdict.GateNumbers{
				React: 0.2, Omega: 0.5, Q: 0.5, UtilityScore: 0.5, Utility: 0.289, EvidenceTTL: 0.45, RelevantTurns: 10,
				GraphKnown: true, Workflow: "w", MinimumConfidence: .7,
			},
		},
		{ // react 33/34, graph .4+.35+.25·2/3, omega .9; .55 + 1.8·(utility−.78) + .8·.25 is above 1
			name: "of use in two sessions", turns: "a1S a2P a3S a4S b1S b2S b3S b4S", tools: "a1RRRR a2RRRR a3RRRR a4RRRR b1RRRR b2RRRR b3RRRR b4RRRR",
			dag: lineDAG, node: "a", factors: allFactors("1", "0.9", "0.8"),
			verdict: "promote", confidence: 1, reason: "used often, with success, and useful",
			numbers: verdict.GateNumbers{
				React: 0.9705882353, Good: 32, RecoverySuccess: 32, Recurrence: 1, Graph: 0.9166666667, Omega: 0.9, Q: 0.8891487076, UtilityScore: 0.758194345, Utility: 0.92425131, Frequency: 0.7272727273, EvidenceTTL: 0.855050505, Uses: 8, Successes: 7, Named: 8, RelevantTurns: 8, Sessions: 2,
				GraphKnown: true, PathReachable: true, Workflow: "w", Dependency: 1, Decomposition: 2.0 / 3, MinimumConfidence: .7,
			},
			state: core.StatePromoted,
		},
		{ // react 37/41, graph as above, omega 1; .42 + .6·(utility−.78)
			name: "of use in one session", turns: fails + " a4S a5S a6S a7S a8S a9S a10S a11S a12S",
			tools: fails + " a4RRRR a5RRRR a6RRRR a7RRRR a8RRRR a9RRRR a10RRRR a11RRRR a12RRRR", dag: lineDAG, node: "a", factors: allFactors("1", "1", "1"),
			verdict: "retain", confidence: 0.5085390654, reason: "promote needs more: sessions is 1 (at least 2)",
			numbers: verdict.GateNumbers{
				React: 0.9024390244, Good: 36, ToolFailures: 3, RecoverySuccess: 36, Recurrence: 1, Graph: 0.9166666667, Omega: 1, Q: 0.8897564378, UtilityScore: 0.7537942792, Utility: 0.927565109, Frequency: 0.8, EvidenceTTL: 0.765357143, Uses: 12, Successes: 9, Failures: 3, Named: 12, RelevantTurns: 12, Sessions: 1, FailureRate: 0.25,
				GraphKnown: true, PathReachable: true, Workflow: "w", Dependency: 1, Decomposition: 2.0 / 3, MinimumConfidence: .7,
			},
			unmet: []string{"sessions"}, state: core.StateActive,
		},
		{ // react 19/22, graph .4+.35+.25/3, omega 1; .55 + 1.8·(utility−.78) is too little
			name: "of use, with a failure in four", turns: "a1S a2S a3S b1F a4S a5S a6S b2F", tools: "a1RRR a2RRR a3RRR b1F a4RRR a5RRR a6RRR b2F",
			dag: lineDAG, node: "b", factors: allFactors("1", "1", "1"),
			verdict: "retain", confidence: 0.4586652588, reason: "promote needs more: confidence is 0.665995776 (at least 0.7)",
			numbers: verdict.GateNumbers{
				React: 0.8636363636, Good: 18, ToolFailures: 2, RecoverySuccess: 18, Recurrence: 1, Graph: 0.8333333333, Omega: 1, Q: 0.632058976, UtilityScore: 0.619156395, Utility: 0.844442098, Frequency: 0.7272727273, EvidenceTTL: 0.729772727, Uses: 8, Successes: 6, Failures: 2, Named: 8, RelevantTurns: 8, Sessions: 2, FailureRate: 0.25,
				GraphKnown: true, PathReachable: true, Workflow: "w", Dependency: 1, Decomposition: 1.0 / 3, MinimumConfidence: .7,
			},
			unmet: []string{"confidence"}, state: core.StateActive,
		},
		{ // react 2/4·(.4+.6·2/3), graph .4+.35/2+.25/4, omega (.9+.5+.3645)/3; .42 + .6·(utility−.32)
			name: "failing on one of two ways", turns: fails, tools: "a1F a2R", dag: forkDAG, node: "b", factors: " --upstream-status 0.9",
			verdict: "retain", confidence: 0.512890094, reason: neither,
			numbers: verdict.GateNumbers{
				React: 0.4, Good: 1, ToolFailures: 1, RecoverySuccess: 1, Recurrence: 0.6666666667, Graph: 0.6375, Omega: 0.5881666667, Q: 0.2657507881, UtilityScore: 0.3645, Utility: 0.474816824, Frequency: 0.5, EvidenceTTL: 0.265, Uses: 3, Failures: 3, Named: 3, RelevantTurns: 3, Sessions: 1, FailureRate: 1,
				GraphKnown: true, PathReachable: true, Workflow: "w", Dependency: .5, Decomposition: .25, MinimumConfidence: .7,
			},
			state: core.StateCooling,
		},
		halfProven(),
	}
}

// halfProven is a memory that is useful, with little evidence of that.
func halfProven() worked {
	return worked{ // react 2/3·(.4+.6/3), graph .6375, omega (.5+.5+.6355)/3; .42 + .6·(.78−utility)
		name: "of use, with little evidence", turns: "a1S a2S b1S", tools: "a1R", dag: forkDAG, node: "b",
		verdict: "retain", confidence: 0.5525226792, reason: "neither proven nor obsolete",
		numbers: verdict.GateNumbers{
			React: 0.4, Good: 1, RecoverySuccess: 1, Recurrence: 0.3333333333, Graph: 0.6375, Omega: 0.5451666667, Q: 0.7410610065, UtilityScore: 0.6355, Utility: 0.559128868, Frequency: 0.5, EvidenceTTL: 0.735, Uses: 3, Successes: 3, Named: 3, RelevantTurns: 3, Sessions: 2,
			GraphKnown: true, PathReachable: true, Workflow: "w", Dependency: .5, Decomposition: .25, MinimumConfidence: .7,
		},
		state: core.StateActive,
	}
}
