package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// TestRun_MemoriesGivenAndWrittenAreApart on the page, in its data and in the run itself.
func TestRun_MemoriesGivenAndWrittenAreApart(t *testing.T) {
	s := newSite(t)
	known := s.remember("The lighthouse of Kiel is green.", .5)
	out, err := s.Do(core.Operator("tester"), "run_start", &operation.RunStart{Namespace: operationtest.Here, Workflow: `nodes:
- {name: before, action: memory.recall, with: {query: lighthouse}}
- {name: keep, action: memory.observe, with: {id: kept, content: The harbour master speaks Danish.}}
- {name: think, action: memory.reflect, with: {source_ids: [kept], title: The harbour, content: The harbour has a Danish master.}}
`})
	s.Must(err)
	ended := out.(*operation.RunEnded)
	out, err = s.Do(core.Operator("tester"), "run_get", &operation.RunGet{ID: ended.ID})
	s.Must(err)
	m := out.(*operation.Run).Memories
	if len(m.Given) != 1 || m.Given[0] != known || len(m.Written) != 2 || m.Written[0] != "kept" {
		t.Fatalf("the run has %+v: %s", m, jsontext.MustEncode(ended.Error))
	}
	section := func(root *html.Node, title string) (links []string) {
		for _, n := range all(root, "section") {
			heads := all(n, "h2")
			if len(heads) == 0 || textOf(heads[0]) != title {
				continue
			}
			for _, a := range all(n, "a") {
				href, _ := attr(a, "href")
				links = append(links, href)
			}
		}
		return links
	}
	root := s.tree(s.get("/runs/"+ended.ID), http.StatusOK)
	if got := section(root, "Memories it was given"); len(got) != 1 || got[0] != "/memory/"+known {
		t.Errorf("given: %q", got)
	}
	if got := section(root, "Memories it wrote"); len(got) != 2 || got[0] != "/memory/kept" {
		t.Errorf("written: %q", got)
	}
	var data struct {
		Given   []given `json:"memories_given"`
		Written []given `json:"memories_written"`
	}
	s.Must(json.Unmarshal([]byte(s.get("/runs/"+ended.ID, "Accept", "application/json").body), &data))
	if len(data.Given) != 1 || data.Given[0].ID != known || len(data.Written) != 2 || data.Written[1].Title == "" {
		t.Errorf("the data has %+v", data)
	}
}

// TestOverview_SaysWhatItCounts: the figures are about runs of workflows.
func TestOverview_SaysWhatItCounts(t *testing.T) {
	s := newSite(t)
	for _, want := range [][]string{{"These figures count runs of workflows", "no workflow run has ended"}, {"1 of 1 workflow runs"}} {
		text := textOf(s.tree(s.get("/"), http.StatusOK))
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("lacks %q: %.1500s", part, text)
			}
		}
		s.end(s.begin("contact"), core.StatusPassed)
	}
}
