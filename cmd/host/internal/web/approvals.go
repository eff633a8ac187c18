package web

import (
	"fmt"
	"net/url"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// approvalPages are the pages of reflections that wait for an approval.
func approvalPages() []page {
	return []page{{path: "/approvals", template: "approvals.html", nav: "/memory", load: loadApprovals}}
}

func approvalForms() []form {
	return []form{
		{path: "/approvals/{id}/approve", nav: "/memory", do: func(v *visit) (string, error) {
			written, err := call[core.ReflectResult](v, "memory_approve", &operation.MemoryApprove{ID: v.PathValue("id")})
			if err != nil {
				return "", err
			}
			return memoryURL(written.ID), nil
		}},
		{path: "/approvals/{id}/reject", nav: "/memory", ask: askReject, do: func(v *visit) (string, error) {
			_, err := call[memory.Pending](v, "memory_reject", &operation.MemoryReject{ID: v.PathValue("id"), Reason: v.FormValue("reason")})
			return "/approvals", err
		}},
	}
}

func approvalTexts() []text {
	return []text{{path: "/approvals/{id}/content", load: func(v *visit) (string, error) {
		p, err := pendingOf(v)
		if err != nil {
			return "", err
		}
		return p.Request.Content, nil
	}}}
}

// approvalsData is a page of waiting reflections.
type approvalsData struct {
	operation.Page[*memory.Pending]
	Waiting []waiting `json:"-"`
	Next    string    `json:"-"`
}

// maxApprovals is how many reflections a page has. Each is shown with its text.
const maxApprovals = 20

// waiting is a waiting reflection as the page shows it.
type waiting struct {
	*memory.Pending
	Content *longText
	// Sources are the memories from which it is derived.
	Sources []crumb
}

func loadApprovals(v *visit) (*content, error) {
	found, err := call[operation.Page[*memory.Pending]](v, "memory_pending", &operation.MemoryPending{
		Namespace: v.query("namespace"), Paging: operation.Paging{Limit: v.limit(maxApprovals), PageToken: v.query("page_token")},
	})
	if err != nil {
		return nil, err
	}
	d := &approvalsData{Page: *found}
	for _, p := range found.Items {
		w := waiting{Pending: p, Content: v.long(p.Request.Content, "/approvals/"+url.PathEscape(p.ID)+"/content")}
		for _, id := range p.Request.SourceIDs {
			w.Sources = append(w.Sources, crumb{short(id), memoryURL(id)})
		}
		d.Waiting = append(d.Waiting, w)
	}
	if d.NextPageToken != "" {
		d.Next = v.with("page_token", d.NextPageToken)
	}
	return &content{Title: "Approvals", Crumbs: []crumb{{"Memory", "/memory"}}, Data: d}, nil
}

// pendingOf is the reflection that the address names.
func pendingOf(v *visit) (*memory.Pending, error) {
	for in := (&operation.MemoryPending{Paging: operation.Paging{Limit: operation.MaxLimit}}); ; {
		found, err := call[operation.Page[*memory.Pending]](v, "memory_pending", in)
		if err != nil {
			return nil, err
		}
		for _, p := range found.Items {
			if p.ID == v.PathValue("id") {
				return p, nil
			}
		}
		if in.PageToken = found.NextPageToken; in.PageToken == "" {
			return nil, sdk.Errorf(sdk.NotFound, "pending_not_found", "this reflection doesn't wait for an approval any more")
		}
	}
}

func askReject(v *visit) (*question, error) {
	p, err := pendingOf(v)
	if err != nil {
		return nil, err
	}
	return &question{
		Title: "Reject this reflection?", Crumbs: []crumb{{"Memory", "/memory"}, {"Approvals", "/approvals"}},
		Text:   fmt.Sprintf("“%s”, from %s, is given up and can’t be brought back.", line(p.Request.Title+" "+p.Request.Content, 300), plural(len(p.Request.SourceIDs), "memory record")),
		Button: "Reject", Back: "/approvals",
	}, nil
}
