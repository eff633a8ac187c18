package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// memoryPages are the pages of memories.
func memoryPages() []page {
	return []page{
		{path: "/memory", template: "memories.html", nav: "/memory", load: loadMemories},
		{path: "/memory/{id}", template: "memory.html", nav: "/memory", load: loadMemory},
	}
}

func memoryForms() []form {
	return []form{
		{path: "/memory/{id}/restore", nav: "/memory", do: func(v *visit) (string, error) {
			found, err := call[core.Memory](v, "memory_restore", &operation.MemoryRestore{ID: v.PathValue("id")})
			if err != nil {
				return "", err
			}
			return memoryURL(found.ID), nil
		}},
		{path: "/memory/{id}/gate", nav: "/memory", do: runGate, ask: askGate},
	}
}

func memoryTexts() []text {
	return []text{{path: "/memory/{id}/content", load: func(v *visit) (string, error) {
		found, err := call[operation.Memory](v, "memory_get", &operation.MemoryGet{ID: v.PathValue("id")})
		if err != nil {
			return "", err
		}
		return found.Content, nil
	}}}
}

func memoryURL(id string) string { return "/memory/" + url.PathEscape(id) }

// memoriesData is a page of the list of memories, or the results of a search.
type memoriesData struct {
	operation.Memories
	// Found are the results of the search, the best first; nil without a search.
	Found  *operation.Recalled  `json:"found,omitempty"`
	Counts *memory.Counts       `json:"counts,omitempty"`
	Query  string               `json:"query,omitempty"`
	Filter operation.MemoryList `json:"filter"`
	States []choice             `json:"-"`
	Flow   chart.Chart          `json:"-"`
	// Moves describes the moves in the flow chart; "" if it has none.
	Moves string `json:"-"`
	Next  string `json:"-"`
}

// flowing are the states of a memory's life with their colours and their places in the flow
// chart: on top the states that a memory reaches by use, and below them the states into
// which a dream pass puts it.
var flowing = []struct {
	state    core.MemoryState
	class    string
	col, row int
}{
	{core.StateOpen, chart.Info, 0, 0}, {core.StateActive, chart.OK, 1, 0}, {core.StateCooling, chart.Warn, 2, 0}, {core.StateRevalidatePending, chart.Warn, 3, 0},
	{core.StatePromoted, chart.Violet, 4, 0}, {core.StateConsolidated, chart.Mute, 1, 1}, {core.StateArchived, chart.Mute, 2, 1},
}

// drawnMoves are the moves that the flow chart draws. A line shows all moves from one group
// of states to another; nil means from any state.
var drawnMoves = func() []drawnMove {
	const open, active, cooling, gate = core.StateOpen, core.StateActive, core.StateCooling, core.StateRevalidatePending
	const promoted, consolidated, archived = core.StatePromoted, core.StateConsolidated, core.StateArchived
	type list = []core.MemoryState
	return []drawnMove{
		{chart.Move{Text: "used"}, open, active, list{open}, list{active}},
		{chart.Move{Text: "cooled"}, active, cooling, list{open, active}, list{cooling}},
		{chart.Move{Text: "used again"}, cooling, active, list{cooling}, list{active}},
		{chart.Move{Text: "low score"}, cooling, gate, list{cooling}, list{gate}},
		{chart.Move{Text: "candidates"}, active, gate, list{open, active}, list{gate}},
		{chart.Move{Text: "promoted"}, gate, promoted, list{gate}, list{promoted}},
		{chart.Move{Text: "retained", Rare: true}, gate, active, list{gate}, list{active, cooling}},
		{chart.Move{Text: "merged", Rare: true}, active, consolidated, nil, list{consolidated}},
		{chart.Move{Text: "undone", Rare: true}, consolidated, active, list{consolidated}, list{open, active, cooling}},
		{chart.Move{Text: "archived", Rare: true}, cooling, archived, nil, list{archived}},
		{chart.Move{Text: "undone", Rare: true}, archived, cooling, list{archived}, list{open, active, cooling}},
	}
}()

// drawnMove is a line of the flow chart: where it is drawn, and the moves that it shows.
type drawnMove struct {
	chart.Move
	from, to   core.MemoryState
	froms, tos []core.MemoryState
}

// moveKey is a move from one state to another.
type moveKey struct{ from, to core.MemoryState }

// movesOf are the moves of the flow chart, each with the number of memories that made it.
func movesOf(moved map[moveKey]int64) (moves []chart.Move) {
	for _, m := range drawnMoves {
		line := m.Move
		line.From, line.To = stateName(m.from), stateName(m.to)
		for key, n := range moved {
			if (m.froms == nil || slices.Contains(m.froms, key.from)) && slices.Contains(m.tos, key.to) {
				line.Count += n
			}
		}
		moves = append(moves, line)
	}
	return moves
}

func loadMemories(v *visit) (*content, error) {
	d := &memoriesData{Query: v.query("q"), Filter: operation.MemoryList{
		Namespace: v.query("namespace"), Subtree: v.query("subtree") != "",
		Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}}
	if state := v.query("state"); state != "" {
		d.Filter.States = []core.MemoryState{core.MemoryState(state)}
	}
	if kind := v.query("kind"); kind != "" {
		d.Filter.Kinds = []core.MemoryKind{core.MemoryKind(kind)}
	}
	if err := d.load(v); err != nil {
		return nil, err
	}
	counted, err := optional[operation.Stats](v, "stats", &operation.StatsGet{Scope: operation.StatsMemory, Namespace: d.Filter.Namespace, Subtree: d.Filter.Subtree})
	if err != nil {
		return nil, err
	}
	if counted != nil {
		d.Counts = counted.Memory
	}
	moved, err := d.moves(v)
	if err != nil {
		return nil, err
	}
	var states []chart.Place
	var names []core.MemoryState
	for _, s := range flowing {
		n := int64(0)
		if d.Counts != nil {
			n = d.Counts.States[s.state]
		}
		names = append(names, s.state)
		states = append(states, chart.Place{Col: s.col, Row: s.row, State: chart.State{
			Name: stateName(s.state), Count: n, Class: s.class, URL: v.with("state", string(s.state), "page_token", "", "q", ""),
		}})
	}
	d.States, d.Flow = choices(v, "state", "all", names), chart.Cycle("Memories by state", states, movesOf(moved))
	for i := range d.States {
		d.States[i].Text = stateName(core.MemoryState(d.States[i].Text))
	}
	return &content{Title: "Memory", Data: d}, nil
}

// moves counts, for the page of one namespace, the memories that went from one state to
// another in the last day, as far as the newest entries of the namespace's stream show it.
func (d *memoriesData) moves(v *visit) (map[moveKey]int64, error) {
	if d.Filter.Namespace == "" || d.Filter.Subtree {
		return nil, nil
	}
	found, err := optional[operation.StreamEntries](v, "audit_entries", &operation.AuditEntries{
		Stream: "namespace/" + d.Filter.Namespace, Paging: operation.Paging{Limit: operation.MaxLimit},
	})
	switch {
	case sdk.CodeOf(err) == sdk.NotFound:
		return nil, nil // nothing has happened there
	case err != nil || found == nil:
		return nil, err
	}
	moved, since := map[moveKey]int64{}, v.pages.config.Now().Add(-24*time.Hour)
	for i := range found.Items {
		if m, ok := journal.As[journal.MemoryTransitioned](&found.Items[i]); ok && found.Items[i].At.After(since) {
			moved[moveKey{m.Before, m.After}]++
		}
	}
	d.Moves = "moves of the last 24 hours"
	if n := len(found.Items); n == operation.MaxLimit && found.Items[0].At.After(since) {
		d.Moves = fmt.Sprintf("moves of the newest %d events", n)
	}
	return moved, nil
}

// load lists memories, or searches if there is a query. A search has no session, so that
// looking changes nothing.
func (d *memoriesData) load(v *visit) error {
	if d.Query != "" {
		found, err := call[operation.Recalled](v, "memory_recall", &core.RecallRequest{Query: d.Query, Limit: memory.MaxRecall, RecallFilter: core.RecallFilter{
			Namespace: d.Filter.Namespace, Subtree: d.Filter.Subtree, States: d.Filter.States, Kinds: d.Filter.Kinds,
		}})
		d.Found = found
		d.Items = []*core.Memory{}
		return err
	}
	found, err := call[operation.Memories](v, "memory_list", &d.Filter)
	if err != nil {
		return err
	}
	d.Memories = *found
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return nil
}

// stateName is a state's name, short enough for its box.
func stateName(s core.MemoryState) string {
	if s == core.StateRevalidatePending {
		return "at the gate"
	}
	return string(s)
}

// memoryData is one memory. For a purged memory there is only the explanation.
type memoryData struct {
	*memory.Explanation
	Content *longText       `json:"content,omitempty"`
	Lineage *memory.Lineage `json:"lineage,omitempty"`
	// Life are the events that changed it, and Kept is their number.
	Life []lifeStep `json:"life"`
	// Retention are the weights and thresholds of its namespace.
	Governance string      `json:"governance"`
	Score      []scoreTerm `json:"-"`
	Graph      chart.Chart `json:"-"`
	// MayRestore and MayGate are what the caller may do with it.
	MayRestore bool `json:"-"`
	MayGate    bool `json:"-"`
}

// scoreTerm is a part of a score, and how much it adds.
type scoreTerm struct {
	memory.ScoreTerm
	Adds string
}

// lifeStep is an event in a memory's life.
type lifeStep struct {
	journal.Entry
	Text  string `json:"text"`
	Class string `json:"-"`
	// Decision is the decision that caused it, with its page.
	Decision string `json:"decision,omitempty"`
	// Dream is the page of the step of a pass that caused it; "" if none did.
	Dream string `json:"dream,omitempty"`
}

func loadMemory(v *visit) (*content, error) {
	e, err := call[memory.Explanation](v, "memory_explain", &operation.MemoryExplain{ID: v.PathValue("id")})
	if err != nil {
		return nil, err
	}
	d := &memoryData{Explanation: e, Governance: "/settings/governance?namespace=" + url.QueryEscape(e.Namespace), Life: lifeOf(e.History)}
	title := "A purged memory"
	if e.Memory != nil {
		title = e.Memory.Title
		d.Content = v.long(e.Memory.Content, memoryURL(e.ID)+"/content")
		if d.Lineage, err = call[memory.Lineage](v, "memory_lineage", &operation.MemoryLineage{ID: e.ID}); err != nil {
			return nil, err
		}
		d.Graph = lineageChart(d.Lineage)
		d.MayRestore = v.caller.Has(core.ScopeMemoryWrite) && (e.State == core.StateArchived || e.State == core.StateConsolidated)
		d.MayGate = v.caller.Has(core.ScopeMemoryErase) && e.State == core.StateRevalidatePending
	}
	for _, t := range e.Terms {
		d.Score = append(d.Score, scoreTerm{t, signed(t.Weight * t.Value)})
	}
	return &content{Title: title, Crumbs: []crumb{{"Memory", "/memory"}}, Data: d}, nil
}

// signed is a number with its sign; 0 has no sign.
func signed(n float64) string {
	text := strings.Replace(fmt.Sprintf("%+.3f", n), "-", "−", 1)
	if strings.Trim(text, "+−0.") == "" {
		return "0"
	}
	return text
}

// lifeOf are the events of a memory's life: recalls and feedback of single turns are left
// out, as its signals count them.
func lifeOf(history []journal.Entry) []lifeStep {
	steps := []lifeStep{}
	for i := range history {
		entry := &history[i]
		if entry.Type == "agent.memory.recalled" || entry.Type == "agent.memory.evolution.applied" {
			continue
		}
		step := lifeStep{Entry: *entry, Text: strings.NewReplacer("agent.memory.", "", ".", " ", "_", " ").Replace(entry.Type)}
		if moved, ok := journal.As[journal.MemoryTransitioned](entry); ok {
			step.Text = fmt.Sprintf("%s → %s", moved.Before, moved.After)
			step.Class = tags[string(moved.After)]
			step.Decision = moved.DecisionID
		}
		step.dream(entry)
		steps = append(steps, step)
	}
	if extra := len(steps) - maxLife; extra > 0 {
		steps = slices.Delete(steps, 1, 1+extra) // the first event shows where the memory is from
	}
	return steps
}

// dream adds what a pass of housekeeping did, with the page that shows it.
func (s *lifeStep) dream(e *journal.Entry) {
	var by struct {
		RunID  string `json:"run_id"`
		Step   int    `json:"step"`
		Undone bool   `json:"undone"`
	}
	var text string
	switch e.Type {
	case "agent.memory.rewritten":
		text = "dates written out"
	case "agent.memory.merged":
		text = "another memory merged into it"
	case "agent.memory.unlinked":
		text = "link taken back"
	case "agent.memory.lifecycle.transition":
	default:
		return
	}
	if json.Unmarshal(e.Data, &by) != nil || by.RunID == "" {
		return
	}
	s.Dream = dreamStepURL(by.RunID, by.Step)
	if text != "" {
		s.Text = text
	}
	if by.Undone {
		s.Text += ", taken back"
	}
}

// maxLife is how many steps of a life are shown; the journal's page has all of them.
const maxLife = 30

// lineageClass is the colour of a memory in a lineage.
func lineageClass(s core.MemoryState) string {
	for _, f := range flowing {
		if f.state == s {
			return f.class
		}
	}
	return chart.Mute
}

// lineageChart draws the sources of a memory, and what was derived from it.
func lineageChart(l *memory.Lineage) chart.Chart {
	var nodes []chart.Node
	known := map[string]bool{}
	for _, n := range l.Nodes {
		known[n.ID] = true
		nodes = append(nodes, chart.Node{ID: n.ID, Text: n.Title, Note: string(n.Kind) + " · " + string(n.State), Class: lineageClass(n.State), URL: memoryURL(n.ID), Me: n.ID == l.ID})
	}
	var edges []chart.Edge
	for _, link := range l.Links {
		if known[link.From] && known[link.To] {
			edges = append(edges, chart.Edge{From: link.From, To: link.To, Name: link.Relation})
		}
	}
	return chart.Lineage("Lineage", nodes, edges)
}

func askGate(v *visit) (*question, error) {
	id := v.PathValue("id")
	explained, err := call[gate.Explanation](v, "gate_explain", &operation.GateExplain{ID: id})
	if err != nil {
		return nil, err
	}
	return &question{
		Title: "Have the gate decide?", Crumbs: []crumb{{"Memory", "/memory"}, {short(id), memoryURL(id)}},
		Text:   fmt.Sprintf("By what is known now the gate would decide: %s, with a confidence of %.2f. A purge can’t be undone.", explained.Decision.Verdict, explained.Decision.Confidence),
		Button: "Decide", Back: memoryURL(id),
	}, nil
}

func runGate(v *visit) (string, error) {
	id := v.PathValue("id")
	queued, err := call[operation.JobQueued](v, "gate_run", &operation.GateRun{ID: id})
	if err != nil {
		return "", err
	}
	return "/jobs/" + url.PathEscape(queued.JobID), nil
}
