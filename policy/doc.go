// Package policy is where Reflectory decides by expressions and by policies as
// code. A policy is a YAML file of rules in CEL (https://cel.dev), which package
// format reads and package program compiles. This package has the points at
// which policies decide, with what they see and give ([Points]); the files of a
// folder by the namespaces in which they hold ([Set]); what decides now, and is
// reloaded as a whole ([Policies]); and the records of decisions, which a
// candidate can decide again before it is rolled out ([Set.Replay]).
//
// A policy that fails never decides by accident: each point has a safe outcome.
package policy
