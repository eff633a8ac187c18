package policy

import (
	"encoding/binary"
	"sync"
)

// An expression sees its inputs and nothing else: no time, no store, nothing random. So a set decides equal
// inputs equally, and a point that is asked about the same few things in each request, such as access, needs
// to run its policies only once for each. What is reported, counted and recorded of a decision doesn't
// depend on whether it was kept.

const (
	// maxKept is how many decisions a set keeps. A full set of them is emptied: few callers are at work at a
	// time, and one decision takes some microseconds.
	maxKept = 1024
	// maxKeptKey is the longest inputs, in bytes, that are kept: what callers usually have is far shorter, and
	// all of them together take a few MiB at most.
	maxKeptKey = 1024
)

// kept are decisions by their inputs. The zero value is empty. It is safe for concurrent use.
type kept struct {
	mu   sync.RWMutex
	made map[string]decided
}

// get returns the decision about some inputs. Nobody changes what it refers to.
func (k *kept) get(inputs []byte) (made decided, known bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	made, known = k.made[string(inputs)]
	return made, known
}

// put keeps a decision. A failure isn't kept, since it may have been for lack of time.
func (k *kept) put(inputs []byte, made decided) {
	if made.Failure != nil || len(inputs) > maxKeptKey {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil || len(k.made) >= maxKept {
		k.made = map[string]decided{}
	}
	k.made[string(inputs)] = made
}

// appendTexts appends texts with their lengths, so that no other texts give the same bytes.
func appendTexts(to []byte, texts ...string) []byte {
	to = binary.AppendUvarint(to, uint64(len(texts)))
	for _, text := range texts {
		to = append(binary.AppendUvarint(to, uint64(len(text))), text...)
	}
	return to
}
