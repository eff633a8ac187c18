package run

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The history in a loop's result repeats the loop's attempts, which are stored
// separately. So a stored result holds only the newest entry of its history, to which the
// loop's end may have added something. The earlier entries are made from the attempts
// when the result is read. A result that has its whole history is used unchanged.

// withoutHistory is the stored form of a result. A result without a history is unchanged.
func withoutHistory(result json.RawMessage) (json.RawMessage, error) {
	return changeHistory(result, func(entries []json.RawMessage) ([]json.RawMessage, error) {
		return entries[len(entries)-1:], nil
	})
}

// withHistory is a stored result as the loop returned it. attempts are the attempts of
// its visit.
func withHistory(result json.RawMessage, attempts []core.Attempt) (json.RawMessage, error) {
	return changeHistory(result, func(entries []json.RawMessage) ([]json.RawMessage, error) {
		var first struct{ Iteration int }
		if err := json.Unmarshal(entries[0], &first); err != nil {
			return nil, err
		}
		missing := first.Iteration - 1
		if missing < 0 || missing > len(attempts) {
			return nil, fmt.Errorf("its history continues at attempt %d of %d", first.Iteration, len(attempts))
		}
		whole := make([]json.RawMessage, missing, missing+len(entries))
		for i := range whole {
			whole[i] = historyEntry(attempts, i)
		}
		return append(whole, entries...), nil
	})
}

// historyEntry is the recorded attempt at an index as a result shows it. A failure of the
// corrector is shown in the attempt that the generator made instead.
func historyEntry(attempts []core.Attempt, i int) json.RawMessage {
	entry := attempts[i].HistoryEntry()
	if i+1 < len(attempts) && attempts[i+1].CorrectorError != nil {
		entry.Errors = append(slices.Clone(entry.Errors), *attempts[i+1].CorrectorError)
	}
	return jsontext.MustEncode(entry)
}

// changeHistory changes the history in a result, if it has entries, and keeps the rest
// byte for byte.
func changeHistory(result json.RawMessage, change func([]json.RawMessage) ([]json.RawMessage, error)) (json.RawMessage, error) {
	members := jsontext.Members(result)
	at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == "history" })
	if at < 0 {
		return result, nil
	}
	var entries []json.RawMessage
	err := json.Unmarshal(members[at].Value, &entries)
	if err == nil && len(entries) > 0 {
		entries, err = change(entries)
	}
	if err != nil || len(entries) == 0 {
		return result, err
	}
	members[at].Value = joinList(entries)
	return jsontext.JoinMembers(members), nil
}

// joinList makes a JSON list from its entries, unchanged.
func joinList(entries []json.RawMessage) json.RawMessage {
	list := []byte{'['}
	for i, e := range entries {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, e...)
	}
	return append(list, ']')
}

// shortened is the stored form of a visit. record is the state of its run.
func shortened(v *core.Visit, record *runRecord) (*core.Visit, error) {
	stored := *v
	if record.Last.Iteration == 0 {
		return &stored, nil // it isn't a loop, or has no attempts
	}
	var err error
	if stored.Result, err = withoutHistory(v.Result); err != nil {
		return nil, sdk.Errorf(sdk.Internal, "result_invalid", "read the history in the result of visit %d (%s): %w", v.Number, v.Node, err)
	}
	return &stored, nil
}
