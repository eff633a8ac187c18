package memory

import "github.com/reflectory/reflectory/core"

// Index finds memories by what they say. It lives in this process and is kept in
// step with the commits.
type Index interface {
	// Apply takes what one commit changed. It is called after the commit, by the
	// goroutine that made it, so the changes of two commits may arrive in either
	// order: of two changes of the same memory the one of the higher Version is
	// the newer, and a removal is final. It must not keep or change the slice.
	Apply(changes []Change)
}

// Change is a memory that was written or removed.
type Change struct {
	ID      string
	Version int64
	// Memory is as it is now, and mustn't be changed; nil where it was removed.
	Memory *core.Memory
	// Model names the model of Vector, where a vector was written with it. A change
	// without a vector leaves the one that the memory has.
	Model  string
	Vector []float32
}
