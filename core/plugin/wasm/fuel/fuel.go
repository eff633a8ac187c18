// Package fuel meters WebAssembly modules: it rewrites a module so that it
// counts what it executes and asks its host for more, at the same places on
// every machine.
//
//	module ─► sections ─► edits of each section ─► module with a counter
//
// The rewritten module imports a function, [ImportRefill], and exports a mutable
// i64, [Global], that starts at 0 and counts down. Where it is below zero at a
// function's entry, at a loop's header or at an operation on a length, the
// module calls the import. Every cycle of a program passes one of these, so the
// host gets control within bounded work, however the guest is written; what is
// charged is in meter.go.
//
// The import has to bring the global to 0 or above, or to end the call by a panic.
// With granted as the sum of all that was added so far, the fuel used is granted −
// global. A debt (the global after a long copy, say) is paid by the next grant,
// and a call ends at the same place whatever the slices are:
//
//	used := granted − global
//	if used > budget: panic
//	global' := min(slice, budget − used); granted += global' − global
//
// A module is read once, front to back. What changes is a list of edits of its bytes, and
// all else is copied unchanged.
//
// It is internal to Reflectory: its API may change in any release.
package fuel

// The names under which a metered module and its host meet.
const (
	// ImportModule is the module of the imported function.
	ImportModule = "reflectory:fuel"
	// ImportRefill is the imported function, () → (): it is called when the
	// global is below zero, by whichever function was running, start included.
	ImportRefill = "refill"
	// Global is the exported mutable i64: the units left of what was granted.
	// Only the goroutine that runs the guest may touch it.
	Global = "reflectory:fuel"
)

// Instrument returns a module with metering. It never changes the bytes that it
// is given. The module must be valid: an invalid one could become valid, with
// code of its own choice between the charges, so validate it first with the
// engine that will run the result.
//
// What it can't take it refuses with [sdk.Incompatible] and the reason
// "fuel_unsupported"; the message names what that is. It takes WebAssembly 2.0,
// threads without waiting, tail calls, extended constants and typed function
// references. Exceptions may be thrown, but not caught.
func Instrument(module []byte) ([]byte, error) {
	m, err := split(module)
	if err != nil {
		return nil, err
	}
	l, err := survey(m)
	if err != nil {
		return nil, err
	}
	if err := l.rewrite(m); err != nil {
		return nil, err
	}
	return m.join(), nil
}
