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
	err = eachHistorySeq(r, id, func(seq uint64) {
		if seqs = append(seqs, seq); len(seqs) == 2*maxHistory {
			seqs = append(seqs[:0], seqs[maxHistory:]...)
		}
	})
	return seqs[max(0, len(seqs)-maxHistory):], err
}

// allHistorySeqs is historySeqs for all entries.
func allHistorySeqs(r core.Reader, id string) (seqs []uint64, err error) {
	err = eachHistorySeq(r, id, func(seq uint64) { seqs = append(seqs, seq) })
	return seqs, err
}

func eachHistorySeq(r core.Reader, id string, fn func(seq uint64)) error {
	start := []byte(historyPrefix + id + "/")
	return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		if len(key) != len(start)+8 {
			return false, corrupt(id, string(key), "it has no sequence number")
		}
		fn(binary.BigEndian.Uint64(key[len(start):]))
		return true, nil
	})
}

// readHistory returns the entries that are about a memory, the oldest first.
func readHistory(r core.Reader, namespace, id string) ([]journal.Entry, error) {
	return historyOf(r, namespace, id, historySeqs)
}

// readWholeHistory is readHistory for all entries, however many.
func readWholeHistory(r core.Reader, namespace, id string) ([]journal.Entry, error) {
	return historyOf(r, namespace, id, allHistorySeqs)
}

func historyOf(r core.Reader, namespace, id string, list func(core.Reader, string) ([]uint64, error)) ([]journal.Entry, error) {
	seqs, err := list(r, id)
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
