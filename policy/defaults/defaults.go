// Package defaults holds the policy files that decide if no file of the operator does,
// each with its test cases. They say in CEL what the documentation says in words, and can
// be copied as a starting point.
//
// It is internal to Reflectory: its API may change in any release.
package defaults

import "embed"

// Files has <point>.yaml and <point>_test.yaml for each policy point.
//
//go:embed *.yaml
var Files embed.FS

// Name is the name of a point's default file in decisions.
func Name(point string) string { return "default/" + point + ".yaml" }
