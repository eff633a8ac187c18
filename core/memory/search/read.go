package search

import (
	"context"

	"github.com/reflectory/reflectory/core/memory/text"
)

const (
	// batchSize is how many texts are passed on at once, and batchesWaiting how many
	// batches may wait, so that a load holds few texts in memory.
	batchSize      = 256
	batchesWaiting = 4
)

// read reads the contents of a namespace, whose words are in a language, and their
// sequence. The words are indexed in parallel, because reading and indexing take about
// equally long.
func read(ctx context.Context, source Source, namespace, language string, holds func(model string) bool) (*contents, uint64, error) {
	c := newContents(language, holds, 0)
	words := text.New(text.LanguageOf(language), c.order)
	batches, indexed := make(chan []numbered, batchesWaiting), make(chan struct{})
	go func() {
		defer close(indexed)
		for batch := range batches {
			for _, t := range batch {
				words.Put(t.doc, t.title, t.text)
			}
		}
	}()
	var batch []numbered
	seq, err := source.Load(ctx, namespace, func(d *Doc) error {
		if d == nil {
			c.damaged++
			return ctx.Err()
		}
		if n, reworded := c.place(d); reworded {
			batch = append(batch, numbered{n, d.Title, d.Text})
		}
		if len(batch) == batchSize {
			batches <- batch
			batch = nil
		}
		return ctx.Err()
	})
	batches <- batch
	close(batches)
	<-indexed
	if err != nil {
		return nil, 0, err
	}
	words.Settle()
	c.words = words
	return c, seq, nil
}

// numbered is the text of a document.
type numbered struct {
	doc         uint32
	title, text string
}
