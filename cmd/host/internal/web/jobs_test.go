package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
)

// revalidated makes completed jobs of the gate, as feedback does.
func (s *site) revalidated(n int) {
	s.T.Helper()
	for i := range n {
		s.enqueue(job.SystemUser, job.Revalidate, fmt.Sprintf("n/%d", i))
	}
	s.work()
}

func (s *site) enqueue(user string, kind job.Type, namespace string) {
	s.T.Helper()
	_, err := s.Host.Jobs.Enqueue(s.Ctx, &job.Request{UserID: user, Namespace: namespace, Type: kind})
	s.Must(err)
}

// TestJobs_FoldTheHostsOwn: completed jobs that the host queued for itself are one row of each
// type, which leads to them, so that the page shows what people asked for.
func TestJobs_FoldTheHostsOwn(t *testing.T) {
	const list = "/jobs?status=completed&type=revalidate&user_id=system"
	for name, c := range map[string]struct {
		fill func(*site)
		at   string
		rows int // jobs that have a row of their own
		fold int // rows of groups
		want string
		link string
	}{
		"nothing":                           {func(*site) {}, "/jobs", 0, 0, "No job yet", ""},
		"one is no group":                   {func(s *site) { s.revalidated(1) }, "/jobs", 1, 0, "revalidate", ""},
		"two":                               {func(s *site) { s.revalidated(2) }, "/jobs", 0, 1, "2 × revalidate", list},
		"more than a page":                  {func(s *site) { s.revalidated(60) }, "/jobs", 0, 1, "60 × revalidate", list},
		"an older one that somebody queued": {func(s *site) { s.enqueue("ada", job.Reembed, operationtest.Here); s.revalidated(60) }, "/jobs", 1, 1, "ada", list},
		"one that waits":                    {func(s *site) { s.revalidated(3); s.enqueue(job.SystemUser, job.Revalidate, "n/0") }, "/jobs", 1, 1, "3 × revalidate", list},
		"failed ones stay": {func(s *site) {
			s.enqueue(job.SystemUser, job.Reembed, "n/0")
			s.enqueue(job.SystemUser, job.Reembed, "n/1")
			s.revalidated(2)
		}, "/jobs", 2, 1, "failed", list},
		"their own list":        {func(s *site) { s.revalidated(4) }, list, 4, 0, "n/3", ""},
		"a list of a type":      {func(s *site) { s.revalidated(4) }, "/jobs?type=revalidate", 4, 0, "n/3", ""},
		"a list of a status":    {func(s *site) { s.revalidated(4) }, "/jobs?status=completed", 4, 0, "n/3", ""},
		"a list of a namespace": {func(s *site) { s.revalidated(4) }, "/jobs?namespace=n&subtree=true", 0, 1, "4 × revalidate", "/jobs?namespace=n&status=completed&subtree=true&type=revalidate&user_id=system"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			c.fill(s)
			root := s.tree(s.get(c.at), http.StatusOK)
			s.wellMade(c.at, s.get(c.at), root)
			rows, folded, linked := 0, 0, c.link == ""
			for _, n := range all(root, "a") {
				href, _ := attr(n, "href")
				switch {
				case strings.HasPrefix(href, "/jobs/"):
					rows++
				case strings.Contains(textOf(n), " × "):
					folded++
					linked = linked || href == c.link
				}
			}
			if text := textOf(root); rows != c.rows || folded != c.fold || !linked || !strings.Contains(text, c.want) {
				t.Errorf("%d rows, %d groups, linked %v, want %d and %d with %q: %.1500s", rows, folded, linked, c.rows, c.fold, c.want, text)
			}
			var data struct {
				Items  []job.Job    `json:"items"`
				Folded []foldedJobs `json:"folded"`
			}
			s.Must(json.Unmarshal([]byte(s.get(c.at, "Accept", "application/json").body), &data))
			if len(data.Items) != c.rows || len(data.Folded) != c.fold {
				t.Errorf("the data has %d jobs and %+v", len(data.Items), data.Folded)
			}
			if c.link != "" {
				s.tree(s.get(c.link), http.StatusOK)
			}
		})
	}
}
