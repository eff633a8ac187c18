package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
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
	Moves string  `json:"-"`
	Where *places `json:"-"`
	Next  string  `json:"-"`
}

// flowing are the states of a memory's life with their colours and their places in the flow
// chart: on top the states that a memory reaches by use, and below them the states into
// which a dream pass puts it, and what the gate purged.
var flowing = []struct {
	state    core.MemoryState
	class    string
	col, row int
}{
	{core.StateOpen, chart.Info, 0, 0}, {core.StateActive, chart.OK, 1, 0}, {core.StateCooling, chart.Warn, 2, 0}, {core.StateRevalidatePending, chart.Warn, 3, 0},
	{core.StatePromoted, chart.Violet, 4, 0}, {core.StateConsolidated, chart.Mute, 1, 1}, {core.StateArchived, chart.Mute, 2, 1},
	{core.StatePurged, chart.Mute, 3, 1},
}

// drawnMoves are the moves that the flow chart draws. A line shows all moves from one group
// of states to another; nil means from any state.
var drawnMoves = func() []drawnMove {
	const open, active, cooling, gate = core.StateOpen, core.StateActive, core.StateCooling, core.StateRevalidatePending
	const promoted, consolidated, archived, purged = core.StatePromoted, core.StateConsolidated, core.StateArchived, core.StatePurged
	type list = []core.MemoryState
	return []drawnMove{
		{chart.Move{Text: "used"}, open, active, list{open}, list{active}},
		{chart.Move{Text: "cooled"}, active, cooling, list{open, active}, list{cooling}},
		{chart.Move{Text: "used again"}, cooling, active, list{cooling}, list{active}},
		{chart.Move{Text: "low score"}, cooling, gate, list{cooling}, list{gate}},
		{chart.Move{Text: "candidates"}, active, gate, list{open, active}, list{gate}},
		{chart.Move{Text: "promoted"}, gate, promoted, list{gate}, list{promoted}},
		{chart.Move{Text: "purged"}, gate, purged, nil, list{purged}},
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

// movesOf are the moves of the flow chart, each with the number of memories that made it. limits
// are the words for moves at a limit of the score, where they are known.
func movesOf(moved map[moveKey]int64, limits map[string]string) (moves []chart.Move) {
	for _, m := range drawnMoves {
		line := m.Move
		line.Text = cmp.Or(limits[line.Text], line.Text)
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
		Subtree: v.query("subtree") != "",
		Paging:  operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}}
	if state := v.query("state"); state != "" {
		d.Filter.States = []core.MemoryState{core.MemoryState(state)}
	}
	if kind := v.query("kind"); kind != "" {
		d.Filter.Kinds = []core.MemoryKind{core.MemoryKind(kind)}
	}
	if err := d.place(v); err != nil {
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
	limits, err := d.limits(v)
	if err != nil {
		return nil, err
	}
	var states []chart.GridState
	var names []core.MemoryState
	for _, s := range flowing {
		box := chart.State{Name: stateName(s.state), Class: s.class, URL: v.with("state", string(s.state), "page_token", "", "q", "")}
		if d.Counts != nil {
			box.Count = d.Counts.States[s.state]
		}
		switch {
		case s.state == core.StatePurged:
			d.purged(&box)
		case d.Query != "" && (s.state == core.StateConsolidated || s.state == core.StateArchived): // which a search doesn't find
		default:
			names = append(names, s.state)
		}
		states = append(states, chart.GridState{Col: s.col, Row: s.row, State: box})
	}
	d.States, d.Flow = choices(v, "state", "all", names), chart.Cycle("Memories by state", states, movesOf(moved, limits))
	for i := range d.States {
		d.States[i].Text = stateName(core.MemoryState(d.States[i].Text))
	}
	return &content{Title: "Memory", Data: d}, nil
}

// place loads the memories of the namespace that the address names, or of every namespace. A
// visitor who may not see every namespace gets the fullest one.
func (d *memoriesData) place(v *visit) error {
	if v.query("namespace") == "" && (d.Query != "" || v.caller.Reaches(core.EveryNamespace)) {
		whole := *d
		whole.Filter.Subtree = true
		err := whole.load(v)
		if sdk.ReasonOf(err) != host.TenantsApart {
			*d = whole
			return cmp.Or(err, d.everywhere(v))
		}
	}
	var err error
	d.Where, err = v.placed(func(namespace string) (bool, error) {
		d.Filter.Namespace = namespace
		err := d.load(v)
		return len(d.Items) > 0 || d.Found != nil && len(d.Found.Memories) > 0, err
	})
	return err
}

// everywhere names the namespaces on the page of all of them.
func (d *memoriesData) everywhere(v *visit) error {
	known, err := v.namespaces()
	d.Where = &places{}
	d.Where.name(v, known)
	return err
}

// purged completes the box of the purged memories. Nothing of them can be listed: it leads to
// their events or, for several namespaces, to the gate's decisions.
func (d *memoriesData) purged(box *chart.State) {
	box.URL = ""
	if d.Counts == nil || d.Counts.Purged == 0 {
		return
	}
	box.Count, box.More = d.Counts.Purged, d.Counts.PurgedMore
	box.URL = "/decisions?" + url.Values{"point": {string(policypoint.Gate)}, "outcome": {"verdict=" + policypoint.VerdictObsolete}}.Encode()
	if d.Filter.Namespace != "" && !d.Filter.Subtree {
		box.URL = "/audit/entries?" + url.Values{"stream": {journal.NamespaceStream(d.Filter.Namespace)}, "type": {"agent.memory.purged"}}.Encode()
	}
}

// limits are words for the moves that a limit of the score decides, with the limits of the page's
// namespace; none for a page of several namespaces.
func (d *memoriesData) limits(v *visit) (map[string]string, error) {
	if d.Filter.Namespace == "" || d.Filter.Subtree {
		return nil, nil
	}
	e, err := optional[governance.Explanation](v, "governance_explain", &operation.GovernanceExplain{Namespace: d.Filter.Namespace})
	if err != nil || e == nil || e.Failure != nil {
		return nil, err
	}
	numbers := map[string]float64{}
	for _, f := range e.Fields {
		if f.Value != nil {
			numbers[f.Field], _ = strconv.ParseFloat(f.Value.String(), 64) // a word isn't a limit
		}
	}
	active, revalidate := numbers["retention.active_threshold"], numbers["retention.revalidate_threshold"]
	return map[string]string{
		"cooled": "below " + quantity(active), "used again": "back at " + quantity(active+numbers["retention.hysteresis"]), "low score": "below " + quantity(revalidate),
	}, nil
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
		d.Items = []*core.Memory{}
		return d.recall(v)
	}
	found, err := call[operation.Memories](v, "memory_list", &d.Filter)
	if err != nil {
		return err
	}
	d.Memories = *found
	if d.NextPageToken != "" {
		d.Next = v.with("namespace", d.Filter.Namespace, "page_token", d.NextPageToken)
	}
	return nil
}

// recall searches the namespace of the page or, if it has none, all places that the visitor
// may see, as far as [maxPlaces] goes.
func (d *memoriesData) recall(v *visit) error {
	places := []core.RecallFilter{{Namespace: d.Filter.Namespace, Subtree: d.Filter.Subtree}}
	if d.Filter.Namespace == "" {
		var err error
		if places, err = placesOf(v); err != nil {
			return err
		}
	}
	d.Found = &operation.Recalled{RecallResult: &core.RecallResult{Memories: []core.Recalled{}, NothingRelevant: true}}
	for _, at := range places[:min(len(places), maxPlaces)] {
		at.States, at.Kinds = d.Filter.States, d.Filter.Kinds
		found, err := call[operation.Recalled](v, "memory_recall", &core.RecallRequest{Query: d.Query, Limit: memory.MaxRecall, RecallFilter: at})
		if err != nil {
			return err
		}
		d.Found.Memories = append(d.Found.Memories, found.Memories...)
		d.Found.NothingRelevant = d.Found.NothingRelevant && found.NothingRelevant
		d.Found.EmbeddingFailure = cmp.Or(d.Found.EmbeddingFailure, found.EmbeddingFailure)
	}
	slices.SortStableFunc(d.Found.Memories, func(a, b core.Recalled) int { return cmp.Compare(b.Score, a.Score) })
	d.Found.Memories = d.Found.Memories[:min(len(d.Found.Memories), memory.MaxRecall)]
	return nil
}

// stateName is a state's name, short enough for its box.
func stateName(s core.MemoryState) string {
	if s == core.StateRevalidatePending {
		return "at the gate"
	}
	return string(s)
}
