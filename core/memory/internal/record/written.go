package record

import (
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core/journal"
)

// Of a store that is far away, an index reads ahead what is probably new: the memories that this process
// wrote since it last looked. They are only noted once somebody asked for them.

const (
	// maxWritten is how many memories are noted of a namespace: of more, the rest is read in a round trip
	// of its own.
	maxWritten = 16
	// maxWrittenIn bounds the namespaces. A full map is emptied.
	maxWrittenIn = 1000
)

// Written are the memories that this process wrote lately, by namespace. The zero value is ready, and nil
// notes nothing. It is safe for concurrent use.
type Written struct {
	mu    sync.Mutex
	asked bool
	in    map[string][]string
}

// Take returns the memories that this process wrote to a namespace since the last call, at most
// 16. The first call returns none.
func (w *Written) Take(namespace string) []string {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = true
	ids := w.in[namespace]
	delete(w.in, namespace)
	return ids
}

// note notes what a transaction wrote, once it is committed.
func (w *Written) note(t *Tx) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asked {
		return
	}
	if w.in == nil || len(w.in) >= maxWrittenIn {
		w.in = map[string][]string{}
	}
	for stream, proofs := range t.proofs {
		namespace, of := strings.CutPrefix(stream, journal.NamespaceStream(""))
		for key := range proofs {
			if id, is := strings.CutPrefix(key, MemoryPrefix); of && is && len(w.in[namespace]) < maxWritten {
				w.in[namespace] = append(w.in[namespace], id)
			}
		}
	}
}
