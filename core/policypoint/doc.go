// Package policypoint has the points at which policies, which belong to namespaces, and the
// expressions of a workflow file make decisions for the host. Their inputs and outcomes are
// typed here, so that the part that asks and package policy, which answers, don't import each
// other. An input holds everything that a policy may depend on, since a decision is recorded
// with its rule, and the same input has to give the same decision.
//
// Decisions are counted by a word for their outcome. A point has few words, and they are
// fixed, so no text that a policy may choose freely is used.
//
// It is internal to Reflectory: its API may change in any release.
package policypoint
