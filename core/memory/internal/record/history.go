package record

import (
	"encoding/binary"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// MaxHistory is how many entries of a memory's history are read: the newest.
const MaxHistory = 1000

// HistorySeqs returns the numbers of the entries about a memory in its namespace's
// stream, the oldest first, at most the newest [MaxHistory].
func HistorySeqs(r core.Reader, id string) (seqs []uint64, err error) {
	err = eachHistorySeq(r, id, func(seq uint64) {
		if seqs = append(seqs, seq); len(seqs) == 2*MaxHistory {
			seqs = append(seqs[:0], seqs[MaxHistory:]...)
		}
	})
	return seqs[max(0, len(seqs)-MaxHistory):], err
}

// allHistorySeqs is [HistorySeqs] without the limit.
func allHistorySeqs(r core.Reader, id string) (seqs []uint64, err error) {
	err = eachHistorySeq(r, id, func(seq uint64) { seqs = append(seqs, seq) })
	return seqs, err
}

func eachHistorySeq(r core.Reader, id string, fn func(seq uint64)) error {
	start := []byte(HistoryPrefix + id + "/")
	return core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		if len(key) != len(start)+8 {
			return false, Corrupt(id, string(key), "the key has no sequence number")
		}
		fn(binary.BigEndian.Uint64(key[len(start):]))
		return true, nil
	})
}

// ReadHistory returns the entries that are about a memory, the oldest first.
func ReadHistory(r core.Reader, namespace, id string) ([]journal.Entry, error) {
	return historyOf(r, namespace, id, HistorySeqs)
}

// ReadWholeHistory is [ReadHistory] without the limit.
func ReadWholeHistory(r core.Reader, namespace, id string) ([]journal.Entry, error) {
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
			return nil, Corrupt(id, string(HistoryKey(id, seq)), "the journal has no such entry")
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// historyAfter returns up to limit numbers of entries, the first ones greater than after, and
// whether more follow.
func historyAfter(r core.Reader, id string, after uint64, limit int) (seqs []uint64, more bool, err error) {
	start := []byte(HistoryPrefix + id + "/")
	err = r.Scan(HistoryKey(id, after+1), core.PrefixEnd(start), func(key, _ []byte) (bool, error) {
		if len(key) != len(start)+8 {
			return false, Corrupt(id, string(key), "the key has no sequence number")
		}
		if more = len(seqs) == limit; !more {
			seqs = append(seqs, binary.BigEndian.Uint64(key[len(start):]))
		}
		return !more, nil
	})
	return seqs, more, err
}

// ReadHistoryAfter returns up to limit entries about a memory, the first ones whose numbers
// are greater than after (0 for the start), and whether more follow.
func ReadHistoryAfter(r core.Reader, namespace, id string, after uint64, limit int) (entries []journal.Entry, more bool, err error) {
	entries, err = historyOf(r, namespace, id, func(r core.Reader, id string) (seqs []uint64, err error) {
		seqs, more, err = historyAfter(r, id, after, limit)
		return seqs, err
	})
	return entries, more, err
}
