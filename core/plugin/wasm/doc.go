// Package wasm runs plugins as WebAssembly modules, on wazero. It is a
// [plugin.Driver].
//
//	Driver.Start ─► load: from the cache, by digest
//	             └► else the compiler, a process: scan, validate, meter, compile
//	             ─► Instance ─► guest: one module instance, warm
//	                              ▲ restore: each call begins from a snapshot
//
// # Guests
//
// How a module is called follows from its exports and imports: [KindReactor],
// [KindExtism] or [KindCommand]; package abi holds the messages. An Extism
// plug-in that exports none of evaluate, generate and correct is called by the
// function that its config names:
//
//	function  the export to call, as () → i32. It must be set
//	input     generators only: the key of the state whose value is the input;
//	          by default the whole state
//
//	verdict   evaluators only: an expression over output that makes a verdict of it
//
// Its input is the output to judge or to correct: a JSON string as plain text,
// anything else as JSON. What it outputs is the new output: an object or an
// array is taken as JSON and anything else as text; an evaluator without verdict
// outputs the JSON of one. Every entry of the config can be read with config_get,
// strings as they are and anything else as JSON.
//
// # No call leaks to the next
//
// Unless a plugin is stateful, each call begins from the same state: the state after its
// config was prepared in a new guest. If its linear memory, its globals and the host's
// streams are all the state that a module has, as an analysis of it shows, that state is
// kept as a [snapshot], shared by all instances, and restored before each call: pages are
// compared, and copied where they differ. A module that can change its tables or drop its
// segments gets a new guest for each call, and so does a plugin with isolation: call.
//
// # Pure
//
// A guest sees no files, no environment and no network that it wasn't granted. Its clock
// begins at 2022-01-01T00:00:00Z in every new guest, and advances by a microsecond at each
// reading and by the time that the guest sleeps, which returns at once. Its random bytes come
// from a fixed seed. So the same bytes get the same answer, which is cached on disk for
// modules that depend on nothing else.
//
// # Fuel
//
// A metered module counts what it executes (package fuel). The host refills in
// slices of 100,000 units, about 0.1 ms, and looks at the deadline each time. A
// module that can't be metered runs with wazero's own checks, which cost more, and has no
// fuel limit; [Info] has the reason. The fuel that a call used is in the metadata of its
// first response, as "fuel". Time that the host spends on a guest's questions costs no
// fuel, but counts towards the deadline.
//
// It is internal to Reflectory: its API may change in any release.
package wasm
