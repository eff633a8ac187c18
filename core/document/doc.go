// Package document reads the YAML files that people write: workflows, packages, policies
// and the configuration. It turns an untrusted text into a tree of nodes that know their
// position, within limits of size, depth and number, and collects everything that is
// wrong with a file in one error.
//
// What a file may contain is up to its reader. A reader asks a [Reader] for the keys that
// it knows; Done then reports all others.
//
//	found := &document.Problems{File: name}
//	root := document.Read(text, limits, found)
//	m := found.Mapping(root, "a greeting")
//	greeting := m.Text("text")
//	m.Done()
//	return greeting, found.Err("greeting_invalid")
//
// The syntax is YAML 1.2 as go.yaml.in/yaml/v3 reads it, and JSON. The meaning of text
// without quotes is resolved here, by the core schema of YAML 1.2, because the library has
// the types of YAML 1.1. Keys are names, exactly as written. Anchors, aliases, merge keys,
// tags and directives are refused, so that a file means what it shows, and isn't larger
// than it looks.
//
// It is the only package that imports the YAML library, whose time grows with the size of
// the text, and which recurses to at most 10,000 levels.
//
// It is internal to Reflectory: its API may change in any release.
package document
