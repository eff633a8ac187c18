package chart_test

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
)

// elements counts the elements of a picture by their classes, and fails for a picture that isn't
// XML.
func elements(t *testing.T, c chart.Chart) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(string(c.SVG))); ; {
		token, err := d.Token()
		if err == io.EOF {
			return counts
		}
		if err != nil {
			t.Fatalf("%v: %s", err, c.SVG)
		}
		if e, is := token.(xml.StartElement); is {
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					counts[a.Value]++
				}
			}
		}
	}
}

// TestLevels_HaveTheirLimits in the picture, the text and the table; numbers outside of 0 to 1 and
// names with markup don't break it.
func TestLevels_HaveTheirLimits(t *testing.T) {
	c := chart.Levels("Evidence", []chart.Level{
		{Name: "utility", Value: .876, Class: chart.Accent, Note: "the sum", Limits: []chart.Limit{{Op: "≥", Value: .78, Met: true}, {Op: "≤", Value: .32}}},
		{Name: "<b>", Value: math.NaN(), Class: chart.Accent}, {Name: "much", Value: 7, Class: chart.Accent},
	})
	if want := "Evidence: utility .88 against ≥ .78 (holds), ≤ .32 (doesn’t hold); <b> .00; much 7.00"; c.Text != want {
		t.Errorf("%q\nwant %q", c.Text, want)
	}
	if n := elements(t, c); n["thr"] != 2 || n["f-accent"] != 2 || n["f-mutesoft"] != 3 {
		t.Errorf("%v in %s", n, c.SVG)
	}
	if len(c.Rows) != 3 || strings.Join(c.Rows[0], "|") != "utility|.88|≥ .78 (holds), ≤ .32 (doesn’t hold)|the sum" {
		t.Errorf("%q", c.Rows)
	}
	for _, want := range []string{">≥ .78<", ">≤ .32<"} {
		if !strings.Contains(string(c.SVG), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}

// TestScore_IsOverItsBands, whatever its values and however many there are.
func TestScore_IsOverItsBands(t *testing.T) {
	bands := []chart.Band{{Name: "active", Class: chart.OK, From: .35}, {Name: "cooling", Class: chart.Warn, From: .15}}
	for _, c := range []struct {
		points []chart.Turned
		text   string
		marks  int
	}{
		{nil, "Score: no turn has counted yet; active from .35; cooling from .15", 0},
		{[]chart.Turned{{7, .5}}, "Score: .50 at turn 7, .50 at turn 7; active from .35; cooling from .15", 1},
		{[]chart.Turned{{1, -.25}, {9, math.Inf(1)}, {12, .74}}, "Score: −.25 at turn 1, .74 at turn 12; active from .35; cooling from .15", 3},
		{make([]chart.Turned, 60), "Score: .00 at turn 0, .00 at turn 0; active from .35; cooling from .15", 1},
	} {
		got := chart.Score("Score", c.points, bands)
		if got.Text != c.text || len(got.Rows) != len(c.points)+2 {
			t.Errorf("%q, %d rows\nwant %q", got.Text, len(got.Rows), c.text)
		}
		if n := elements(t, got); n["f-accent"] != c.marks || n["f-oksoft"] != 1 || n["f-warnsoft"] != 1 || n["thr"] != 2 {
			t.Errorf("%q: %v in %s", c.text, n, got.SVG)
		}
		if strings.Contains(string(got.SVG), "NaN") || strings.Contains(string(got.SVG), `height="-`) {
			t.Errorf("%q: %s", c.text, got.SVG)
		}
	}
}

// TestLevels_ShowWholeNames, of the longest term too.
func TestLevels_ShowWholeNames(t *testing.T) {
	for _, limits := range [][]chart.Limit{nil, {{Op: "≥", Value: .1}}} {
		c := chart.Levels("Evidence", []chart.Level{{Name: "how sure the decision is", Value: .5, Class: chart.Accent, Limits: limits}})
		if !strings.Contains(string(c.SVG), ">how sure the decision is<") {
			t.Errorf("%s", c.SVG)
		}
	}
}

// TestTimeline_LabelsDontCoverNames: a label is next to its bar where there is room, and otherwise on it.
func TestTimeline_LabelsDontCoverNames(t *testing.T) {
	for name, c := range map[string]struct {
		from, to float64
		label    string
		want     string
	}{
		"a short bar at the start":  {0, .1, "done", `class="" x="177.8" y="42" text-anchor="start"`},
		"a long bar from the start": {0, .95, "done", `class="strong" x="789.1" y="42" text-anchor="end"`},
		"the whole":                 {0, 1, "done", `class="strong" x="826" y="42" text-anchor="end"`},
		"a long bar a bit later":    {.02, 1, "a label of some length", `class="strong" x="826" y="42" text-anchor="end"`},
		"a short bar at the end":    {.9, 1, "done", `class="" x="752.2" y="42" text-anchor="end"`},
		"in the middle":             {.4, .5, "done", `class="" x="473" y="42" text-anchor="start"`},
		"a point at the end":        {1, 1, "done", `class="" x="826" y="42" text-anchor="end"`},
		"a long bar from a third":   {.33, 1, "done", `class="" x="331.5" y="42" text-anchor="end"`},
	} {
		got := string(chart.Timeline("Steps", []chart.Span{{Name: "lessons", From: c.from, To: c.to, Label: c.label, Class: chart.Mute}, {Name: "end", From: 1, To: 1}}).SVG)
		if !strings.Contains(got, "<text "+c.want+">"+c.label) {
			t.Errorf("%s: no %s in %s", name, c.want, got)
		}
	}
}

// TestInterval_HasItsEnds in the picture, the text and the table; numbers that can't be drawn don't break it.
func TestInterval_HasItsEnds(t *testing.T) {
	c := chart.Interval("Difference", .61, .2, .98, chart.OK)
	if want := "Difference: +61 of 100, between +20 and +98"; c.Text != want {
		t.Errorf("%q\nwant %q", c.Text, want)
	}
	if n := elements(t, c); n["f-ok"] != 1 || n["f-ink"] != 1 || n["thr"] != 1 || len(c.Rows) != 3 {
		t.Errorf("%v in %s, %q", n, c.SVG, c.Rows)
	}
	if c := chart.Interval("<b>", math.NaN(), -7, -.001, chart.Mute); c.Text != "<b>: 0 of 100, between −700 and 0" || elements(t, c)["f-mute"] != 1 {
		t.Errorf("%q %s", c.Text, c.SVG)
	}
}
