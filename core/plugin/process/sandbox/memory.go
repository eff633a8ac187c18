//go:build !race

package sandbox

// MinMemory is the smallest data limit. A Go program with cgo doesn't start below 128
// MiB, one without cgo below 96 MiB (measured with Go 1.26).
const MinMemory = 128 << 20
