// Package sdk is the contract between Reflectory's host and its plugins.
//
// A plugin is data: a [Plugin] value with its name, and with functions that prepare
// its evaluator, generator or corrector from a config. This package doesn't deal with
// how the plugin runs: sdk/process serves it as a subprocess, sdk/guest inside a WASM
// module, and a Go program may call it directly.
//
//	generate ─► attempt ─► evaluate ─► verdict ─► correct ─► next attempt …
//
// The package imports only the standard library. Everything that crosses the boundary
// is JSON or plain fields, so a plugin in any language can implement the contract.
package sdk
