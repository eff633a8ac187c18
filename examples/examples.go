// Package examples holds the example files that a new project begins with.
package examples

import "embed"

// Files are a workflow on a mail message and a folder of policies, by their paths in the
// folder of the examples.
//
//go:embed extract-contact policy-folder
var Files embed.FS
