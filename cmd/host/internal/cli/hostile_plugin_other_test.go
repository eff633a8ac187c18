//go:build !linux

package cli

// hostiles are none here: what they attack is Linux's.
var hostiles map[string]func()
