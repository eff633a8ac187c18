package chart_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
)

// TestCycle_HasMovesThereAndBack in its picture, its text and its table.
func TestCycle_HasMovesThereAndBack(t *testing.T) {
	place := func(name string, col, row int) chart.GridState {
		return chart.GridState{State: chart.State{Name: name, Count: 7, Class: chart.OK, URL: "/at?a=1&b=2"}, Col: col, Row: row}
	}
	c := chart.Cycle("States", []chart.GridState{place("one", 0, 0), place("two", 1, 0), place("<three>", 2, 0), place("below", 1, 1)}, []chart.Move{
		{From: "one", To: "two", Text: "used", Count: 21}, {From: "two", To: "one", Text: "back", Count: 5}, {From: "one", To: "<three>", Text: "far"},
		{From: "<three>", To: "one", Text: "kept"}, {From: "two", To: "below", Text: "put away"}, {From: "below", To: "two", Text: "undone", Count: 1, Rare: true},
		{From: "one", To: "nowhere", Text: "lost"},
	})
	if want := "States: 7 one, 7 two, 7 <three>, 7 below; moved: 21 used, from one to two, 5 back, from two to one, 1 undone, from below to two"; c.Text != want {
		t.Errorf("%q\nwant %q", c.Text, want)
	}
	if len(c.Rows) != 11 || c.Rows[5][0] != "two → one: back" || c.Rows[5][2] != "5" {
		t.Errorf("%q", c.Rows)
	}
	lines, d := 0, xml.NewDecoder(strings.NewReader(string(c.SVG)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, is := token.(xml.StartElement); is && e.Name.Local == "path" && strings.HasPrefix(e.Attr[0].Value, "edge") {
			lines++
		}
	}
	if lines != 6 {
		t.Errorf("%d lines in %s", lines, c.SVG)
	}
	for _, want := range []string{"21 used", "5 back", "undone", "edge dash hot"} {
		if !strings.Contains(string(c.SVG), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}
