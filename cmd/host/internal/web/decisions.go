package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
)

// decisionPages are the pages of the decisions of policies.
func decisionPages() []page {
	return []page{
		{path: "/decisions", template: "decisions.html", nav: "/decisions", load: loadDecisions},
		{path: "/decisions/{id}", template: "decision.html", nav: "/decisions", load: loadDecision},
		{path: "/policies", template: "policies.html", nav: "/decisions", load: loadPolicies},
	}
}

func decisionForms() []form {
	return []form{{path: "/policies/replay", nav: "/decisions", do: replayPolicies}}
}

func decisionTexts() []text {
	return []text{{path: "/decisions/{id}/record", load: func(v *visit) (string, error) {
		found, err := call[operation.Decision](v, "decision_get", &operation.DecisionGet{ID: v.PathValue("id")})
		if err != nil {
			return "", err
		}
		whole, err := jsontext.Print(found)
		return string(whole), err
	}}}
}

// decisionsData is a page of the list of decisions.
type decisionsData struct {
	operation.Page[operation.Decided]
	Filter operation.DecisionList `json:"filter"`
	Points []choice               `json:"-"`
	Rows   []decidedRow           `json:"-"`
	// Terms explain the names in the rows.
	Terms []operation.Term `json:"-"`
	Next  string           `json:"-"`
}

// decidedRow is a decision in the list, with its outcome as a tag.
type decidedRow struct {
	operation.Decided
	Outcome tag
	Rest    string
}

func loadDecisions(v *visit) (*content, error) {
	d := &decisionsData{Filter: operation.DecisionList{
		Point: policypoint.Point(v.query("point")), Namespace: v.query("namespace"), Subtree: v.query("subtree") != "", Outcome: v.query("outcome"), Newest: true,
		Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}}
	found, err := call[operation.Page[operation.Decided]](v, "decision_list", &d.Filter)
	if err != nil {
		return nil, err
	}
	d.Page, d.Points = *found, choices(v, "point", "all", policypoint.Points())
	for _, one := range d.Items {
		outcome, rest := outcomeOf(one.Output, one.Failure)
		d.Rows = append(d.Rows, decidedRow{one, outcome, rest})
		for _, t := range operation.Terms() {
			if _, named := one.Output[t.Name]; named && !slices.Contains(d.Terms, t) {
				d.Terms = append(d.Terms, t)
			}
		}
	}
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return &content{Title: "Decisions", Data: d}, nil
}

// outcomeOf returns the most important field of an outcome as a tag, and the others as a
// line.
func outcomeOf(output map[string]any, failure *core.ErrorInfo) (tag, string) {
	if failure != nil {
		return tag{Text: "failed", Class: "bad"}, failure.Message
	}
	main := ""
	for _, name := range []string{"allow", "verdict", "state", "accept", "action", "mode"} {
		if _, there := output[name]; there {
			main = name
			break
		}
	}
	var rest []string
	for _, name := range slices.Sorted(maps.Keys(output)) {
		if name != main {
			rest = append(rest, termFor(name).Word+" "+plain(output[name]))
		}
	}
	t := tagOf(plain(output[main]))
	switch {
	case main == "":
		t = tag{Text: "decided"}
	case main == "allow" && output[main] == true:
		t = tag{Text: "allow", Class: "ok"}
	case main == "allow":
		t = tag{Text: "deny", Class: "bad"}
	case main == "accept" && output[main] == true:
		t = tag{Text: "accept", Class: "ok"}
	case main == "accept":
		t = tag{Text: "go on", Class: "info"}
	}
	return t, strings.Join(rest, ", ")
}

// plain is a value as a word, a number, or JSON.
func plain(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strings.TrimSuffix(fmt.Sprintf("%.4g", v), ".0")
	case nil:
		return "none"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// decisionData is one decision.
type decisionData struct {
	*operation.Decision
	Outcome tag     `json:"-"`
	Rest    string  `json:"-"`
	Values  []value `json:"-"`
	Used    []value `json:"-"`
	Took    string  `json:"-"`
	// Lines are the rule's lines with the values that they saw; none if the policy has
	// changed since.
	Lines  []ruleLine `json:"-"`
	Record *longText  `json:"-"`
	// Levels are the numbers from 0 to 1 that counted, with their limits; nil if there are none.
	// Compared are all numbers with what they had to be.
	Levels   *chart.Chart `json:"-"`
	Compared []compared   `json:"-"`
	// Terms explain what the page names.
	Terms []operation.Term `json:"-"`
	// References are what the evidence is from.
	References []string `json:"-"`
	// Memory is the memory that the decision is about, if it is about one, and MemoryTitle its
	// title, or the beginning of its id.
	Memory, MemoryTitle string `json:"-"`
}

// value is an input of a decision.
type value struct{ Name, Text string }

func loadDecision(v *visit) (*content, error) {
	found, err := call[operation.Decision](v, "decision_get", &operation.DecisionGet{ID: v.PathValue("id")})
	if err != nil {
		return nil, err
	}
	d := &decisionData{Decision: found}
	d.Outcome, d.Rest = outcomeOf(found.Output, found.Failure)
	for _, name := range slices.Sorted(maps.Keys(found.Inputs)) {
		one := value{name, line(plain(found.Inputs[name]), maxValue)}
		d.Values = append(d.Values, one)
		if names(found.Condition, name) {
			d.Used = append(d.Used, one)
		}
	}
	d.Lines = v.ruleLines(found)
	if id, is := found.Inputs["memory_id"].(string); is {
		d.Memory, d.MemoryTitle = id, short(id)
		if m, err := call[operation.Memory](v, "memory_get", &operation.MemoryGet{ID: id}); err == nil { // it may be purged, or not for the caller
			d.MemoryTitle = line(m.Title, 80)
		}
	}
	if found.Latency > 0 { // the gate's own record has none, so that it can be compared
		d.Took = found.Latency.String()
	}
	if whole, err := jsontext.Print(found); err == nil {
		d.Record = v.long(string(whole), "/decisions/"+url.PathEscape(found.ID)+"/record")
	}
	d.Levels, d.Compared, d.Terms, d.References = levelsOf(found), comparedIn(found), namedIn(found), referencesOf(found)
	return &content{Title: fmt.Sprintf("%s: %s", found.Point, d.Outcome.Text), Crumbs: []crumb{{"Decisions", "/decisions"}}, Data: d}, nil
}

// maxValue is how much of an input is shown, in characters. The record has the whole
// input.
const maxValue = 400

// names reports whether an expression uses a name.
func names(expression, name string) bool {
	isWord := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for at := 0; ; {
		i := strings.Index(expression[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		if (i == 0 || !isWord(expression[i-1])) && (end == len(expression) || !isWord(expression[end])) {
			return true
		}
		at = end
	}
}

// policiesData are the policies in force, and a candidate's replay.
type policiesData struct {
	*operation.Policies
}

func loadPolicies(v *visit) (*content, error) {
	found, err := call[operation.Policies](v, "policy_list", &operation.PolicyList{})
	if err != nil {
		return nil, err
	}
	return &content{Title: "Policies", Crumbs: []crumb{{"Decisions", "/decisions"}}, Data: &policiesData{found}}, nil
}

// replayPolicies queues the replay of a candidate: a policy in a single file.
func replayPolicies(v *visit) (string, error) {
	in := &operation.PolicyReplay{Files: map[string]string{v.FormValue("file"): strings.ReplaceAll(v.FormValue("text"), "\r\n", "\n")}}
	if hours := v.FormValue("hours"); hours != "" {
		if d, err := time.ParseDuration(hours + "h"); err == nil {
			in.Since = v.pages.config.Now().Add(-d)
		}
	}
	queued, err := call[operation.JobQueued](v, "policy_replay", in)
	if err != nil {
		return "", err
	}
	return "/jobs/" + url.PathEscape(queued.JobID), nil
}
