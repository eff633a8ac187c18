package reflection

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

const (
	// maxInput is how many memories are reflected on, and importantInput how many of them
	// are the most important ones, however old.
	maxInput, importantInput = 200, 50
	// minInput is the least number of memories.
	minInput = 3
	// sameSourcesRest is the time within which the same memories aren't reflected on again.
	sameSourcesRest = 24 * time.Hour
)

// input is what a reflection begins with. It is saved, so that every attempt works with the
// same memories and the start time of the first.
type input struct {
	// IDs are the memories, the newest first; a memory's label is its place.
	IDs []string `json:"ids"`
	// At is when the reflection began, and Sum is what had been observed by then.
	At  time.Time `json:"at"`
	Sum Sum       `json:"sum"`
	// Skip is the reason why there is nothing to do; "" if there is something.
	Skip string `json:"skip,omitempty"`
}

// digest names the set of memories.
func (in *input) digest() string {
	ids := slices.Sorted(slices.Values(in.IDs))
	return core.Digest([]byte(strings.Join(ids, "\n")))
}

// choose makes the input in the first attempt; later attempts read it.
func (r *Run) choose(ctx context.Context) (*input, error) {
	data, err := r.Steps.Step(ctx, "input", func(ctx context.Context) (json.RawMessage, []string, error) {
		in, err := r.chooseNow(ctx)
		return jsontext.MustEncode(in), nil, err // ids are no content
	})
	if err != nil {
		return nil, err
	}
	var in input
	return &in, json.Unmarshal(data, &in)
}

func (r *Run) chooseNow(ctx context.Context) (*input, error) {
	in := &input{At: r.Clock.Now().UTC().Round(0)}
	var s State
	err := r.Store.View(ctx, func(reader core.Reader) (err error) {
		if s, err = ReadState(reader, r.Request.Namespace); err != nil {
			return err
		}
		in.Sum, err = ReadSum(reader, r.Request.Namespace)
		return err
	})
	if err != nil {
		return nil, err
	}
	var since time.Time
	if s.Since != nil {
		since = *s.Since
	}
	if in.IDs, err = newest(ctx, r.Read, r.Request.Namespace, since); err != nil {
		return nil, err
	}
	switch {
	case len(in.IDs) < minInput:
		in.Skip = insufficient(len(in.IDs))
	case !r.Request.Force && s.Sources == in.digest() && s.SourcesAt != nil && in.At.Sub(*s.SourcesAt).Abs() < sameSourcesRest:
		in.Skip = "same sources"
	}
	return in, nil
}

// newest are the memories to reflect on: the newest ones, of which the most important are never left
// out. It reads each memory of that time once, and keeps no more of them than it returns.
func newest(ctx context.Context, from Reader, namespace string, since time.Time) ([]string, error) {
	var young []ranked
	var best important
	place := 0
	err := from.Each(ctx, namespace, since, func(m *core.Memory) bool {
		if !Counts(m) || !m.State.Recallable() {
			return true
		}
		at := ranked{m.ID, m.Importance, place}
		place++
		if len(young) < maxInput {
			young = append(young, at)
		}
		heap.Push(&best, at)
		if len(best) > importantInput {
			heap.Pop(&best)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	chosen := slices.Clone(best)
	for _, at := range young {
		if len(chosen) < maxInput && !slices.Contains(best, at) {
			chosen = append(chosen, at)
		}
	}
	slices.SortFunc(chosen, func(a, b ranked) int { return cmp.Compare(a.place, b.place) })
	ids := make([]string, len(chosen))
	for i, at := range chosen {
		ids[i] = at.id
	}
	return ids, nil
}

// ranked is a memory by its importance and its place among the newest.
type ranked struct {
	id         string
	importance float64
	place      int
}

// important is a heap of memories with the least important on top. Of equally important memories,
// the oldest comes first.
type important []ranked

func (h important) Len() int { return len(h) }
func (h important) Less(i, j int) bool {
	if h[i].importance != h[j].importance {
		return h[i].importance < h[j].importance
	}
	return h[i].place > h[j].place
}
func (h important) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *important) Push(x any) { *h = append(*h, x.(ranked)) }

// Pop implements [heap.Interface].
func (h *important) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
