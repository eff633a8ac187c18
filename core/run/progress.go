package run

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/reflectory/reflectory/core"
)

// VisitAttempts are the attempts of one visit of a node, in order.
type VisitAttempts struct {
	Visit    int            `json:"visit"`
	Node     string         `json:"node"`
	Attempts []core.Attempt `json:"attempts"`
}

// Progress returns what a run has recorded so far, for a resume: its finished
// visits and the attempts of the open one.
func (s *Repository) Progress(ctx context.Context, id string) (p core.Progress, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		record, err := readRecord(r, id)
		if err != nil {
			return err
		}
		visits, loops, err := readHistory(r, record)
		if err != nil {
			return err
		}
		open := record.Visits + 1
		p = core.Progress{Visits: visits, Attempts: attemptsOf(loops, open), Used: record.Open}
		if len(p.Attempts) != record.Last.Iteration {
			return corrupt(id, attemptKey(id, open, 0), fmt.Sprintf("the open visit has %d attempts, the run says %d", len(p.Attempts), record.Last.Iteration))
		}
		return nil
	})
	return p, err
}

// Attempts returns all attempts of a run, by visit. Visits to nodes that aren't loops
// have none and aren't listed.
func (s *Repository) Attempts(ctx context.Context, id string) (loops []VisitAttempts, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		if _, err := readRecord(r, id); err != nil {
			return err
		}
		if loops, err = readAttempts(r, id); err != nil {
			return err
		}
		prompts, err := readPrompts(r, id)
		for _, l := range loops {
			for i := range l.Attempts {
				l.Attempts[i].Prompts = prompts[[2]int{l.Visit, l.Attempts[i].Iteration}]
			}
		}
		return err
	})
	return loops, err
}

// Visits returns the finished visits of a run, in order.
func (s *Repository) Visits(ctx context.Context, id string) (visits []core.Visit, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		record, err := readRecord(r, id)
		if err != nil {
			return err
		}
		if visits, _, err = readHistory(r, record); err != nil {
			return err
		}
		prompts, err := readPrompts(r, id)
		for i := range visits {
			visits[i].Prompts = prompts[[2]int{visits[i].Number, 0}]
		}
		return err
	})
	return visits, err
}

// readHistory reads the finished visits of a run, whose results have their whole history,
// and the attempts of all visits.
func readHistory(r core.Reader, record *runRecord) (visits []core.Visit, loops []VisitAttempts, err error) {
	return historyBy(r, record, readVisits)
}

// visitReader reads the finished visits of a run.
type visitReader func(r core.Reader, record *runRecord) ([]core.Visit, error)

func historyBy(r core.Reader, record *runRecord, read visitReader) (visits []core.Visit, loops []VisitAttempts, err error) {
	if visits, err = read(r, record); err != nil {
		return nil, nil, err
	}
	if loops, err = readAttempts(r, record.ID); err != nil {
		return nil, nil, err
	}
	for i := range visits {
		if err := complete(record.ID, visitKey(record.ID, i+1), &visits[i], loops); err != nil {
			return nil, nil, err
		}
	}
	return visits, loops, nil
}

// complete adds the whole history to the result of a visit, which is stored at key.
func complete(id string, key []byte, v *core.Visit, loops []VisitAttempts) (err error) {
	attempts := attemptsOf(loops, v.Number)
	if len(attempts) == 0 {
		return nil
	}
	if v.Result, err = withHistory(v.Result, attempts); err != nil {
		return corrupt(id, key, err.Error())
	}
	return nil
}

// attemptsOf finds the attempts of a visit.
func attemptsOf(loops []VisitAttempts, visit int) []core.Attempt {
	at, found := slices.BinarySearchFunc(loops, visit, func(l VisitAttempts, visit int) int { return l.Visit - visit })
	if !found {
		return nil
	}
	return loops[at].Attempts
}

// readVisits reads visits with the texts of the memories that they hold.
func readVisits(r core.Reader, record *runRecord) ([]core.Visit, error) {
	stored, err := readVisitRecords(r, record)
	if err != nil {
		return nil, err
	}
	var visits []core.Visit
	for i := range stored {
		if stored[i].Result, err = withTexts(r, record.ID, &stored[i]); err != nil {
			return nil, err
		}
		visits = append(visits, stored[i].Visit)
	}
	return visits, nil
}

// readVisitsAsStored reads visits as if all memories in them were purged.
func readVisitsAsStored(r core.Reader, record *runRecord) ([]core.Visit, error) {
	stored, err := readVisitRecords(r, record)
	var visits []core.Visit
	for i := range stored {
		visits = append(visits, stored[i].Visit)
	}
	return visits, err
}

func readVisitRecords(r core.Reader, record *runRecord) ([]visitRecord, error) {
	var visits []visitRecord
	from := []byte(visitPrefix + record.ID + "/")
	err := core.ScanPrefix(r, from, func(key, value []byte) (bool, error) {
		var v visitRecord
		if err := decode(record.ID, key, value, &v); err != nil {
			return false, err
		}
		want := len(visits) + 1
		if v.Number != want || !bytes.Equal(key, visitKey(record.ID, want)) {
			return false, corrupt(record.ID, key, fmt.Sprintf("its own number is %d, but visit %d is expected", v.Number, want))
		}
		visits = append(visits, v)
		return true, nil
	})
	if err == nil && len(visits) != record.Visits {
		err = corrupt(record.ID, visitKey(record.ID, len(visits)+1), fmt.Sprintf("the run has %d visits, but %d are stored", record.Visits, len(visits)))
	}
	return visits, err
}

// readAttempts reads the attempts of a run, and checks that no visit has a gap.
func readAttempts(r core.Reader, id string) ([]VisitAttempts, error) {
	var loops []VisitAttempts
	from := []byte(attemptPrefix + id + "/")
	err := core.ScanPrefix(r, from, func(key, value []byte) (bool, error) {
		numbers := key[len(attemptPrefix)+len(id)+1:]
		if len(numbers) != 8 {
			return false, corrupt(id, key, "its key has no visit and iteration")
		}
		visit := int(binary.BigEndian.Uint32(numbers))
		iteration := int(binary.BigEndian.Uint32(numbers[4:]))
		var record attemptRecord
		if err := decode(id, key, value, &record); err != nil {
			return false, err
		}
		if len(loops) == 0 || loops[len(loops)-1].Visit != visit {
			loops = append(loops, VisitAttempts{Visit: visit, Node: record.Node})
		}
		loop := &loops[len(loops)-1]
		want := len(loop.Attempts) + 1
		if iteration != want || record.Attempt.Iteration != want || record.Node != loop.Node {
			return false, corrupt(id, key, fmt.Sprintf("it says that it is attempt %d of %s, but attempt %d of %s is expected",
				record.Attempt.Iteration, record.Node, want, loop.Node))
		}
		loop.Attempts = append(loop.Attempts, record.Attempt)
		return true, nil
	})
	return loops, err
}
