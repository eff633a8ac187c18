//go:build !linux && !darwin

package wasm

import "syscall"

// limitSelf has nothing to set here: the scan, a process of its own and the time
// that it may take are what bounds a compilation.
func limitSelf(CompileLimits) error { return nil }

func ownGroup() *syscall.SysProcAttr { return nil }
