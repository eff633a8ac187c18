//go:build surfaces

package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/memory"
)

// tended are the pages of housekeeping, snapshots, plugins and the journal, on a site that has
// some of each.
type tended struct {
	plan, pass string
	turns      []string
}

func (s *site) tended() tended {
	s.T.Helper()
	s.install("acme/house-style", "1.2.0", "[log, cache]")
	s.install("acme/"+strings.Repeat("long", 15), "0.0.1", "[]")
	p := tended{plan: s.housekeep()}
	pass, err := s.Host.Memories.Dreams.Plan(s.Ctx, memory.DreamRequest{Namespace: operationtest.Here})
	s.Must(err)
	p.pass = pass.ID
	_, err = s.Host.Memories.Dreams.Apply(s.Ctx, p.pass, nil)
	s.Must(err)
	p.turns = s.told("harbour")
	s.signIn()
	return p
}

// paths are the addresses of those pages.
func (p tended) paths() []string {
	here := operationtest.Here
	return []string{
		"/dream?namespace=" + here, "/dream/" + p.plan, "/dream/" + p.pass, "/dream/" + p.pass + "/undo", "/dream/conflicts?namespace=" + here, "/dream",
		"/snapshots?namespace=" + here + "&session=harbour", "/snapshots", "/sessions", "/sessions/harbour", "/snapshots/" + p.turns[1] + "?replay=1", "/snapshots/" + p.turns[2] + "/diff",
		"/plugins", "/plugins/acme/house-style", "/audit", "/audit/entries?stream=namespace/" + here, "/audit/entries?stream=access&type=agent.access.login_opened",
	}
}

// TestBrowser_PagesOfParts is TestBrowser_Pages for housekeeping, snapshots, plugins and the
// journal.
func TestBrowser_PagesOfParts(t *testing.T) {
	b := browse(t)
	list, one := b.called()
	b.pass(append(b.tended().paths(), list, one))
}

// TestBrowser_KeysOfParts: by keyboard alone, and without a script, somebody undoes a step of
// a pass, has the journal verified, and compares what two turns were told.
func TestBrowser_KeysOfParts(t *testing.T) {
	for _, script := range []bool{true, false} {
		b := browse(t)
		p := b.tended()
		b.look(screen{1440, 0, "light", script})
		b.open("/dream/" + p.pass)
		b.tabTo("Undo step 2")
		b.key(kb.Enter)
		b.wait(`location.hash === "#step-2" && document.querySelector("#step-2 .tag").innerText === "undone"`)
		b.open("/audit")
		b.tabTo("Verify the journal")
		b.key(kb.Enter)
		b.wait(`location.search.includes("job=") && document.body.innerText.includes("The check is a job")`)
		b.work()
		if script {
			b.wait(`document.body.innerText.includes("The journal is as it was written")`)
		} else {
			b.do(chromedp.Reload())
			b.wait(`document.body.innerText.includes("The journal is as it was written")`)
		}
		b.open("/snapshots/" + p.turns[2])
		b.tabTo("Compare with the turn before")
		b.key(kb.Enter)
		b.wait(`document.body.innerText.includes("breaks the prefix")`)
		b.quiet("the keys")
	}
}
