package decisions

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// Pruner finds the decisions of each point that were recorded before a time. Nothing else
// in a store depends on them: the gate's decisions about memories are records of their
// own.
type Pruner struct{ Before time.Time }

var _ core.Pruner = Pruner{}

// Prunable implements [core.Pruner].
func (p Pruner) Prunable(ctx context.Context, r core.Reader, entries int, fn func(core.Prunable) (bool, error)) error {
	for _, point := range policypoint.Points() {
		stream := journal.DecisionStream(string(point))
		seal, err := journal.ReadSeal(r, stream)
		if err != nil {
			return err
		}
		for next := seal.Last + 1; ; {
			part, err := p.part(ctx, r, stream, next, entries)
			if err != nil {
				return err
			}
			if part.Last < next {
				break
			}
			if more, err := fn(part); err != nil || !more {
				return err
			}
			next = part.Last + 1
		}
	}
	return nil
}

// part is the next part of a stream's old entries; empty if there are none.
func (p Pruner) part(ctx context.Context, r core.Reader, stream string, first uint64, entries int) (core.Prunable, error) {
	part := core.Prunable{Stream: stream, First: first}
	err := journal.ReadFrom(r, stream, first, func(e journal.Entry) (bool, error) {
		if err := ctx.Err(); err != nil || !e.At.Before(p.Before) {
			return false, err
		}
		var damage string
		found, err := checkEvent(r, stream, e, func(p core.Problem) { damage = p.Key + ": " + p.Message })
		if err == nil && damage != "" {
			err = sdk.Errorf(sdk.Internal, "record_corrupt", "%s", damage).
				WithHint("damaged records weren't pruned; check the store").WithAction("store check")
		}
		if err != nil || !found {
			return false, err
		}
		event, _ := journal.As[journal.PolicyDecided](&e)
		part.Records, part.Last = append(part.Records, recordKey(event.ID)), e.Seq
		return len(part.Records) < entries, nil
	})
	return part, err
}
