package wire

import (
	"sync"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// chunkBox keeps a call's chunks until its caller takes them, so that a slow watcher
// delays only its own call. A nil box accepts none.
type chunkBox struct {
	emit  []func(string)
	ready chan struct{}

	mu     sync.Mutex
	queued []*wirepb.Chunk
	// room is how many more bytes may arrive: chunks are pieces of an output that must
	// itself fit into a message.
	room int
}

// newChunkBox returns nil if nobody watches.
func newChunkBox(reqs []*sdk.GenerateRequest, limit int) *chunkBox {
	var box *chunkBox
	for i, r := range reqs {
		if r.Emit == nil {
			continue
		}
		if box == nil {
			box = &chunkBox{emit: make([]func(string), len(reqs)), ready: make(chan struct{}, 1), room: limit}
		}
		box.emit[i] = r.Emit
	}
	return box
}

// chunkCost is what a chunk costs in addition to its text, so that a flood of empty
// chunks is limited too.
const chunkCost = 16

func (b *chunkBox) add(c *wirepb.Chunk) error {
	if b == nil || int(c.GetItem()) >= len(b.emit) || b.emit[c.GetItem()] == nil {
		return nil // nobody watches
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.room -= len(c.GetText()) + chunkCost; b.room < 0 {
		return sdk.Errorf(sdk.Invalid, "chunks_too_large", "brings more chunks than fit into one message")
	}
	b.queued = append(b.queued, c)
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return nil
}

// arrived signals that there may be chunks. A nil box never does.
func (b *chunkBox) arrived() <-chan struct{} {
	if b == nil {
		return nil
	}
	return b.ready
}

// deliver emits the chunks that have arrived, on the caller's goroutine.
func (b *chunkBox) deliver() {
	if b == nil {
		return
	}
	b.mu.Lock()
	queued := b.queued
	b.queued = nil
	b.mu.Unlock()
	for _, c := range queued {
		b.emit[c.GetItem()](c.GetText())
	}
}
