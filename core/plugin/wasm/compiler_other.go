//go:build !linux && !darwin

package wasm

import "syscall"

// limitSelf sets nothing on this system: a compilation is bounded by the scan, by its own
// process and by its time limit.
func limitSelf(CompileLimits) error { return nil }

func ownGroup() *syscall.SysProcAttr { return nil }
