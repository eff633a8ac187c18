package memory

import (
	"encoding/binary"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// maxHistory is how many entries of a memory's history are read: the newest.
const maxHistory = 1000

// historySeqs returns the entries of its namespace's stream that are about a
// memory, the oldest first, at most the newest [maxHistory].
func historySeqs(r core.Reader, id string) (seqs []uint64, err error) {
	start := []byte(historyPrefix + id + "/")
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		if len(key) != len(start)+8 {
			return false, corrupt(id, string(key), "it has no sequence number")
		}
		seqs = append(seqs, binary.BigEndian.Uint64(key[len(start):]))
		if len(seqs) == 2*maxHistory {
			seqs = append(seqs[:0], seqs[maxHistory:]...)
		}
		return true, nil
	})
	return seqs[max(0, len(seqs)-maxHistory):], err
}

// readHistory returns the entries that are about a memory, the oldest first.
func readHistory(r core.Reader, namespace, id string) ([]journal.Entry, error) {
	seqs, err := historySeqs(r, id)
	if err != nil {
		return nil, err
	}
	entries := make([]journal.Entry, 0, len(seqs))
	for _, seq := range seqs {
		e, found, err := journal.Get(r, journal.NamespaceStream(namespace), seq)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, corrupt(id, string(historyKey(id, seq)), "the journal has no such entry")
		}
		entries = append(entries, e)
	}
	return entries, nil
}
