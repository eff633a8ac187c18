// Package policy decides by expressions and by policies as code. A policy is a YAML file
// of rules in CEL (https://cel.dev), which package format reads and package program
// compiles. This package has the points at which policies decide, with their inputs and
// outputs ([Points]); the files of a folder, by the namespaces to which they apply
// ([Set]); the set in force, which is replaced as a whole ([Policies]); and the records
// of decisions, which can be decided again with a candidate set before it is used
// ([Set.Replay]).
//
// A policy that fails never decides by accident: each point has a safe outcome.
package policy
