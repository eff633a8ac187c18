package run

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
)

// A run's events have digests of the original outputs and results, but its records hold
// these without white space, so they can't be compared. Everything else in the events is
// compared.

// runEvents has what a run's events show about its records.
type runEvents struct {
	workflow   string
	status     core.Status
	stopReason core.StopReason
	exhausted  []string // loops
	epoch      int
	visits     map[int]journal.VisitRecorded
	verdicts   map[[2]int]journal.VerdictRecorded // by visit and iteration
	outputs    map[[2]int]journal.OutputRecorded
	last       journal.Entry
}

// readRunEvents reads a run's events. It returns nil if the journal is damaged, which is
// reported elsewhere.
func readRunEvents(r core.Reader, id string) (*runEvents, error) {
	t := &runEvents{
		status: core.StatusRunning, epoch: 1, visits: map[int]journal.VisitRecorded{},
		verdicts: map[[2]int]journal.VerdictRecorded{}, outputs: map[[2]int]journal.OutputRecorded{},
	}
	err := journal.Read(r, Stream(id), func(e journal.Entry) error {
		t.add(&e)
		return nil
	})
	if journal.IsBroken(err) {
		return nil, nil
	}
	return t, err
}

func (t *runEvents) add(e *journal.Entry) {
	t.last = *e
	if started, is := journal.As[journal.RunStarted](e); is {
		t.workflow = started.Workflow
	}
	if output, is := journal.As[journal.OutputRecorded](e); is {
		t.outputs[[2]int{output.Visit, output.Iteration}] = output
	}
	if verdict, is := journal.As[journal.VerdictRecorded](e); is {
		t.verdicts[[2]int{verdict.Visit, verdict.Iteration}] = verdict
	}
	if visit, is := journal.As[journal.VisitRecorded](e); is {
		t.visits[visit.Visit] = visit
	}
	if ended, is := journal.As[journal.RunEnded](e); is {
		t.status, t.stopReason, t.exhausted = ended.Status, ended.StopReason, ended.ExhaustedLoops
	}
	if resumed, is := journal.As[journal.RunResumed](e); is {
		t.status, t.stopReason, t.exhausted, t.epoch = core.StatusRunning, "", nil, resumed.Epoch
	}
}

// events checks a run's records against its events.
func (c *checking) events(record *runRecord) error {
	t, err := readRunEvents(c.r, record.ID)
	if err != nil || t == nil {
		return err
	}
	if t.last.Seq == 0 {
		c.problem(runKey(record.ID), false, "the run has no events")
		return nil
	}
	same := t.workflow == record.Workflow && t.status == record.Status && t.stopReason == record.StopReason &&
		slices.Equal(t.exhausted, record.ExhaustedLoops) && t.epoch == record.Epoch && len(t.visits) == record.Visits
	if !same || !t.last.At.Equal(record.UpdatedAt) {
		c.problem(runKey(record.ID), false, "the run doesn't match its events")
	}
	if !record.withinBounds() {
		c.problem(runKey(record.ID), false, "a number of the run is out of its bounds")
	}
	if err := c.parts(record); err != nil {
		return err
	}
	loops, err := readAttempts(c.r, record.ID)
	if err != nil {
		return err
	}
	attempts := 0
	for _, l := range loops {
		for i := range l.Attempts {
			attempts++
			c.attempt(record.ID, l.Visit, l.Node, &l.Attempts[i], t)
		}
	}
	for at := range t.outputs {
		if _, judged := t.verdicts[at]; !judged {
			attempts--
		}
	}
	if attempts != len(t.verdicts) {
		c.problem(runKey(record.ID), false, fmt.Sprintf("its events name %d judged attempts, but it has others", len(t.verdicts)))
	}
	return c.visits(record, t)
}

// withinBounds reports whether the numbers that no event has are possible for a run.
func (r *runRecord) withinBounds() bool {
	used := func(u *core.RunUsage) bool {
		return u.TokensIn >= 0 && u.TokensOut >= 0 && u.CostUSD >= 0 && u.WallMillis >= 0
	}
	return r.Score >= 0 && r.Score <= 1 && r.Iterations >= 0 && r.Recalled >= 0 && r.Used >= 0 && used(&r.Usage) && used(&r.Open)
}

// parts checks that a run that has ended has its result, and that its records have no
// unknown fields.
func (c *checking) parts(record *runRecord) error {
	_, found, err := c.r.Get(resultKey(record.ID))
	if err != nil {
		return err
	}
	if !found && record.Status != core.StatusRunning {
		c.problem(resultKey(record.ID), false, "the run has ended, but its result is gone")
	}
	value, _, err := c.r.Get(runKey(record.ID))
	if err != nil {
		return err
	}
	c.known(runKey(record.ID), value, &runRecord{})
	err = scanPrefix(c.r, visitPrefix+record.ID+"/", func(key, value []byte) error {
		c.known(key, value, &visitRecord{})
		return nil
	})
	if err != nil {
		return err
	}
	return scanPrefix(c.r, attemptPrefix+record.ID+"/", func(key, value []byte) error {
		c.known(key, value, &attemptRecord{})
		return nil
	})
}

// known reports fields of a record that v doesn't have. A record that can't be decoded at
// all is reported where it is read.
func (c *checking) known(key, value []byte, v any) {
	if err := jsontext.DecodeStrict(value, v); err != nil && json.Valid(value) {
		c.problem(key, false, "the record has a field that the program doesn't write: "+err.Error())
	}
}

// attempt checks an attempt against its events.
func (c *checking) attempt(id string, visit int, node string, a *core.Attempt, t *runEvents) {
	at := [2]int{visit, a.Iteration}
	verdict, judged := t.verdicts[at]
	output, made := t.outputs[at]
	same := judged == a.Judged && (judged || made)
	if !a.Judged {
		same = same && a.Score == 0 && !a.Valid && !a.Accepted
	}
	if judged {
		same = same && verdict.Node == node && verdict.Score == a.Score && verdict.Valid == a.Valid && verdict.Accepted == a.Accepted
	}
	if made {
		same = same && output.Node == node && output.Role == string(a.Role)
	}
	if !same {
		c.problem(attemptKey(id, visit, a.Iteration), false, "the attempt doesn't match its events")
	}
}

// visits checks the finished nodes against their events.
func (c *checking) visits(record *runRecord, t *runEvents) error {
	visits, err := readVisitRecords(c.r, record)
	if err != nil {
		return err
	}
	memories := false
	for i := range visits {
		v := &visits[i]
		memories = memories || v.apart()
		shown, is := t.visits[v.Number]
		same := is && shown.Node == v.Node && shown.Skipped == v.Skipped && shown.Next == v.Next
		if len(shown.Memories) > 0 || v.apart() && len(v.Memories) == 0 { // early stores don't have it
			same = same && slices.Equal(shown.Memories, v.Memories) && shown.Result == core.Digest(v.Result)
		}
		if !same {
			c.problem(visitKey(record.ID, v.Number), false, "the visit doesn't match its event")
		}
		if err := c.texts(record.ID, v); err != nil {
			return err
		}
	}
	if memories != record.Memories {
		c.problem(runKey(record.ID), false, "the run is wrong about whether its visits have memories")
	}
	return nil
}
