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
// What a module exports and imports says how it is spoken to: [KindReactor],
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
// Unless a plugin is stateful, each call begins from the same state: that after
// its config was prepared in a new instance. Where the survey of the module
// shows that its linear memory, its globals and the host's own streams are all
// of its state, that state is kept as a [snapshot], shared by all instances, and
// put back before a call: pages are compared and copied where they differ. A
// module that can change its tables or drop its segments gets a new instance for
// each call, and so does one with isolation: call.
//
// # Pure
//
// A guest sees no files, no environment and no network that it wasn't granted.
// Its clock begins at 2022-01-01T00:00:00Z in every new instance, goes on by a
// microsecond at each reading and by what the guest sleeps, which takes no time;
// its random bytes come from a fixed seed. So the same bytes get the same
// answer, which is kept on disk for modules that can reach nothing else.
//
// # Fuel
//
// A metered module counts what it executes (package fuel). The host refills in
// slices of 100,000 units, about 0.1 ms, and looks at the deadline each time. A
// module that can't be metered runs with wazero's own checks, which cost more,
// and has no fuel limit; [Info] says why. What a call used is in the metadata of
// its first response, as "fuel". Time that the host spends on what a guest asks of
// it is no fuel, but counts for the deadline.
package wasm
