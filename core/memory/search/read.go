package search

import (
	"context"
	"hash/maphash"

	"github.com/reflectory/reflectory/core/memory/text"
)

const (
	// lotSize is how many texts are handed on at once, and lotsWaiting how many lots
	// may wait, so that a load holds few texts in memory.
	lotSize     = 256
	lotsWaiting = 4
)

// read reads the contents of a namespace, whose words are of a language, and the
// sequence that they are at. The words are indexed at the same time, since either takes
// about as long.
func read(ctx context.Context, source Source, namespace, language string, seed maphash.Seed) (*contents, uint64, error) {
	c := newContents(seed, language)
	words := text.NewBuilder(text.LanguageOf(language), c.order)
	lots, indexed := make(chan []numbered, lotsWaiting), make(chan struct{})
	go func() {
		defer close(indexed)
		for lot := range lots {
			for _, t := range lot {
				words.Put(t.doc, t.text)
			}
		}
	}()
	var lot []numbered
	seq, err := source.Load(ctx, namespace, func(d *Doc) error {
		if d == nil {
			c.damaged++
			return ctx.Err()
		}
		if n, reworded := c.place(d); reworded {
			lot = append(lot, numbered{n, d.Text})
		}
		if len(lot) == lotSize {
			lots <- lot
			lot = nil
		}
		return ctx.Err()
	})
	lots <- lot
	close(lots)
	<-indexed
	if err != nil {
		return nil, 0, err
	}
	c.words = words.Index()
	return c, seq, nil
}

// numbered is the text of a document.
type numbered struct {
	doc  uint32
	text string
}
