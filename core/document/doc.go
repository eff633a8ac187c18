// Package document reads the YAML files that people write: workflows, packages,
// policies and the configuration. It turns a text from outside into a tree of
// nodes that know their place, within bounds of size, depth and number, and
// collects everything that is wrong with a file in one error.
//
// What a file may say is its reader's own business. A reader asks a [Reader]
// for the keys that it knows; Done then tells of all others.
//
//	found := &document.Problems{File: name}
//	root := document.Read(text, limits, found)
//	m := found.Mapping(root, "a greeting")
//	greeting := m.Text("text")
//	m.Done()
//	return greeting, found.Err("greeting_invalid")
//
// The syntax is YAML 1.2's as go.yaml.in/yaml/v3 reads it, and JSON's. What
// a text without quotes means is resolved here, by the core schema of YAML 1.2:
// the library's types are YAML 1.1's. Keys are names, as they are written.
// Anchors, aliases, merge keys, tags and directives are refused, so that what a
// file says is what it shows, and is no larger.
//
// It is the one package that imports the YAML library, whose time grows with the
// size of the text, and which recurses to 10,000 levels at most.
package document
