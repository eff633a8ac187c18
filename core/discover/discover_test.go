package discover

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var shelf = []Candidate{
	{Kind: Plugin, Name: "acme/invoice-check", Description: "Checks the totals of invoices.", Runs: 10, Successes: 10},
	{Kind: Plugin, Name: "acme/invoice-print", Description: "Prints invoices.", Runs: 10, Successes: 2},
	{Kind: Workflow, Name: "translate", Description: "Translates letters.", Examples: []string{"Turn a German letter into English"}},
	{Kind: Tool, Name: "memory_recall", Description: "Find the memories that fit a query best."},
}

// TestRank_Scores: words of the name, description and examples count, and the failure rate
// decides between equals.
func TestRank_Scores(t *testing.T) {
	for intent, want := range map[string]string{
		"check invoice totals":  "acme/invoice-check",
		"print an invoice":      "acme/invoice-print",
		"german letter english": "translate",
		"recall memories":       "memory_recall",
		"invoice":               "acme/invoice-check", // both fit; this one succeeds
	} {
		ranked := Rank(intent, shelf, MaxCandidates)
		if len(ranked) == 0 || ranked[0].Name != want {
			t.Errorf("%q finds %+v; not %s", intent, ranked, want)
			continue
		}
		for i, r := range ranked {
			if r.Score < 0 || r.Score > 1 || r.FinalScore > r.Score || i > 0 && r.FinalScore > ranked[i-1].FinalScore {
				t.Errorf("%q ranks %+v", intent, ranked)
			}
		}
	}
	if ranked := Rank("xyzzy", shelf, MaxCandidates); len(ranked) != 0 {
		t.Errorf("nothing is found as %+v", ranked)
	}
	if all := Rank("translates letters", shelf, 1); all[0].Score != 1 {
		t.Errorf("all words are there: %+v", all)
	}
}

// TestRank_OrderNeverMatters: candidates in any order.
func TestRank_OrderNeverMatters(t *testing.T) {
	want := Rank("check an invoice", shelf, MaxCandidates)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		list := append([]Candidate{}, shelf...)
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if diff := cmp.Diff(want, Rank("check an invoice", list, MaxCandidates)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// TestAnswer has each band.
func TestAnswer(t *testing.T) {
	best := []Ranked{{Kind: Plugin, Name: "a", FinalScore: .8}, {Kind: Tool, Name: "b", FinalScore: .6}, {Kind: Workflow, Name: "c"}}
	if in := RoutingInput("ns", best); in.Lead != .2 || in.Candidates != 3 || RoutingInput("ns", nil) != nil || RoutingInput("ns", best[:1]).Lead != .8 {
		t.Errorf("the policy sees %+v", in)
	}
	if a := NewAnswer("i", High, best); a.Recommended.Name != "a" || len(a.Candidates) != 3 || a.ClarificationRequired || a.ExecutionBlocked {
		t.Errorf("high is %+v", a)
	}
	if a := NewAnswer("i", Medium, best); a.Recommended != nil || !a.ClarificationRequired || a.Question != "Which one do you mean: the plugin a, the tool b or the workflow c?" {
		t.Errorf("medium is %+v", a)
	}
	for _, a := range []*Answer{NewAnswer("i", Low, best), NewAnswer("i", High, nil), NewAnswer("i", "", best)} {
		if a.Confidence != Low || !a.ExecutionBlocked || len(a.Candidates) != 0 || a.Candidates == nil || a.Add == "" {
			t.Errorf("low is %+v", a)
		}
	}
}

// TestFailureRate is the lower end of Wilson's interval, by R's binom.confint.
func TestFailureRate(t *testing.T) {
	for _, tt := range []struct {
		runs, successes int
		want            float64
	}{{0, 0, 0}, {1, 0, .2065}, {10, 10, 0}, {10, 2, .4902}, {50, 25, .3664}, {50, 0, .9287}} {
		c := Candidate{Runs: tt.runs, Successes: tt.successes}
		if got := c.failureRate(); math.Abs(got-tt.want) > .0002 {
			t.Errorf("%d of %d: %v, want %v", tt.successes, tt.runs, got, tt.want)
		}
	}
}

// TestAnswer_SpellsItsCalls: what a surface has no call for isn't in its answer, and the recommendation isn't replaced by
// something else.
func TestAnswer_SpellsItsCalls(t *testing.T) {
	ranked := func(name string) Ranked {
		return Ranked{Kind: Tool, Name: name, Usage: Usage{Operation: name, Arguments: map[string]any{"query": "<query>"}}}
	}
	spell := func(operation string, arguments map[string]any) string {
		if operation == "none" {
			return ""
		}
		return fmt.Sprint(operation, arguments)
	}
	for _, c := range []struct {
		confidence string
		best       []Ranked
		want       string
	}{
		{High, []Ranked{ranked("a"), ranked("b"), ranked("none")}, "high a [a b] []"},
		{High, []Ranked{ranked("none"), ranked("a")}, "low  [] [a]"},
		{High, []Ranked{ranked("none")}, "low  [] []"},
		{Medium, []Ranked{ranked("none"), ranked("a"), ranked("b")}, "medium  [a b] []"},
		{Medium, []Ranked{ranked("none")}, "low  [] []"},
		{Low, []Ranked{ranked("none"), ranked("a")}, "low  [] [a]"},
	} {
		a := NewAnswer("i", c.confidence, c.best)
		spoken := a.WithCalls(spell).(*Answer)
		recommended := ""
		if spoken.Recommended != nil {
			recommended = spoken.Recommended.Name
		}
		names := func(list []Ranked) (names []string) {
			for _, r := range list {
				if names = append(names, r.Name); r.Usage.Call != r.Name+"map[query:<query>]" {
					t.Errorf("%s is called by %q", r.Name, r.Usage.Call)
				}
			}
			return names
		}
		if got := fmt.Sprintln(spoken.Confidence, recommended, names(spoken.Candidates), names(spoken.Nearest)); got != c.want+"\n" || strings.Contains(spoken.Question, "none") {
			t.Errorf("%s of %v is %s%s; want %s", c.confidence, names(nil), got, spoken.Question, c.want)
		}
		if c.best[0].Usage.Call != "" {
			t.Error("the answer itself is changed")
		}
	}
}
