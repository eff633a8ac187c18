package decisions

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/policypoint"
)

// Checker is the [core.Checker] of recorded decisions: each event has the record
// whose digest it holds, and there are no other records.
type Checker struct{}

var _ core.Checker = Checker{}

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	named, records := 0, 0
	for _, point := range policypoint.Points() {
		stream := journal.DecisionStream(string(point))
		err := journal.CheckEntries(ctx, r, stream, func(e journal.Entry) error {
			found, err := checkEvent(r, stream, e, report)
			if found {
				named++
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	err := core.ScanPrefix(r, []byte(prefix), func(_, _ []byte) (bool, error) {
		records++
		return true, ctx.Err()
	})
	if err == nil && records > named {
		report(problem(prefix, fmt.Sprintf("no event names %d of the records", records-named)))
	}
	return err
}

// checkEvent checks the record of an event, and reports whether it exists.
func checkEvent(r core.Reader, stream string, e journal.Entry, report func(core.Problem)) (found bool, err error) {
	var event journal.PolicyDecided
	if err := json.Unmarshal(e.Data, &event); err != nil || event.ID == "" {
		report(problem(fmt.Sprintf("event/%s/%d", stream, e.Seq), "the event isn't a decision"))
		return false, nil
	}
	value, found, err := r.Get(recordKey(event.ID))
	switch {
	case err != nil:
		return false, err
	case !found:
		report(problem(prefix+event.ID, "the record is gone"))
	case core.Digest(value) != event.Record:
		report(problem(prefix+event.ID, "the record was changed: its digest isn't the one in its event"))
	}
	return found, nil
}

func problem(key, message string) core.Problem {
	return core.Problem{Part: "decisions", Key: key, Message: message}
}
