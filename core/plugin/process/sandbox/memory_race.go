//go:build race

package sandbox

// MinMemory is the least data limit. A host with the race detector is a test,
// whose plugins have it too, and it maps its shadow memory as data.
const MinMemory = 1 << 40
