package web

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
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
	// Filter is the list's filter, and Statuses are the choices of its status.
	Filter   operation.RunList `json:"filter"`
	Statuses []choice          `json:"-"`
	// Search narrows the newest runs further. Looked is how many were read for that, 0 without
	// a search, and Partial whether there are others.
	Search  runSearch `json:"search,omitzero"`
	Looked  int       `json:"looked_at,omitempty"`
	Partial bool      `json:"partial,omitempty"`
	// Next is the next page's address.
	Next string `json:"-"`
	// Live is the address of the events that change the list; "" if there are none.
	Live string `json:"-"`
}

// choice is one of several views of a page.
type choice struct {
	Text, URL string
	Current   bool
}

// choices are the values of a field of this page's address, "" for all of them. Another
// value begins at the first page.
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
		Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	}}
	if err := d.Search.read(v); err != nil {
		return nil, err
	}
	list := d.list
	if d.Search != (runSearch{}) {
		list = d.search
	}
	found, err := list(v)
	if err != nil {
		return nil, err
	}
	d.Page, d.Statuses, d.Live = *found, choices(v, "status", "all", core.RunStatuses()), liveRun(found.Items)
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return &content{Title: "Runs", Data: d}, nil
}

// list is a page of the runs that the filter selects.
func (d *runsData) list(v *visit) (*operation.Page[operation.RunSummary], error) {
	return call[operation.Page[operation.RunSummary]](v, "run_list", &d.Filter)
}

// runSearch narrows a list of runs by fields without an index.
type runSearch struct {
	// Min and Max limit a run's score, as they were typed; "" is no limit.
	Min string `json:"min_score,omitempty"`
	Max string `json:"max_score,omitempty"`
	// Error is a text of the run's error, or of an error of its last attempt. Upper and lower
	// case are the same.
	Error string `json:"error,omitempty"`

	min, max float64
}

// read reads the fields of the address.
func (s *runSearch) read(v *visit) error {
	*s = runSearch{Min: v.query("min_score"), Max: v.query("max_score"), Error: v.query("error")}
	for _, f := range []struct {
		name, text string
		to         *float64
	}{{"min_score", s.Min, &s.min}, {"max_score", s.Max, &s.max}} {
		n, err := strconv.ParseFloat(cmp.Or(f.text, "0"), 64)
		if err != nil || n < 0 || n > 1 {
			return sdk.Errorf(sdk.Invalid, "score_invalid", "%s is no number from 0 to 1", f.name).WithDetail("field", f.name)
		}
		*f.to = n
	}
	return nil
}

// maxRead is how many runs a search reads.
const maxRead = 1000

// search reads the newest runs that the filter selects, one by one, and returns the
// matching runs, up to a page.
func (d *runsData) search(v *visit) (*operation.Page[operation.RunSummary], error) {
	found := &operation.Page[operation.RunSummary]{Items: []operation.RunSummary{}}
	in := d.Filter
	in.Paging = operation.Paging{Limit: operation.MaxLimit}
	for {
		page, err := call[operation.Page[operation.RunSummary]](v, "run_list", &in)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			d.Looked++
			fits, err := d.Search.fits(v, &page.Items[i])
			if err != nil {
				return nil, err
			}
			if fits {
				found.Items = append(found.Items, page.Items[i])
			}
			if len(found.Items) == operation.DefaultLimit {
				d.Partial = true
				return found, nil
			}
		}
		in.PageToken = page.NextPageToken
		d.Partial = in.PageToken != ""
		if !d.Partial || d.Looked >= maxRead {
			return found, nil
		}
	}
}

// fits reports whether a run matches the search. Only runs that didn't pass have errors.
func (s *runSearch) fits(v *visit, r *operation.RunSummary) (bool, error) {
	if s.Min != "" && r.Score < s.min || s.Max != "" && r.Score > s.max {
		return false, nil
	}
	if s.Error == "" || r.Status == core.StatusPassed {
		return s.Error == "", nil
	}
	whole, err := call[operation.Run](v, "run_get", &operation.RunGet{ID: r.RunID})
	if err != nil {
		return false, err
	}
	text := strings.ToLower(s.Error)
	if e := whole.Error; e != nil && (strings.Contains(strings.ToLower(e.Message), text) || strings.Contains(e.Code, text)) {
		return true, nil
	}
	for _, loop := range whole.Loops {
		if len(loop.Attempts) == 0 {
			continue
		}
		for _, f := range loop.Attempts[len(loop.Attempts)-1].Errors {
			if strings.Contains(strings.ToLower(f.Path+" "+f.Message), text) {
				return true, nil
			}
		}
	}
	return false, nil
}

// liveRun is the address of the events of the newest running run; "" if none runs.
func liveRun(runs []operation.RunSummary) string {
	for _, r := range runs {
		if r.Status == core.StatusRunning {
			return "/v1/runs/" + r.RunID + "/events"
		}
	}
	return ""
}
