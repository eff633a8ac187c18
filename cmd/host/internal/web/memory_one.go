package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
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
)

// memoryData is one memory. For a purged memory there is only the explanation.
type memoryData struct {
	*memory.Explanation
	Content *longText       `json:"content,omitempty"`
	Lineage *memory.Lineage `json:"lineage,omitempty"`
	// Life are the events that changed it.
	Life []lifeStep `json:"life"`
	// Turns are the newest turns that offered it and had their feedback.
	Turns []offeredIn `json:"turns"`
	// Governance is the page of its namespace's weights and thresholds.
	Governance string   `json:"governance"`
	Reasons    []reason `json:"-"`
	// Course is its score by turn, and Score are the terms of which it is made.
	Score  []scoreTerm  `json:"-"`
	Course *chart.Chart `json:"-"`
	// Helps is whether it helps, in a word, and Difference the difference that it makes; nil where no trial shows it.
	Helps      tag          `json:"-"`
	Difference *chart.Chart `json:"-"`
	Graph      chart.Chart  `json:"-"`
	// MayRestore and MayGate are what the caller may do with it.
	MayRestore bool `json:"-"`
	MayGate    bool `json:"-"`
}

// reason is a line of the explanation, with the time that it names, if it names one.
type reason struct {
	Before string
	At     time.Time
	After  string
}

// timeIn finds a time in a line of an explanation.
var timeIn = core.Pattern(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// reasonsOf are the lines of an explanation, with the page's words and times.
func reasonsOf(why []string) (list []reason) {
	for _, text := range why {
		one := reason{Before: operation.InWords(text)}
		if at := timeIn().FindStringIndex(one.Before); at != nil {
			if t, err := time.Parse(time.RFC3339, one.Before[at[0]:at[1]]); err == nil {
				one = reason{one.Before[:at[0]], t, one.Before[at[1]:]}
			}
		}
		list = append(list, one)
	}
	return list
}

// scoreTerm is a part of a score: its weight without a sign, and how much it adds.
type scoreTerm struct {
	Name, Weight, Value, Adds string
	// Less is whether it lowers the score.
	Less bool
}

// termNames are the terms of a score in words.
var termNames = map[string]string{"hit_rate": "hits", "utility": "utility", "miss_streak": "misses in a row", "idle_turns": "turns idle"}

func termOf(t memory.ScoreTerm) scoreTerm {
	return scoreTerm{
		Name: cmp.Or(termNames[t.Name], words(t.Name)), Weight: quantity(math.Abs(t.Weight)), Value: quantity(t.Value),
		Adds: signed(t.Weight * t.Value), Less: t.Weight*t.Value < 0,
	}
}

// maxCourse is how many turns the chart of a score shows: the newest.
const maxCourse = 100

// stateChart draws a memory's score at the turns that recalled it, from its history, and now, over
// the thresholds of its namespace.
func stateChart(e *memory.Explanation) *chart.Chart {
	if e.Memory == nil || e.Thresholds == nil {
		return nil
	}
	var points []chart.Turned
	for i := range e.History {
		turn, is := journal.As[journal.EvolutionApplied](&e.History[i])
		if !is {
			continue
		}
		for _, item := range turn.Items {
			if item.ID == e.ID && (len(points) == 0 || turn.Turn >= points[len(points)-1].Turn) {
				points = append(points, chart.Turned{Turn: turn.Turn, Value: item.TTLScore})
			}
		}
	}
	// A sweep, or the gate, gives it a score without a turn.
	if now := e.Memory.Signals.TTLScore; len(points) > 0 && points[len(points)-1].Value != now {
		points = append(points, chart.Turned{Turn: e.Turn, Value: now})
	}
	c := chart.Score("Retention score by turn", points[max(0, len(points)-maxCourse):], []chart.Band{
		{Name: "active", Class: chart.OK, From: e.Thresholds.Active}, {Name: "cooling", Class: chart.Warn, From: e.Thresholds.Revalidate},
	})
	return &c
}

// helpTags are the answers to whether a memory helps.
var helpTags = map[string]tag{
	memory.HelpShown: {Text: "helps", Class: "ok"}, memory.HelpNone: {Text: "doesn’t help", Class: "warn"}, memory.HelpUnknown: {Text: "can’t tell yet"},
}

// lifeStep is an event in a memory's life.
type lifeStep struct {
	journal.Entry
	Text  string `json:"text"`
	Class string `json:"-"`
	// Note describes it further.
	Note string `json:"note,omitempty"`
	// Decision is the decision that caused it, with its page.
	Decision string `json:"decision,omitempty"`
	// Knowledge is the entry that it became; "" if this isn't its promotion.
	Knowledge string `json:"knowledge,omitempty"`
	// Dream is the page of the step of a pass that caused it; "" if none did.
	Dream string `json:"dream,omitempty"`
}

func loadMemory(v *visit) (*content, error) {
	e, err := call[memory.Explanation](v, "memory_explain", &operation.MemoryExplain{ID: v.PathValue("id")})
	if err != nil {
		return nil, err
	}
	d := &memoryData{Explanation: e, Governance: "/settings/governance?namespace=" + url.QueryEscape(e.Namespace), Life: lifeOf(e.History), Turns: turnsOf(e.ID, e.History)}
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
		d.Score = append(d.Score, termOf(t))
	}
	d.Reasons, d.Course = reasonsOf(e.Why), stateChart(e)
	if e.Help != nil {
		d.Helps = helpTags[e.Help.Answer]
	}
	if e.Effect != nil {
		c := chart.Interval("Turns that succeed with it, less those without it", e.Effect.Estimate, e.Effect.Low, e.Effect.High, cmp.Or(d.Helps.Class, chart.Mute))
		d.Difference = &c
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

// offeredIn is a turn that offered a memory.
type offeredIn struct {
	Session string       `json:"session"`
	Turn    int64        `json:"turn"`
	Outcome core.Outcome `json:"outcome"`
	Used    bool         `json:"used"`
	At      time.Time    `json:"at"`
}

// turnsOf are the newest turns in a memory's history, up to maxOfferedIn, the newest first.
func turnsOf(id string, history []journal.Entry) []offeredIn {
	const maxOfferedIn = 10
	turns := []offeredIn{}
	for i := len(history) - 1; i >= 0 && len(turns) < maxOfferedIn; i-- {
		turn, is := journal.As[journal.EvolutionApplied](&history[i])
		if !is || slices.ContainsFunc(turns, func(newer offeredIn) bool { return newer.Session == turn.SessionID && newer.Turn == turn.TurnID }) {
			continue
		}
		for _, item := range turn.Items {
			if item.ID == id {
				turns = append(turns, offeredIn{turn.SessionID, turn.TurnID, turn.Outcome, item.Used, history[i].At})
			}
		}
	}
	return turns
}

// leftOut are the events that a life doesn't show: recalls and feedback of single turns, which the
// chart of its score shows, and that the gate was asked, which its decision shows.
var leftOut = []string{"agent.memory.recalled", "agent.memory.evolution.applied", "agent.memory.revalidate.started"}

// lifeOf are the events of a memory's life.
func lifeOf(history []journal.Entry) []lifeStep {
	steps := []lifeStep{}
	for i := range history {
		entry := &history[i]
		if slices.Contains(leftOut, entry.Type) {
			continue
		}
		step := lifeStep{Entry: *entry, Text: strings.NewReplacer("agent.memory.", "", ".", " ", "_", " ").Replace(entry.Type)}
		if made, ok := journal.As[journal.MemoryReflected](entry); ok {
			step.Text, step.Note, step.Class = fmt.Sprintf("derived from %d memories", len(made.SourceIDs)), fmt.Sprintf("depth %d", made.Depth), "info"
			if len(made.SourceIDs) == 1 {
				step.Text = "derived from another memory"
			}
		}
		if made, ok := journal.As[journal.RevalidateDecision](entry); ok {
			step.Text, step.Class, step.Decision = "gate: "+made.Verdict, tags[made.Verdict], made.DecisionID
			step.Note = "confidence " + score(made.Confidence)
		}
		if made, ok := journal.As[journal.MemoryPromoted](entry); ok {
			step.Text, step.Class, step.Knowledge = "became knowledge", tags[string(core.StatePromoted)], made.KnowledgeID
		}
		if made, ok := journal.As[journal.KnowledgeDemoted](entry); ok {
			step.Text, step.Class, step.Knowledge = "no longer knowledge", "warn", made.KnowledgeID
		}
		if moved, ok := journal.As[journal.MemoryTransitioned](entry); ok {
			step.Text = fmt.Sprintf("%s → %s", moved.Before, moved.After)
			step.Class = tags[string(moved.After)]
			step.Note = fmt.Sprintf("retention score %s, by %s", score(moved.TTLScore), words(moved.Cause))
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
		text = "link undone"
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
		s.Text += ", undone"
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
	explained, err := call[gate.Explanation](v, "gate_explain", &operation.GateExplain{ID: id, Now: true})
	if err != nil {
		return nil, err
	}
	return &question{
		Title: "Have the gate decide?", Crumbs: []crumb{{"Memory", "/memory"}, {short(id), memoryURL(id)}},
		Text:   fmt.Sprintf("With what is known now, the gate would decide: %s, with a confidence of %.2f. A purge can’t be undone.", explained.Decision.Verdict, explained.Decision.Confidence),
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
