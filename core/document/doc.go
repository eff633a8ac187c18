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
// It is the one package that imports the YAML library, which is given nothing
// before its text was checked: the library's time grows with the square of a
// file's words, it recurses without bound, and panics on some malformed input.
package document
