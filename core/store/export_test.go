package store

// What the tests reach beyond the public surface.
var (
	PrepareTo = prepare
)

type Migration = migration
