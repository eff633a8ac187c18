// Package examples holds the example files that new projects and new plugins begin with.
package examples

import "embed"

// Files are a workflow on a mail message and a folder of policies, by their paths in the
// folder of the examples.
//
//go:embed extract-contact policy-folder
var Files embed.FS

// Python is what a plugin in Python contains besides its own code: the author's side of
// the contract and its messages, from the folder of the example python-evaluator.
//
//go:embed python-evaluator/package/reflectory.py python-evaluator/package/plugin_pb2.py
var Python embed.FS

// Learn is the workflow that learns from its corrections, and the same with a language model.
//
//go:embed learn-from-failures/workflow.yaml learn-from-failures/model.yaml
var Learn embed.FS
