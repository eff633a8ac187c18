package web

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
)

// auditPages are the pages of the journal.
func auditPages() []page {
	return []page{
		{path: "/audit", template: "audit.html", nav: "/audit", parts: []string{"audit-verified"}, load: loadStreams},
		{path: "/audit/entries", template: "entries.html", nav: "/audit", load: loadEntries},
	}
}

func auditForms() []form {
	return []form{{path: "/audit/verify", nav: "/audit", do: func(v *visit) (string, error) {
		in := &operation.AuditVerify{}
		if head := strings.TrimSpace(v.FormValue("head")); head != "" {
			in.Head = &head
		}
		queued, err := call[operation.JobQueued](v, "audit_verify", in)
		if err != nil {
			return "", err
		}
		return "/audit?" + url.Values{"job": {queued.JobID}}.Encode(), nil
	}}}
}

// streamURL is the address of a stream's entries.
func streamURL(stream string) string {
	return "/audit/entries?" + url.Values{"stream": {stream}}.Encode()
}

// auditData are the streams of the journal, and the result of their verification.
type auditData struct {
	operation.Page[journal.StreamHead]
	// Head covers every event so far; nil if the caller may not see it.
	Head     *operation.Head `json:"head,omitempty"`
	Verified *verification   `json:"verification,omitempty"`
	Rows     []streamRow     `json:"-"`
	Next     string          `json:"-"`
}

// streamRow is a stream in the list.
type streamRow struct {
	journal.StreamHead
	URL string
	// Of is the subject of the stream, and About the address of the subject's page.
	Of, About string
}

// verification is a requested check of the journal.
type verification struct {
	Job *job.Job `json:"job"`
	// Result is what it found; nil before its end.
	Result *operation.Audited `json:"result,omitempty"`
	Live   string             `json:"-"`
}

func loadStreams(v *visit) (*content, error) {
	found, err := call[operation.Page[journal.StreamHead]](v, "audit_streams", &operation.AuditStreams{Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")}})
	if err != nil {
		return nil, err
	}
	d := &auditData{Page: *found}
	for _, s := range d.Items {
		row := streamRow{StreamHead: s, URL: streamURL(s.Stream)}
		row.Of, row.About = streamOf(s.Stream)
		d.Rows = append(d.Rows, row)
	}
	if v.caller.Has(core.ScopeOperate) {
		if d.Head, err = optional[operation.Head](v, "audit_head", &operation.AuditHead{}); err != nil {
			return nil, err
		}
	}
	if err := d.verified(v); err != nil {
		return nil, err
	}
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken, "job", "")
	}
	return &content{Title: "Audit", Data: d}, nil
}

// streamOf is the subject of a stream, with its page; "" if it has none.
func streamOf(stream string) (what, page string) {
	kind, of, _ := strings.Cut(stream, "/")
	switch kind {
	case "run":
		return "a run", "/runs/" + url.PathEscape(of)
	case "namespace":
		return "what happened to the memories of a namespace", "/memory?" + url.Values{"namespace": {of}}.Encode()
	case "session":
		return "a session’s turns", sessionURL(of)
	case "decision":
		return "the decisions of a policy point", "/decisions?" + url.Values{"point": {of}}.Encode()
	case journal.AccessStream:
		return "tokens and logins", ""
	case journal.PolicyStream:
		return "changes of the policies", "/policies"
	case journal.RootStream:
		return "the heads of all streams", ""
	case journal.PrunedStream:
		return "what was moved to files", ""
	}
	return "", ""
}

// verified adds the check whose job the address names.
func (d *auditData) verified(v *visit) error {
	id := v.query("job")
	if id == "" {
		return nil
	}
	j, err := call[job.Job](v, "job_get", &operation.JobGet{ID: id})
	if err != nil {
		return err
	}
	d.Verified = &verification{Job: j}
	var result operation.Audited
	switch {
	case j.Status == job.StatusCompleted && json.Unmarshal(j.Result, &result) == nil:
		d.Verified.Result = &result
	case !j.Status.Terminal():
		d.Verified.Live = "/v1/jobs/" + url.PathEscape(j.ID) + "/events"
	}
	j.Payload, j.Result = nil, nil // the page already has what it needs from them
	return nil
}

// entriesData are entries of a stream.
type entriesData struct {
	*operation.StreamEntries
	Filter operation.AuditEntries `json:"filter"`
	Rows   []entryRow             `json:"-"`
	Types  []choice               `json:"-"`
	Of     string                 `json:"-"`
	About  string                 `json:"-"`
	// Older and Newer are the pages next to this one; "" if there are none.
	Older, Newer string `json:"-"`
}

// entryRow is an entry with the pages of its subjects.
type entryRow struct {
	journal.Entry
	Facts string
	Links []crumb
	Whole *longText
	// Chained is whether it continues the entry above it; Above is whether there is one.
	Chained, Above bool
}

const (
	// maxEntries is how many entries a page shows.
	maxEntries = 25
	// maxFacts is how much of an entry is shown on its line, in characters.
	maxFacts = 160
)

func loadEntries(v *visit) (*content, error) {
	d := &entriesData{Filter: operation.AuditEntries{
		Stream: v.query("stream"), From: uint64(max(v.number("from"), 0)), Types: v.URL.Query()["type"], //nolint:gosec // not negative
		Paging: operation.Paging{Limit: v.limit(maxEntries), PageToken: v.query("page_token")},
	}}
	d.Filter.Types = slices.DeleteFunc(d.Filter.Types, func(t string) bool { return t == "" })
	found, err := call[operation.StreamEntries](v, "audit_entries", &d.Filter)
	if err != nil {
		return nil, err
	}
	d.StreamEntries = found
	d.Of, d.About = streamOf(found.Stream)
	for i, e := range found.Items {
		row := entryRow{Entry: e, Facts: line(factsOf(e.Data), maxFacts), Links: linksOf(&e, found.Stream)}
		if i > 0 && found.Items[i-1].Seq+1 == e.Seq {
			row.Above, row.Chained = true, found.Items[i-1].Hash == e.Prev
		}
		row.Whole = v.long(indented(e.Data), "/audit/entry?"+url.Values{"stream": {found.Stream}, "seq": {strconv.FormatUint(e.Seq, 10)}}.Encode())
		d.Rows = append(d.Rows, row)
	}
	d.types()
	if next := found.NextPageToken; next != "" && d.Filter.From > 0 {
		d.Newer = v.with("page_token", next)
	} else if next != "" {
		d.Older = v.with("page_token", next)
	}
	return &content{Title: line(found.Stream, 60), Crumbs: []crumb{{"Audit", "/audit"}}, Data: d}, nil
}

// types adds the types of events as choices.
func (d *entriesData) types() {
	chosen := ""
	if len(d.Filter.Types) == 1 {
		chosen = d.Filter.Types[0]
	}
	for _, t := range journal.Catalogue() {
		d.Types = append(d.Types, choice{Text: t.Type, Current: t.Type == chosen})
	}
}

// auditTexts are whole entries that didn't fit into a page.
func auditTexts() []text {
	return []text{{path: "/audit/entry", load: func(v *visit) (string, error) {
		found, err := call[operation.StreamEntries](v, "audit_entries", &operation.AuditEntries{
			Stream: v.query("stream"), From: uint64(max(v.number("seq"), 1)), Paging: operation.Paging{Limit: 1}, //nolint:gosec // not negative
		})
		if err != nil || len(found.Items) == 0 {
			return "", err
		}
		whole, err := jsontext.Print(found.Items[0])
		return string(whole), err
	}}}
}

// linksOf are the pages of the things that an entry names. An id has the same name in all
// events, except run_id, which events of housekeeping use for their pass.
func linksOf(e *journal.Entry, stream string) (links []crumb) {
	add := func(text, at, id string) {
		if id != "" && len(links) < maxLinks {
			links = append(links, crumb{text + " " + short(id), at + url.PathEscape(id)})
		}
	}
	for _, m := range jsontext.Members(e.Data) {
		var id string
		var ids []string
		if json.Unmarshal(m.Value, &id) != nil {
			_ = json.Unmarshal(m.Value, &ids) // anything else isn't an id
		}
		switch m.Key {
		case "memory_id", "victim_id":
			add("memory", "/memory/", id)
		case "memory_ids", "source_ids":
			for _, one := range ids {
				add("memory", "/memory/", one)
			}
		case "from", "to":
			if strings.HasPrefix(e.Type, "agent.memory.") {
				add("memory", "/memory/", id)
			}
		case "knowledge_id":
			add("knowledge", "/knowledge/", id)
		case "decision_id":
			add("decision", "/decisions/", id)
		case "id":
			if e.Type == "agent.policy.decision" {
				add("decision", "/decisions/", id)
			}
		case "job_id":
			add("job", "/jobs/", id)
		case "snapshot_id":
			add("snapshot", "/snapshots/", id)
		case "run_id":
			if strings.HasPrefix(stream, "namespace/") {
				add("dream", "/dream/", id)
			} else {
				add("run", "/runs/", id)
			}
		}
	}
	if id, is := strings.CutPrefix(stream, "run/"); is {
		add("run", "/runs/", id)
	}
	return links
}

// maxLinks is how many links an entry has.
const maxLinks = 6
