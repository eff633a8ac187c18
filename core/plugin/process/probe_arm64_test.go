//go:build linux

package process_test

// olderAttributeCalls are none: this architecture began without them.
func olderAttributeCalls(uintptr) []attempt { return nil }
