//go:build !race

package wasm

// raceDetector is whether this is a test with the race detector.
const raceDetector = false
