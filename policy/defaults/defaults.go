// Package defaults holds the policy files that decide where an operator's files
// don't, each with its cases next to it. They say in CEL what the documentation
// says in words, and are what to copy from.
package defaults

import "embed"

// Files has <point>.yaml and <point>_test.yaml for each policy point.
//
//go:embed *.yaml
var Files embed.FS

// Name is how a point's default file is called in decisions.
func Name(point string) string { return "default/" + point + ".yaml" }
