package gate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

func TestAnOutcomeCountsOnce(t *testing.T) {
	onEngines(t, func(t *testing.T, d *desk) {
		first := tool(1, false, false, "log:1")
		if got := d.tools(first); got != (gate.ToolsRecorded{Recorded: 1}) {
			t.Errorf("the first: %+v", got)
		}
		changed := first
		changed.OK, changed.Recovered = true, true // the first one stands
		other := map[string]core.ToolOutcome{"memory": first, "session": first, "turn": first, "tool": first, "ref": first}
		for field, o := range other {
			switch field {
			case "memory":
				o.MemoryID = "n"
			case "session":
				o.Session = "s2"
			case "turn":
				o.Turn++
			case "tool":
				o.Tool = "sed"
			case "ref":
				o.Ref = "log:2"
			}
			if got := d.tools(first, changed, o, o); got != (gate.ToolsRecorded{Recorded: 1, Duplicates: 3}) {
				t.Errorf("another %s: %+v", field, got)
			}
		}
		n := d.decide(says{Verdict: policypoint.VerdictRetain}, &verdict.GateCase{Memory: memory(core.Signals{})}).Numbers
		if n.ToolFailures != 5 || n.RecoverySuccess != 0 {
			t.Errorf("failures %d, recoveries %d", n.ToolFailures, n.RecoverySuccess)
		}
		types := map[string]int{}
		for _, e := range d.entries("namespace/team/a") {
			types[e.Type]++
		}
		if types["agent.evidence.tool_recorded"] != 6 || types["agent.evidence.tool_used"] != 6 {
			t.Errorf("events: %v", types)
		}
	})
}

func TestToolAndRefDontRunTogether(t *testing.T) {
	d := newMem(t)
	a, b := tool(1, true, false, "b c"), tool(1, true, false, "c")
	a.Tool, b.Tool = "a", "a b"
	if got := d.tools(a, b); got.Recorded != 2 {
		t.Errorf("%+v", got)
	}
}

// TestEventsOfToolsHoldNoContent also checks the events' form.
func TestEventsOfToolsHoldNoContent(t *testing.T) {
	d := newMem(t)
	far := tool(2, true, true, "secret-ref")
	far.MemoryID, far.Tool = "x", "secret-tool"
	d.tools(tool(1, false, false, "secret-ref"), far)
	for stream, want := range map[string]string{
		"namespace/team/a": `{"memory_id":"m","session_id":"s","turn_id":1,"ok":false,"recovered":false,"outcome":"` + core.Digest([]byte(`["grep","secret-ref"]`)) + `"}`,
		"namespace/team/b": `{"memory_id":"x","session_id":"s","turn_id":2,"ok":true,"recovered":true,"outcome":"` + core.Digest([]byte(`["secret-tool","secret-ref"]`)) + `"}`,
	} {
		events := d.entries(stream)
		if len(events) != 2 || events[0].Type != "agent.evidence.tool_recorded" || string(events[0].Data) != want {
			t.Fatalf("%s: %+v, want %s", stream, events, want)
		}
		want, _, _ = strings.Cut(want, `"ok"`)
		if want += `"used":true}`; events[1].Type != "agent.evidence.tool_used" || string(events[1].Data) != want {
			t.Errorf("%s: %s %s, want %s", stream, events[1].Type, events[1].Data, want)
		}
	}
}

func TestEvidenceOfAMissingMemoryIsRefused(t *testing.T) {
	d := newMem(t)
	gone := tool(1, true, false, "")
	gone.MemoryID = "gone"
	done, err := d.RecordTools(t.Context(), []core.ToolOutcome{tool(1, true, false, ""), gone})
	if sdk.ReasonOf(err) != "memory_not_found" || done != (gate.ToolsRecorded{}) {
		t.Errorf("%+v, error %v", done, err)
	}
	if len(d.entries("namespace/team/a")) != 0 {
		t.Error("the others of its transaction were recorded")
	}
}

// TestManyOutcomes crosses the bounds of a transaction and of a call.
func TestManyOutcomes(t *testing.T) {
	d := newPebble(t)
	var list []core.ToolOutcome
	for turn := range int64(1001) {
		list = append(list, tool(turn, true, false, fmt.Sprint("log:", turn)))
	}
	if got := d.tools(list...); got.Recorded != 1001 {
		t.Errorf("%+v", got)
	}
	if got := d.tools(list...); got != (gate.ToolsRecorded{Duplicates: 1001}) {
		t.Errorf("again: %+v", got)
	}
	refs := d.decide(says{Verdict: policypoint.VerdictRetain}, &verdict.GateCase{Memory: memory(core.Signals{Successes: 1})}).ReactRefs
	if len(refs) != 20 || refs[0] != "log:1000" || refs[19] != "log:981" {
		t.Errorf("the newest references are %v", refs)
	}
	_, err := d.RecordTools(t.Context(), make([]core.ToolOutcome, gate.MaxToolOutcomes+1))
	if sdk.ReasonOf(err) != "evidence_invalid" || !strings.Contains(err.Error(), "10001 tool outcomes at once (limit 10000)") {
		t.Errorf("too many: %v", err)
	}
}

func TestToolOutcomesAreChecked(t *testing.T) {
	long := strings.Repeat("x", 129)
	cases := []struct {
		name   string
		change func(*core.ToolOutcome)
		says   string // "" is accepted
	}{
		{"the longest id", func(o *core.ToolOutcome) { o.Session = long[1:] }, ""},
		{"all that ids are made of", func(o *core.ToolOutcome) { o.Session = "aZ0_:.@-" }, ""},
		{"the longest ref", func(o *core.ToolOutcome) { o.Ref = strings.Repeat("x", 512) }, ""},
		{"no ref", func(o *core.ToolOutcome) { o.Ref = "" }, ""},
		{"a tool of a server", func(o *core.ToolOutcome) { o.Tool = "files/read all" }, ""},
		{"the first turn", func(o *core.ToolOutcome) { o.Turn = 0 }, ""},
		{"no memory", func(o *core.ToolOutcome) { o.MemoryID = "" }, `memory_id is "", which isn't an id`},
		{"a way out of a memory", func(o *core.ToolOutcome) { o.MemoryID = "m/../n" }, "isn't an id"},
		{"two dots", func(o *core.ToolOutcome) { o.Session = "a..b" }, `session is "a..b"`},
		{"a long session", func(o *core.ToolOutcome) { o.Session = long }, "session is"},
		{"no session", func(o *core.ToolOutcome) { o.Session = "" }, `session is ""`},
		{"a turn before the first", func(o *core.ToolOutcome) { o.Turn = -1 }, "turn is -1"},
		{"no tool", func(o *core.ToolOutcome) { o.Tool = " " }, `tool is " "`},
		{"a long tool", func(o *core.ToolOutcome) { o.Tool = long }, "(129 bytes)"},
		{"a tool over two lines", func(o *core.ToolOutcome) { o.Tool = "a\nb" }, `tool is "a\nb"`},
		{"a long ref", func(o *core.ToolOutcome) { o.Ref = strings.Repeat("x", 513) }, "ref has 513 bytes"},
		{"a ref with a bell", func(o *core.ToolOutcome) { o.Ref = "\a" }, "ref has 1 bytes"},
		{"a ref that isn't text", func(o *core.ToolOutcome) { o.Ref = "\xff" }, "ref has 1 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := newMem(t)
			o := tool(1, true, false, "log:1")
			c.change(&o)
			_, err := d.RecordTools(t.Context(), []core.ToolOutcome{o})
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if sdk.ReasonOf(err) != "evidence_invalid" || !strings.Contains(err.Error(), "outcome 1: ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %s", err, c.says)
			}
			if sdk.AsError(err).Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnceUpToABound(t *testing.T) {
	d := newMem(t)
	_, err := d.RecordTools(t.Context(), make([]core.ToolOutcome, 10)) // of 3 problems each
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 21 || !strings.HasPrefix(lines[3], "outcome 2: memory_id") || !strings.HasPrefix(lines[20], "and 10 more problems") {
		t.Errorf("%d lines: %v", len(lines), err)
	}
}

func TestABrokenTallyDecidesNothing(t *testing.T) {
	d := newMem(t)
	put(d, gate.TallyKey("m"), "?")
	d.view(func(r core.Reader) error {
		_, err := gate.New(says{}).Decide(t.Context(), r, &verdict.GateCase{Memory: memory(core.Signals{})})
		if sdk.ReasonOf(err) != "record_corrupt" || !strings.Contains(err.Error(), "record evidence-tally/m") {
			t.Errorf("Decide: %v", err)
		}
		return nil
	})
	if _, err := d.RecordTools(t.Context(), []core.ToolOutcome{tool(1, true, false, "")}); sdk.ReasonOf(err) != "record_corrupt" {
		t.Errorf("RecordTools: %v", err)
	}
}

// put writes behind the gate's back.
func put(d *desk, key []byte, value string) {
	d.Helper()
	err := d.store.Update(d.Context(), func(tx core.Tx) error { return tx.Put(key, []byte(value)) })
	if err != nil {
		d.Fatal(err)
	}
}

// failing is a reader whose reads fail after a while.
type failing struct {
	core.Reader
	left *int
}

var errDisk = errors.New("the disk is gone")

func (f failing) fails() bool { *f.left--; return *f.left < 0 }

func (f failing) Get(key []byte) ([]byte, bool, error) {
	if f.fails() {
		return nil, false, errDisk
	}
	return f.Reader.Get(key)
}

func (f failing) Scan(from, to []byte, fn func(key, value []byte) (bool, error)) error {
	if f.fails() {
		return errDisk
	}
	return f.Reader.Scan(from, to, fn)
}

func TestNothingIsDecidedWhereEvidenceCantBeRead(t *testing.T) {
	d := newMem(t)
	d.dag(line("w", map[string][]string{"m": {"b"}}))
	c := &verdict.GateCase{Memory: memory(core.Signals{Recent: turns("s", 1, 2), RelevantTurns: 2})}
	d.view(func(r core.Reader) error {
		for reads := range 10 {
			_, err := gate.New(says{Verdict: policypoint.VerdictRetain}).Decide(t.Context(), failing{r, &reads}, c)
			if err == nil {
				if reads < 0 || reads > 8 {
					t.Errorf("decided with %d reads left", reads)
				}
				return nil
			}
			if !errors.Is(err, errDisk) {
				t.Fatal(err)
			}
		}
		t.Error("it never decided")
		return nil
	})
}
