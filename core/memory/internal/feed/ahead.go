package feed

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Ahead adds to reads what a source reads to follow a namespace from an entry of its stream on: what
// this process wrote there since is probably all that is new.
func Ahead(reads *core.Reads, s *record.Records, namespace string, after uint64) {
	journal.SinceAhead(reads, journal.NamespaceStream(namespace), after)
	written := s.Written.Take(namespace)
	for _, prefix := range []string{record.MemoryPrefix, record.VectorPrefix} {
		keysAhead(reads, prefix, written)
	}
	supersedersAhead(reads, written)
}

func keysAhead(reads *core.Reads, prefix string, ids []string) {
	for _, id := range ids {
		reads.Keys = append(reads.Keys, []byte(prefix+id))
	}
}

func supersedersAhead(reads *core.Reads, ids []string) {
	for _, id := range ids {
		reads.Prefixes = append(reads.Prefixes, record.LinkToKey(id, core.RelationSupersedes, ""))
	}
}
