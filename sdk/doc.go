// Package sdk is the contract between Reflectory's host and its plugins.
//
// A plugin is data: a [Plugin] value that names itself and says how to prepare
// its evaluator, generator or corrector from a config. How it runs is no
// concern of this package: sdk/process serves it as a subprocess, sdk/guest
// inside a WASM module, and a Go program may call it directly.
//
//	generate ─► attempt ─► evaluate ─► verdict ─► correct ─► next attempt …
//
// The package imports the standard library only, and everything that crosses
// the boundary is JSON or plain fields, so a plugin in any language can follow it.
package sdk
