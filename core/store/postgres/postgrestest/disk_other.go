//go:build !linux

package postgrestest

import "testing"

// SmallDisk skips the test: a small disk is mounted on Linux only.
func SmallDisk(t testing.TB, _ string) string {
	t.Helper()
	t.Skip("a small disk is mounted on Linux only")
	return ""
}
