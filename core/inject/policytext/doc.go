// Package policytext has what an operator wants to be in every prompt: the safety rules and
// policies that are YAML files, each of which is a block.
//
// Such a block is an anchor, so that it is never cut or dropped. The files are read for each
// prompt, so that a change needs no restart. A file that can't be read or is wrong fails the
// build: a prompt without its safety rules would be worse than none.
//
// It is internal to Reflectory: its API may change in any release.
package policytext
