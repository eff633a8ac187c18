//go:build !linux

package cli

// hostiles are none here: they attack what only Linux has.
var hostiles map[string]func()

// corners are none here either.
var corners map[string]func()
