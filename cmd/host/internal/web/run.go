package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// The page of a run shows one visit of one of its loops at a time. It shows one of the
// visit's attempts in full, with its changes since another attempt. The address names the
// visit and the attempts.

// maxCards is how many attempts are in a row, and maxSnapshots how many snapshots are listed.
const (
	maxCards     = 24
	maxSnapshots = 5
)

// runData is what the page of a run shows.
type runData struct {
	// Run is the run, without the outputs and texts that the page may have no room for.
	Run       *operation.RunSummary `json:"run"`
	Session   string                `json:"session"`
	Error     *core.ErrorInfo       `json:"error,omitempty"`
	Resumable bool                  `json:"resumable"`
	Visits    []choice              `json:"-"`
	// Cards are attempts of the visit; Earlier and Later lead to the others.
	Cards          []card `json:"attempts"`
	Earlier, Later string `json:"-"`
	// Shown is the attempt that is shown in full; nil if there is none.
	Shown    *shownAttempt            `json:"shown,omitempty"`
	Diff     *diffView                `json:"diff,omitempty"`
	Scores   *chart.Chart             `json:"-"`
	Timeline *chart.Chart             `json:"-"`
	Events   *operation.StreamEntries `json:"events,omitempty"`
	Facts    []eventRow               `json:"-"`
	// OlderEvents leads to earlier events, and AllEvents to the stream.
	OlderEvents string `json:"-"`
	// Given are the memories that the run was given, and Written the memories that it wrote.
	// MoreGiven and MoreWritten are how many others there are.
	Given       []given     `json:"memories_given"`
	Written     []given     `json:"memories_written"`
	MoreGiven   int         `json:"more_memories_given,omitempty"`
	MoreWritten int         `json:"more_memories_written,omitempty"`
	Budgets     []budget    `json:"budgets"`
	Texts       []namedText `json:"texts"`
	Replay      *replayView `json:"replay,omitempty"`
	// Snapshots are snapshots of its session, and AllTold leads to all of them.
	Snapshots    []*inject.Snapshot `json:"-"`
	AllSnapshots string             `json:"-"`
	// HasTurns is whether its session has turns that the visitor may see.
	HasTurns bool   `json:"-"`
	Live     string `json:"-"`
	// tokens are what making and judging each attempt used, by visit and iteration.
	tokens map[[2]int]int64
}

// card is an attempt in the row of attempts.
type card struct {
	Iteration int           `json:"iteration"`
	Role      sdk.Role      `json:"role"`
	Judged    bool          `json:"judged"`
	Accepted  bool          `json:"accepted"`
	Score     float64       `json:"score"`
	Findings  []sdk.Finding `json:"errors"`
	// More is how many further errors there are.
	More   int    `json:"more_errors,omitempty"`
	Usage  string `json:"-"`
	URL    string `json:"-"`
	Shown  bool   `json:"-"`
	Result bool   `json:"result"`
}

// shownAttempt is an attempt in full.
type shownAttempt struct {
	Iteration int `json:"iteration"`
	Visit     int `json:"visit"`
	// Texts are its output and the feedback on it, and Children the verdicts of the parts of a
	// composite evaluator, by name.
	Texts    []namedText   `json:"texts"`
	Findings []sdk.Finding `json:"errors"`
	Children []childRow    `json:"children,omitempty"`
}

// childRow is the verdict of a part of a composite evaluator.
type childRow struct {
	Name    string      `json:"name"`
	Verdict sdk.Verdict `json:"verdict"`
}

// namedText is a text of any length with its name.
type namedText struct {
	Name string `json:"name"`
	*longText
}

func loadRun(v *visit) (*content, error) {
	r, err := call[operation.Run](v, "run_get", &operation.RunGet{ID: v.PathValue("id")})
	if err != nil {
		return nil, err
	}
	d := &runData{
		Run: &operation.RunSummary{
			RunID: r.RunID, Workflow: r.Workflow, Namespace: r.Namespace, Status: r.Status, StopReason: r.StopReason, ExhaustedLoops: r.ExhaustedLoops, Score: r.Score, Iterations: r.Iterations,
			StartedAt: r.StartedAt, UpdatedAt: r.UpdatedAt, Usage: r.Usage,
		},
		Session: r.SessionID(), Error: r.Error, Resumable: r.Status.Resumable() && r.Status != core.StatusRunning, Given: []given{}, Written: []given{}, Cards: []card{},
	}
	if r.Status == core.StatusRunning {
		d.Live = "/v1/runs/" + url.PathEscape(r.RunID) + "/events"
	}
	d.tokens = map[[2]int]int64{}
	for _, l := range r.Loops {
		for i := range l.Attempts {
			a := &l.Attempts[i]
			d.tokens[[2]int{l.Visit, a.Iteration}] = a.Usage.TokensIn + a.Usage.TokensOut
		}
	}
	if loop := visitOf(r.Loops, v.number("visit")); loop != nil {
		d.attempts(v, r, loop)
	}
	if d.Snapshots, err = v.snapshotsOf(r.Namespace, d.Session, maxSnapshots); err != nil {
		return nil, err
	}
	d.AllSnapshots = "/snapshots?" + url.Values{"namespace": {r.Namespace}, "session": {d.Session}}.Encode()
	if err := d.diff(v); err != nil {
		return nil, err
	}
	if err := d.events(v); err != nil {
		return nil, err
	}
	d.memories(v, r.Memories)
	d.Budgets = budgetsOf(r)
	if err := d.replay(v); err != nil {
		return nil, err
	}
	d.texts(v, r)
	return &content{Title: short(r.RunID), Crumbs: []crumb{{"Runs", "/runs"}, {r.Workflow, "/runs?" + url.Values{"workflow": {r.Workflow}}.Encode()}}, Data: d}, nil
}

// visitOf is a visit with attempts: the visit with a given number, or, for 0, the last
// visit.
func visitOf(loops []run.VisitAttempts, number int) (loop *run.VisitAttempts) {
	for i := range loops {
		if (number == 0 || loops[i].Visit == number) && len(loops[i].Attempts) > 0 {
			loop = &loops[i]
		}
	}
	return loop
}

// attempts adds the attempts of a visit: their row, the attempt that is shown, and their
// scores.
func (d *runData) attempts(v *visit, r *operation.Run, loop *run.VisitAttempts) {
	if len(r.Loops) > 1 {
		for _, l := range r.Loops {
			number := strconv.Itoa(l.Visit)
			d.Visits = append(d.Visits, choice{fmt.Sprintf("%d %s", l.Visit, line(l.Node, 40)), v.with("visit", number, "from", "", "to", "", "first", ""), l.Visit == loop.Visit})
		}
	}
	list := loop.Attempts
	shown := list[len(list)-1].Iteration
	if n := v.number("to"); n >= 1 && n <= len(list) {
		shown = n
	}
	result := 0
	if loop.Visit == r.Loops[len(r.Loops)-1].Visit {
		result = resultOf(r)
	}
	first := max(0, shown-1-(shown-1)%maxCards)
	last := min(first+maxCards, len(list))
	for i := first; i < last; i++ {
		d.Cards = append(d.Cards, cardOf(v, loop, i, shown, result))
	}
	if first > 0 {
		d.Earlier = v.with("to", strconv.Itoa(first), "from", "")
	}
	if last < len(list) {
		d.Later = v.with("to", strconv.Itoa(last+1), "from", "")
	}
	d.Shown = showAttempt(v, r.RunID, loop, &list[shown-1])
	steps := make([]chart.Step, len(list))
	for i, a := range list {
		steps[i] = chart.Step{Name: fmt.Sprintf("attempt %d", a.Iteration), Value: a.Score}
		if len(list) > 6 {
			steps[i].Name = strconv.Itoa(a.Iteration)
		}
		if a.Accepted {
			steps[i].Class = chart.OK
		}
	}
	scores := chart.Steps("Score by attempt", steps)
	d.Scores = &scores
}

// resultOf is the attempt that became the run's result; 0 if there is none, or if the last
// node wasn't a loop.
func resultOf(r *operation.Run) int {
	var loop struct {
		Iteration int `json:"iteration"`
	}
	_ = json.Unmarshal(r.Result, &loop) // a node's result may be anything
	return loop.Iteration
}

// maxFindings is how many errors of an attempt its card shows.
const maxFindings = 4

func cardOf(v *visit, loop *run.VisitAttempts, i, shown, result int) card {
	a := &loop.Attempts[i]
	before := int64(0)
	if i > 0 {
		before = loop.Attempts[i-1].ActiveMillis
	}
	tokens := a.Usage.TokensIn + a.Usage.TokensOut
	usage := took(max(a.ActiveMillis-before, 0))
	if tokens > 0 {
		usage += ", " + count(tokens) + " tokens"
	}
	return card{
		Iteration: a.Iteration, Role: a.Role, Judged: a.Judged, Accepted: a.Accepted, Score: a.Score,
		Findings: a.Errors[:min(len(a.Errors), maxFindings)], More: max(len(a.Errors)-maxFindings, 0), Usage: usage,
		URL: v.with("visit", strconv.Itoa(loop.Visit), "to", strconv.Itoa(a.Iteration), "from", ""), Shown: a.Iteration == shown, Result: a.Iteration == result,
	}
}

func showAttempt(v *visit, id string, loop *run.VisitAttempts, a *core.Attempt) *shownAttempt {
	s := &shownAttempt{Iteration: a.Iteration, Visit: loop.Visit, Findings: a.Errors[:min(len(a.Errors), 50)]}
	add := func(name, what, text string) {
		if text != "" {
			s.Texts = append(s.Texts, namedText{name, v.long(text, wholeText(id, what, loop.Visit, a.Iteration))})
		}
	}
	add("Output", "output", pretty(a.Output))
	add("Feedback", "feedback", a.Feedback)
	add("As the generator wrote it", "raw", pretty(a.Raw))
	add("Changes to the state before it", "patch", pretty(a.StatePatch))
	for i := range a.Prompts {
		add(promptName(&a.Prompts[i]), "prompt&n="+strconv.Itoa(i), promptText(&a.Prompts[i]))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Children)) {
		s.Children = append(s.Children, childRow{name, a.Children[name]})
	}
	return s
}

// texts adds the run's initial state and its result.
func (d *runData) texts(v *visit, r *operation.Run) {
	add := func(name, what, text string) {
		if text != "" {
			d.Texts = append(d.Texts, namedText{name, v.long(text, wholeText(r.RunID, what, 0, 0))})
		}
	}
	add("State at its start", "state", pretty(r.State))
	add("Result", "result", pretty(r.Result))
	for _, at := range r.Prompts {
		for i := range at.Prompts {
			p := &at.Prompts[i]
			whole := wholeText(r.RunID, "prompt", 0, 0) + fmt.Sprintf("&visit=%d&n=%d", at.Visit, i)
			d.Texts = append(d.Texts, namedText{line(at.Node, 80) + ": " + promptName(p), v.long(promptText(p), whole)})
		}
	}
	add(cmp.Or(r.Source.File, "Workflow"), "workflow", r.Source.Text)
	for _, name := range slices.Sorted(maps.Keys(r.Source.Files)) {
		d.Texts = append(d.Texts, namedText{line(name, 200), v.long(r.Source.Files[name], wholeText(r.RunID, "file", 0, 0)+"&"+url.Values{"name": {name}}.Encode())})
	}
}

// wholeText is the address of a run's whole text.
func wholeText(id, what string, visit, iteration int) string {
	what, n, _ := strings.Cut(what, "&n=") // the number of a prompt
	q := url.Values{"what": {what}}
	if n != "" {
		q.Set("n", n)
	}
	if iteration > 0 {
		q.Set("visit", strconv.Itoa(visit))
		q.Set("iteration", strconv.Itoa(iteration))
	}
	return "/runs/" + url.PathEscape(id) + "/text?" + q.Encode()
}

// loadRunText loads a whole text of a run.
func loadRunText(v *visit) (string, error) {
	r, err := call[operation.Run](v, "run_get", &operation.RunGet{ID: v.PathValue("id")})
	if err != nil {
		return "", err
	}
	switch v.query("what") {
	case "state":
		return pretty(r.State), nil
	case "result":
		return pretty(r.Result), nil
	case "workflow":
		return r.Source.Text, nil
	case "file":
		if text, has := r.Source.Files[v.query("name")]; has {
			return text, nil
		}
	case "prompt":
		if v.number("iteration") == 0 {
			for _, at := range r.Prompts {
				if n := v.number("n"); at.Visit == v.number("visit") && n >= 0 && n < len(at.Prompts) {
					return promptText(&at.Prompts[n]), nil
				}
			}
		}
	}
	loop := visitOf(r.Loops, v.number("visit"))
	if n := v.number("iteration"); loop != nil && n >= 1 && n <= len(loop.Attempts) {
		a := &loop.Attempts[n-1]
		switch v.query("what") {
		case "output":
			return pretty(a.Output), nil
		case "feedback":
			return a.Feedback, nil
		case "raw":
			return pretty(a.Raw), nil
		case "patch":
			return pretty(a.StatePatch), nil
		case "prompt":
			if n := v.number("n"); n >= 0 && n < len(a.Prompts) {
				return promptText(&a.Prompts[n]), nil
			}
		}
	}
	return "", sdk.Errorf(sdk.NotFound, "text_not_found", "The run has no such text.")
}

// pretty is JSON in a readable form: a text without quotes, anything else indented.
func pretty(value json.RawMessage) string {
	var text string
	if len(value) == 0 || json.Unmarshal(value, &text) == nil {
		return text
	}
	var indented bytes.Buffer
	if json.Indent(&indented, value, "", "  ") != nil {
		return string(value)
	}
	return indented.String()
}
