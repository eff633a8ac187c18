//go:build race

package wasm

const raceDetector = true
