package web

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
)

// maxEvents is how many events the page of a run reads: the newest ones.
const maxEvents = 200

// shownEvents is how many it lists at once.
const shownEvents = 25

// eventRow is an event as a line: the seconds since the first event, its type and its
// facts.
type eventRow struct {
	Seq   uint64
	After string
	Type  string
	Facts string
}

// events adds the newest events and the timeline that they make.
func (d *runData) events(v *visit) error {
	found, err := optional[operation.StreamEntries](v, "audit_entries", &operation.AuditEntries{
		Stream: "run/" + d.Run.RunID, Paging: operation.Paging{Limit: maxEvents, PageToken: v.query("events")},
	})
	if err != nil || found == nil {
		return err
	}
	if found.NextPageToken != "" {
		d.OlderEvents = v.with("events", found.NextPageToken) + "#events"
	}
	start := d.Run.StartedAt
	if spans := spansOf(found.Items, d); len(spans) > 0 {
		c := chart.Timeline("Timeline", spans)
		c.Key = []chart.Meaning{{Text: "generate", Class: chart.Accent}, {Text: "correct", Class: chart.Info}, {Text: "not accepted", Class: chart.Bad}, {Text: "accepted", Class: chart.OK}, {Text: "other steps", Class: chart.Mute}}
		d.Timeline = &c
	}
	// If there are many events, the last ones are listed, since they show how the run
	// ended.
	rows := found.Items
	if v.query("events") == "" && v.query("all") == "" && len(rows) > shownEvents {
		rows = rows[len(rows)-shownEvents:]
		d.OlderEvents = v.with("all", "events") + "#events"
	}
	for _, e := range rows {
		d.Facts = append(d.Facts, eventRow{e.Seq, fmt.Sprintf("%.3f", e.At.Sub(start).Seconds()), e.Type, factsOf(e.Data)})
	}
	found.Items = rows
	d.Events = found
	return nil
}

// spansOf are the steps between events: generating until an output was recorded, and
// judging until its verdict.
func spansOf(events []journal.Entry, d *runData) (spans []chart.Span) {
	last := 0.0
	for i := range events {
		e := &events[i]
		now := e.At.Sub(d.Run.StartedAt).Seconds()
		var f struct {
			Visit     int     `json:"visit"`
			Node      string  `json:"node"`
			Iteration int     `json:"iteration"`
			Role      string  `json:"role"`
			Score     float64 `json:"score"`
			Accepted  bool    `json:"accepted"`
			Skipped   bool    `json:"skipped"`
		}
		_ = json.Unmarshal(e.Data, &f) // every event of a run is an object
		s := chart.Span{Group: fmt.Sprint(f.Iteration), From: last, To: now}
		switch e.Type {
		case "output_recorded":
			s.Name, s.Class, s.Label = f.Role, chart.Accent, f.Node
			if n := d.tokens[[2]int{f.Visit, f.Iteration}]; n > 0 {
				s.Label += fmt.Sprintf(" · %s tokens", count(n))
			}
			if f.Role == "correct" {
				s.Class = chart.Info
			}
		case "verdict_recorded":
			s.Name, s.Class, s.Label = "evaluate", chart.Bad, "score "+score(f.Score)
			if f.Accepted {
				s.Class = chart.OK
			}
		case "visit_recorded":
			s.Group, s.Name, s.Class, s.Label = "", f.Node, chart.Mute, "node done"
			if f.Skipped {
				s.Label = "skipped"
			}
		}
		if s.Name != "" && now-last >= 0 && (e.Type != "visit_recorded" || now-last > 0.001) {
			spans = append(spans, s)
		}
		last = now
	}
	return spans
}

// factsOf are the members of an event on a line. Digests are shortened, and lists of objects counted.
func factsOf(data json.RawMessage) string {
	var facts []string
	for _, m := range jsontext.Members(data) {
		value := string(m.Value)
		var text string
		if json.Unmarshal(m.Value, &text) == nil {
			value = text
		}
		var list []map[string]any
		if json.Unmarshal(m.Value, &list) == nil && list != nil {
			value = fmt.Sprint(len(list))
		}
		if digest, is := strings.CutPrefix(strings.TrimPrefix(value, "hmac-"), "sha256:"); is {
			value = line(digest, 8)
		}
		facts = append(facts, strings.ReplaceAll(m.Key, "_", " ")+" "+line(value, 80))
	}
	return line(strings.Join(facts, ", "), 400)
}
