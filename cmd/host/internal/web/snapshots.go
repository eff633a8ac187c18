package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
)

// snapshotPages are the pages of the prompts of turns.
func snapshotPages() []page {
	return []page{
		{path: "/snapshots", template: "snapshots.html", nav: "/snapshots", load: loadSnapshots},
		{path: "/snapshots/{id}", template: "snapshot.html", nav: "/snapshots", load: loadSnapshot},
		{path: "/snapshots/{id}/diff", template: "snapshot_diff.html", nav: "/snapshots", load: loadSnapshotDiff},
	}
}

func snapshotTexts() []text {
	return []text{
		{path: "/snapshots/{id}/prompt", load: func(v *visit) (string, error) {
			s, err := v.snapshot(v.PathValue("id"))
			if err != nil {
				return "", err
			}
			return s.Prompt(), nil
		}},
		{path: "/snapshots/{id}/record", load: func(v *visit) (string, error) {
			s, err := v.snapshot(v.PathValue("id"))
			if err != nil {
				return "", err
			}
			whole, err := jsontext.Print(s)
			return string(whole), err
		}},
	}
}

// snapshot is a snapshot that the address names.
func (v *visit) snapshot(id string) (*inject.Snapshot, error) {
	return call[inject.Snapshot](v, "snapshot_get", &operation.SnapshotGet{ID: id})
}

func snapshotURL(id string) string { return "/snapshots/" + url.PathEscape(id) }

// categoryClasses are the colours of categories, by their rank.
var categoryClasses = map[inject.Category]string{
	inject.Safety: chart.Bad, inject.PolicyText: chart.Warn, inject.SessionInjection: chart.Info, inject.MemoryRecall: chart.Accent,
	inject.Knowledge: chart.Violet, inject.Workflow: chart.OK, inject.Tooling: chart.Mute, inject.Reflection: chart.Ink,
}

// categoryTag is a category as a tag.
func categoryTag(c inject.Category) tag {
	class := categoryClasses[c]
	if class == chart.Mute || class == chart.Ink {
		class = ""
	}
	return tag{Text: categoryName(c), Class: class}
}

func categoryName(c inject.Category) string {
	return line(strings.ReplaceAll(string(c), "_", " "), 40)
}

// snapshotsData is a page of the list of snapshots.
type snapshotsData struct {
	operation.Page[*inject.Snapshot]
	Filter operation.SnapshotList `json:"filter"`
	Rows   []snapshotRow          `json:"-"`
	Chars  *chart.Chart           `json:"-"`
	Where  *places                `json:"-"`
	Next   string                 `json:"-"`
}

// snapshotRow is a snapshot in the list.
type snapshotRow struct {
	*inject.Snapshot
	Budget allowance
	Prefix tag
	// Session leads to the snapshots of its session.
	Session string
}

// allowance is a limit of the turn, and how much of it the snapshot uses.
type allowance struct {
	Used, Most int
	Unit       string
}

func budgetOf(s *inject.Snapshot) allowance {
	if p := &s.PolicyApplied; p.MaxChars == 0 && s.TokensInjected != nil {
		return allowance{*s.TokensInjected, p.MaxTokens, "tokens"}
	}
	return allowance{s.CharsInjected, s.PolicyApplied.MaxChars, "characters"}
}

// prefixTag shows whether the prefix that a model's provider caches was reused.
func prefixTag(p inject.Prefix) tag {
	switch {
	case p.Chars == 0:
		return tag{Text: "none"}
	case p.Reused:
		return tag{Text: "reused", Class: "ok"}
	}
	return tag{Text: "new", Class: "warn"}
}

func loadSnapshots(v *visit) (*content, error) {
	d := &snapshotsData{Filter: operation.SnapshotList{
		Session: v.query("session"), Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}}
	var err error
	d.Where, err = v.placed(func(namespace string) (bool, error) {
		d.Filter.Namespace = namespace
		found, err := call[operation.Page[*inject.Snapshot]](v, "snapshot_list", &d.Filter)
		if err != nil {
			return false, err
		}
		d.Page = *found
		return len(d.Items) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range d.Items {
		d.Rows = append(d.Rows, snapshotRow{s, budgetOf(s), prefixTag(s.Prefix), v.with("namespace", d.Filter.Namespace, "session", s.SessionID, "page_token", "")})
	}
	if d.Filter.Session != "" {
		d.Chars = turnsChart(d.Items)
	}
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return &content{Title: "Snapshots", Data: d}, nil
}

// turnsChart draws the prompts of a session's turns, by category; nil for fewer than two
// turns.
func turnsChart(list []*inject.Snapshot) *chart.Chart {
	if len(list) < 2 {
		return nil
	}
	var series []chart.Series
	for _, c := range inject.Categories() {
		series = append(series, chart.Series{Name: categoryName(c), Class: categoryClasses[c]})
	}
	var bars []chart.Bar
	for i, s := range list {
		bar := chart.Bar{Name: "turn " + strconv.FormatInt(s.TurnID, 10), Counts: make([]int64, len(series))}
		if i%max(len(list)/12, 1) == 0 {
			bar.Label = strconv.FormatInt(s.TurnID, 10)
		}
		for j := range s.BlocksUsed {
			u := &s.BlocksUsed[j]
			if at := slices.Index(inject.Categories(), u.Category); at >= 0 {
				bar.Counts[at] += int64(u.Chars)
			}
		}
		bars = append(bars, bar)
	}
	c := chart.Bars("Characters by turn and category", series, bars)
	return &c
}

// snapshotData is one snapshot.
type snapshotData struct {
	*inject.Snapshot
	Verified bool           `json:"verified"`
	Replayed *inject.Replay `json:"replayed,omitempty"`
	Budget   allowance      `json:"-"`
	Prefixed tag            `json:"-"`
	Blocks   []shownBlock   `json:"-"`
	Drops    []shownDrop    `json:"-"`
	// Shares are the characters of each category, and Chars their chart.
	Shares  []categoryShare `json:"-"`
	Chars   *chart.Chart    `json:"-"`
	Replay  string          `json:"-"`
	Session string          `json:"-"`
}

// shownBlock is a block in the prompt.
type shownBlock struct {
	*inject.Used
	Number   int
	Category tag
	// Trust shows who wrote the text, and Cut how long the block was.
	Trust tag
	Cut   *inject.Truncated
	Text  *longText
	// PrefixEnds is whether the cached prefix ends with it.
	PrefixEnds bool
}

// shownDrop is a block that isn't in the prompt.
type shownDrop struct {
	inject.Dropped
	Category tag
	Why      string
}

// categoryShare is how much of the prompt a category has.
type categoryShare struct {
	Name          string
	Blocks, Chars int
	// Cap is its limit; -1 if it has none.
	Cap int
}

func loadSnapshot(v *visit) (*content, error) {
	s, err := v.snapshot(v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := &snapshotData{
		Snapshot: s, Verified: s.Verified(), Budget: budgetOf(s), Prefixed: prefixTag(s.Prefix), Replay: v.with("replay", "1") + "#replay",
		Session: "/snapshots?" + url.Values{"namespace": {s.Namespace}, "session": {s.SessionID}}.Encode(),
	}
	d.blocks(v)
	for _, one := range s.DroppedBlocks {
		d.Drops = append(d.Drops, shownDrop{one, categoryTag(one.Category), dropText(one.Reason)})
	}
	d.shares()
	if v.query("replay") != "" {
		if d.Replayed, err = call[inject.Replay](v, "snapshot_replay", &operation.SnapshotReplay{ID: s.SnapshotID}); err != nil {
			return nil, err
		}
	}
	return &content{
		Title: "Turn " + strconv.FormatInt(s.TurnID, 10), Crumbs: []crumb{{"Snapshots", "/snapshots"}, {line(s.SessionID, 30), d.Session}}, Data: d,
	}, nil
}

// blocks adds the blocks in the order of the prompt.
func (d *snapshotData) blocks(v *visit) {
	chars := 0
	for i := range d.BlocksUsed {
		u := &d.BlocksUsed[i]
		b := shownBlock{Used: u, Number: i + 1, Category: categoryTag(u.Category), Trust: trustOf(u)}
		if at := slices.IndexFunc(d.TruncatedBlocks, func(t inject.Truncated) bool { return t.BlockID == u.BlockID }); at >= 0 {
			b.Cut = &d.TruncatedBlocks[at]
		}
		b.Text = v.long(u.Payload, snapshotURL(d.SnapshotID)+"/prompt")
		chars += u.Chars
		b.PrefixEnds = d.Prefix.Chars > 0 && chars == d.Prefix.Chars && u.Chars > 0
		d.Blocks = append(d.Blocks, b)
	}
}

// trustOf shows who wrote a block's text: only the operator and the host make anchors,
// and recalled text is data.
func trustOf(u *inject.Used) tag {
	switch {
	case u.Anchor:
		return tag{Text: "never cut or dropped: the operator’s or the host’s (anchor)", Class: "ok"}
	case u.MemoryID != "" || u.Category == inject.MemoryRecall:
		return tag{Text: "data: escaped, no instruction", Class: "warn"}
	}
	return tag{Text: "the caller’s or the host’s"}
}

// dropText is the reason why a block isn't in the prompt.
func dropText(r inject.Reason) string {
	if id, is := strings.CutPrefix(string(r), string(inject.DuplicateOf)); is {
		return "it is the same as " + line(id, 80)
	}
	switch r {
	case inject.CategoryDisabled:
		return "its category is turned off"
	case inject.Expired:
		return "it held for fewer turns"
	case inject.OverCap:
		return "its category was full"
	case inject.OverMaxBlocks:
		return "there were enough blocks"
	case inject.OverBudget:
		return "there was no room left"
	}
	return line(string(r), 80)
}

// shares adds how much of the prompt each category has.
func (d *snapshotData) shares() {
	var bars []chart.Bar
	for _, c := range inject.Categories() {
		share := categoryShare{Name: categoryName(c), Cap: -1}
		for i := range d.BlocksUsed {
			if d.BlocksUsed[i].Category == c {
				share.Blocks++
				share.Chars += d.BlocksUsed[i].Chars
			}
		}
		most, capped := d.PolicyApplied.CategoryCap[c]
		if capped {
			share.Cap = most
		}
		if share.Blocks > 0 || capped {
			d.Shares = append(d.Shares, share)
			bars = append(bars, chart.Bar{Name: share.Name, Label: share.Name, Counts: []int64{int64(share.Chars)}})
		}
	}
	if len(bars) > 1 {
		c := chart.Bars("Characters by category", []chart.Series{{Name: "characters", Class: chart.Accent}}, bars)
		d.Chars = &c
	}
}
