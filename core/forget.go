package core

// Forgetter keeps contents of memories elsewhere than in their records, such as in
// what a run recalled.
type Forgetter interface {
	// Forget removes a memory's content, in the transaction that purges it, and returns
	// the ids of the runs that were given it, in any order. What it deletes and
	// overwrites leaves the store's files with the memory.
	Forget(tx Tx, memoryID string) (runs []string, err error)
}

// GivenTo names who was given a memory that was purged. What a model wrote from it
// isn't found by the purge: here is where to look for it.
type GivenTo struct {
	MemoryID string `json:"memory_id"`
	// Runs are the runs whose nodes recalled it or wrote it, and Reflections the
	// memories that reflect on it, both sorted. What only reached a plugin, by its own
	// recall, isn't noted anywhere.
	Runs        []string `json:"runs"`
	Reflections []string `json:"reflections"`
}
