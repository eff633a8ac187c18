package run

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/table"
	"github.com/reflectory/reflectory/sdk"
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
			return attemptRecords.Damaged(attemptKey(id, open, 0), fmt.Sprintf("the open visit has %d attempts, the run says %d", len(p.Attempts), record.Last.Iteration))
		}
		return nil
	})
	return p, err
}

// Mark is a text that changes with each commit of a run's work, but not when the run is started or
// resumed; a run that doesn't
// exist has the mark of one that has just started.
func Mark(r core.Reader, id string) (string, error) {
	record, err := readRecord(r, id)
	if sdk.CodeOf(err) == sdk.NotFound {
		return "0", nil
	}
	if err != nil {
		return "", err
	}
	head, err := journal.ReadHead(r, Stream(id))
	return strconv.Itoa(int(head.Seq) - record.Epoch), err //nolint:gosec // each epoch has an entry
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
				a := &l.Attempts[i]
				a.Prompts = prompts[[2]int{l.Visit, a.Iteration}]
				if a.Errors == nil { // it isn't judged yet
					a.Errors = []sdk.Finding{}
				}
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

// OpenPrompts returns what the calls of the visit in which a run ended sent to language models, if
// the run can be resumed there. Those of a loop's attempts are at its attempts.
func (s *Repository) OpenPrompts(ctx context.Context, id string) (prompts []core.Prompt, err error) {
	err = s.store.View(ctx, func(r core.Reader) error {
		record, err := readRecord(r, id)
		if err != nil {
			return err
		}
		all, err := readPrompts(r, id)
		prompts = all[[2]int{record.Visits + 1, 0}]
		return err
	})
	return prompts, err
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
		if err := complete(visitKey(record.ID, i+1), &visits[i], loops); err != nil {
			return nil, nil, err
		}
	}
	return visits, loops, nil
}

// complete adds the whole history to the result of a visit, which is stored at key.
func complete(key []byte, v *core.Visit, loops []VisitAttempts) (err error) {
	attempts := attemptsOf(loops, v.Number)
	if len(attempts) == 0 {
		return nil
	}
	if v.Result, err = withHistory(v.Result, attempts); err != nil {
		return runs.Damaged(key, err.Error())
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
	err := visitRecords.Each(r, record.ID+"/", func(id string, v *visitRecord) error {
		want := len(visits) + 1
		if v.Number != want || id != record.ID+"/"+numbers(want) {
			return visitRecords.Damaged([]byte(visitPrefix+id), fmt.Sprintf("its own number is %d, but visit %d is expected", v.Number, want))
		}
		visits = append(visits, *v)
		return nil
	})
	if err == nil && len(visits) != record.Visits {
		err = visitRecords.Damaged(visitKey(record.ID, len(visits)+1), fmt.Sprintf("the run has %d visits, but %d are stored", record.Visits, len(visits)))
	}
	return visits, err
}

// readAttempts reads the attempts of a run, and checks that no visit has a gap.
func readAttempts(r core.Reader, id string) ([]VisitAttempts, error) {
	var loops []VisitAttempts
	err := attemptRecords.Each(r, id+"/", func(key string, record *attemptRecord) error {
		visit, iteration, err := place(&attemptRecords, key, id)
		if err != nil {
			return err
		}
		if len(loops) == 0 || loops[len(loops)-1].Visit != visit {
			loops = append(loops, VisitAttempts{Visit: visit, Node: record.Node})
		}
		loop := &loops[len(loops)-1]
		want := len(loop.Attempts) + 1
		if iteration != want || record.Attempt.Iteration != want || record.Node != loop.Node {
			return attemptRecords.Damaged([]byte(attemptPrefix+key), fmt.Sprintf("it says that it is attempt %d of %s, but attempt %d of %s is expected",
				record.Attempt.Iteration, record.Node, want, loop.Node))
		}
		loop.Attempts = append(loop.Attempts, record.Attempt)
		return nil
	})
	return loops, err
}

// place is the visit and iteration in the id of a run's attempt or prompts.
func place[R any](k *table.Kind[R], key, run string) (visit, iteration int, err error) {
	numbers := []byte(key[len(run)+1:])
	if len(numbers) != 8 {
		return 0, 0, k.Damaged([]byte(k.Prefix+key), "its key has no visit and iteration")
	}
	return int(binary.BigEndian.Uint32(numbers)), int(binary.BigEndian.Uint32(numbers[4:])), nil
}
