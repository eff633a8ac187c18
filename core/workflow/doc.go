// Package workflow turns workflow files into plans and runs their nodes.
//
//	Read ─► core.Source ─► Load ─► Plan ─► Runner.Run ─► core.Run
//
// [Read] takes in the YAML and every file it names, so that a run needs no file
// later. [Load] checks everything and reports all problems at once, each with
// its place. A [Plan] is immutable; what each node does is a spec of package action.
// The [Runner] walks the nodes, keeps the state (package state), and leaves what a
// node does to its [Actions].
package workflow
