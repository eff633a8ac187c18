// Package workflow turns workflow files into plans and runs their nodes.
//
//	Read ─► core.Source ─► Load ─► Plan ─► Runner.Run ─► core.Run
//
// [Read] reads the YAML and every file that it names, so that a run needs no file later.
// [Load] checks everything and reports all problems at once, each with its position. A
// [Plan] is immutable; what each node does is a spec of package action. The [Runner]
// visits the nodes, keeps the state (package state), and leaves what a node does to its
// [Actions].
//
// It is internal to Reflectory: its API may change in any release.
package workflow
