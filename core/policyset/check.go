package policyset

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
)

// Checker compares the sets, and the key that names the set in force, with the events of
// their pushes.
type Checker struct{}

var _ core.Checker = Checker{}

// Check implements [core.Checker].
func (Checker) Check(ctx context.Context, r core.Reader, report func(core.Problem)) error {
	records, last, err := pushes(ctx, r, report)
	if err != nil {
		return err
	}
	if active, err := ReadActive(r); err != nil || active != last {
		report(problem(activeKey, "it isn't the set of the newest push"))
	}
	err = core.ScanPrefix(r, []byte(setPrefix), func(key, value []byte) (bool, error) {
		digest := strings.TrimPrefix(string(key), setPrefix)
		switch record, pushed := records[digest]; {
		case !pushed:
			report(problem(string(key), "no event names the set"))
		case record != core.Digest(value):
			report(problem(string(key), "the set was changed: its digest isn't the one in its event"))
		}
		delete(records, digest)
		return true, ctx.Err()
	})
	for digest := range records {
		report(problem(string(setKey(digest)), "the set is gone"))
	}
	return err
}

// pushes reads the newest push from the journal, and the digest of each pushed set's record,
// by the set's own digest.
func pushes(ctx context.Context, r core.Reader, report func(core.Problem)) (records map[string]string, last Active, err error) {
	records = map[string]string{}
	err = journal.CheckEntries(ctx, r, journal.PolicyStream, func(e journal.Entry) error {
		if !e.Is(journal.PoliciesPushed{}) {
			return nil
		}
		var pushed journal.PoliciesPushed
		if err := json.Unmarshal(e.Data, &pushed); err != nil || pushed.Epoch != last.Epoch+1 {
			report(problem("event/"+journal.PolicyStream, "the epochs of its pushes don't count from 1"))
		}
		records[pushed.Digest], last = pushed.Record, Active{pushed.Epoch, pushed.Digest}
		return nil
	})
	return records, last, err
}

func problem(key, message string) core.Problem {
	return core.Problem{Part: "policies", Key: key, Message: message}
}
