package memory

import (
	"context"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// A plan has only digests. The texts that people see with a plan come from the present
// memories.

// DreamText is a memory of a step, for people.
type DreamText struct {
	Step     int    `json:"step"`
	MemoryID string `json:"memory_id"`
	// Title is the memory's present title.
	Title string `json:"title"`
	// Before and After are its content before and after a step that rewrites it; "" for
	// another step, or if the content is no longer known.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// maxDreamTexts is how many steps are shown with texts.
const maxDreamTexts = 200

// Find returns the run whose id is prefix, or the only one whose id starts with it.
func (ds *Dreams) Find(ctx context.Context, prefix string) (*DreamRun, error) {
	return find(ctx, ds.base, prefix, lookup[DreamRun]{record.DreamPrefix, "dream_run_not_found", record.ReadDream})
}

// DreamNotFound is the error for an id that no run has: sdk.NotFound, reason
// "dream_run_not_found".
func DreamNotFound(id string) error { return record.DreamNotFound(id) }

// Texts are the memories of a run's steps, for at most 200 steps from a number on; 0
// is the first step. A memory that is gone is left out.
func (ds *Dreams) Texts(ctx context.Context, d *DreamRun, from int) (list []DreamText, err error) {
	err = ds.records.View(ctx, func(r core.Reader) error {
		list = []DreamText{}
		first := max(0, from-1)
		for i := first; i < min(len(d.Plan.Steps), first+maxDreamTexts); i++ {
			s := &d.Plan.Steps[i]
			for _, read := range s.Reads {
				text, err := dreamText(r, d, s, read)
				if record.IsGone(err) || err == nil && text == nil {
					continue
				}
				if err != nil {
					return err
				}
				list = append(list, *text)
			}
		}
		return ctx.Err()
	})
	return list, err
}

func dreamText(r core.Reader, d *DreamRun, s *dream.Step, read dream.Read) (*DreamText, error) {
	memory, digest, err := readDigest(r, read.MemoryID)
	if err != nil || memory.Namespace != d.Namespace { // as may happen with a plan in a file
		return nil, err
	}
	text := &DreamText{Step: s.N, MemoryID: memory.ID, Title: memory.Title}
	if s.Kind != dream.StepDates {
		return text, nil
	}
	if digest == read.Digest {
		after, _ := dream.Rewrite(memory, d.Plan.Options.DateOptions(), bounds.DerivedTitle)
		text.Before, text.After = memory.Content, after.Content
		return text, nil
	}
	kept, err := record.ReadDreamUndo(r, memory.ID, d.ID, s.N)
	if kept != nil {
		text.Before, text.After = kept.Before.Content, memory.Content
	}
	return text, err
}
