package web

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
)

// runPages are the pages of runs.
func runPages() []page {
	return []page{
		{path: "/runs", template: "runs.html", nav: "/runs", parts: []string{"runs-list"}, load: loadRuns},
		{path: "/runs/{id}", template: "run.html", nav: "/runs", parts: []string{"run-body", "run-replay"}, load: loadRun},
	}
}

// runTexts are the texts of runs that may be too long for a page.
func runTexts() []text { return []text{{path: "/runs/{id}/text", load: loadRunText}} }

// runsData is a page of the list of runs.
type runsData struct {
	operation.Page[operation.RunSummary]
	// Filter is what the list is of, and Statuses the choices of its status.
	Filter   operation.RunList `json:"filter"`
	Statuses []choice          `json:"-"`
	// Next is the next page's address.
	Next string `json:"-"`
	// Live is where events come from that change the list; "" is nowhere.
	Live string `json:"-"`
}

// choice is one of several views of a page.
type choice struct {
	Text, URL string
	Current   bool
}

// choices are the values of a field of this page's address, "" for all of them. Another one
// begins at the first page.
func choices[T ~string](v *visit, field, all string, values []T) []choice {
	list := []choice{{all, v.with(field, "", "page_token", ""), v.query(field) == ""}}
	for _, value := range values {
		list = append(list, choice{string(value), v.with(field, string(value), "page_token", ""), v.query(field) == string(value)})
	}
	return list
}

func loadRuns(v *visit) (*content, error) {
	d := &runsData{Filter: operation.RunList{
		Namespace: v.query("namespace"), Subtree: v.query("subtree") != "", Status: core.Status(v.query("status")), Workflow: v.query("workflow"),
		Paging: operation.Paging{Limit: v.number("limit"), PageToken: v.query("page_token")},
	}}
	found, err := call[operation.Page[operation.RunSummary]](v, "run_list", &d.Filter)
	if err != nil {
		return nil, err
	}
	d.Page, d.Statuses, d.Live = *found, choices(v, "status", "all", core.RunStatuses()), liveRun(found.Items)
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return &content{Title: "Runs", Data: d}, nil
}

// liveRun is where the events of the newest run that goes on come from; "" if none does.
func liveRun(runs []operation.RunSummary) string {
	for _, r := range runs {
		if r.Status == core.StatusRunning {
			return "/v1/runs/" + r.RunID + "/events"
		}
	}
	return ""
}
