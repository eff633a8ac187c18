//go:build surfaces

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/sdk"
)

// The pages in a browser: Debian's chromium. make test-surfaces sets it up.

// browser is a tab of a browser that is signed in to a site.
type browser struct {
	*site
	ctx context.Context
	at  string

	mu    sync.Mutex
	noted []string
}

// browse opens a tab on a site of its own, and browseOn on a site.
func browse(t *testing.T) *browser { return browseOn(t, newSite(t)) }

func browseOn(t *testing.T, s *site) *browser {
	t.Helper()
	b := &browser{site: s}
	server := httptest.NewServer(b.handler)
	t.Cleanup(server.Close)
	b.at = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecAllocatorOption(chromedp.NoSandbox), chromedp.Flag("force-color-profile", "srgb"))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), o...)
	t.Cleanup(stop)
	b.ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b.must(chromedp.Do(b.ctx)) // starts the browser
	b.must(chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.note("console: " + string(e.Type))
		case *runtime.EventExceptionThrown:
			b.note("exception: " + e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.note("log: " + e.Entry.Text)
		case *audits.EventIssueAdded:
			if d := e.Issue.Details.ContentSecurityPolicyIssueDetails; d != nil {
				text, _ := json.Marshal(d)
				b.note("policy: " + string(text))
			}
		}
	}))
	send(b, log.Enable, cdp.Empty{})
	send(b, audits.Enable, cdp.Empty{})
	send(b, runtime.Enable, cdp.Empty{})
	return b
}

// note remembers what the browser has to say.
func (b *browser) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noted = append(b.noted, text)
}

// must ends the test with an error.
func (b *browser) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// send sends a command to the tab.
func send[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.T.Helper()
	_, err := chromedp.Call(b.ctx, command, params)
	b.must(err)
}

// do does something in the tab.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	b.must(chromedp.Do(b.ctx, steps...))
}

// open goes to a page, signed in.
func (b *browser) open(path string) {
	b.T.Helper()
	send(b, network.SetCookie, network.SetCookieParams{
		Name: b.session.Name, Value: b.session.Value, URL: b.at, HTTPOnly: new(true), SameSite: network.CookieSameSiteStrict,
	})
	b.do(chromedp.Navigate(b.at+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// quiet fails if the browser had something to say since the last time.
func (b *browser) quiet(where string) {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.noted {
		b.T.Errorf("%s: the browser says %s", where, text)
	}
	b.noted = nil
}

// eval is what an expression gives.
func eval[T any](b *browser, expression string) T {
	b.T.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	b.must(err)
	return value
}

// screen is a width, a height, 0 for the usual one, a scheme and whether scripts run.
type screen struct {
	width, height int64
	scheme        string
	script        bool
}

func (s screen) String() string { return fmt.Sprintf("%d %s script=%t", s.width, s.scheme, s.script) }

// look changes the screen.
func (b *browser) look(s screen) {
	b.T.Helper()
	send(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: cmp.Or(s.height, 1000), DeviceScaleFactor: 1})
	send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}})
	send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !s.script})
}

// pathsOf are the pages of the first half, on a filled site.
func pathsOf(running, ended, hostile string) []string {
	return []string{
		"/", "/?period=7d", "/runs", "/runs?status=exhausted", "/runs/" + ended, "/runs/" + ended + "?from=1&to=3&view=unified", "/runs/" + running,
		"/runs/" + hostile, "/runs/none-such",
	}
}

// axe is the program that looks for problems of accessibility, as .ci/surfaces installs it.
func axe(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../../../testdata/surfaces/node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatalf("%v: .ci/surfaces installs it", err)
	}
	return string(text)
}

// TestBrowser_Pages: at every width and in both schemes, with and without scripts, no page
// makes the browser report something, has to be scrolled sideways, or has a problem of
// accessibility.
func TestBrowser_Pages(t *testing.T) {
	b := browse(t)
	running, ended := b.demo()
	hostile := b.hostileRun(3, "error")
	b.pass(pathsOf(running.ID, ended, hostile.ID))
}

// TestBrowser_PagesOfWhatWasLearned is TestBrowser_Pages for memories, approvals, knowledge,
// decisions and jobs, whose texts are hostile, for what a search finds, and for settings.
func TestBrowser_PagesOfWhatWasLearned(t *testing.T) {
	w := operationtest.New(t)
	decision := w.Decision() // which opens the host again
	b := browseOn(t, siteOf(w))
	b.pass(b.learned(decision))
}

// TestBrowser_PagesOfNothing is TestBrowser_Pages for a store without anything.
func TestBrowser_PagesOfNothing(t *testing.T) {
	b := browse(t)
	var paths []string
	for _, p := range pages() {
		if path := strings.TrimSuffix(p.path, "{$}"); !strings.Contains(path, "{") && path != "/audit/entries" { // which are the events of a stream
			paths = append(paths, path)
		}
	}
	b.pass(paths)
}

// TestBrowser_LongestTexts: with the longest and most hostile texts in every field no page has to be scrolled
// sideways, or makes the browser say something.
func TestBrowser_LongestTexts(t *testing.T) {
	s, paths := longestSite(t)
	b := browseOn(t, s)
	b.look(screen{320, 0, "dark", true})
	for _, path := range paths {
		b.open(path)
		where := fmt.Sprintf("%.200s", path)
		b.quiet(where)
		if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > 320 {
			t.Errorf("%s: it is %d wide, because of %s", where, wide, eval[string](b, widest))
		}
	}
}

// pass looks at pages on every screen.
func (b *browser) pass(paths []string) {
	t := b.T
	t.Helper()
	program := axe(t)
	for _, path := range paths {
		if only := os.Getenv("REFLECTORY_PAGE"); only != "" && !strings.Contains(path, only) {
			continue
		}
		for _, s := range []struct {
			screen
			axe bool
		}{
			{screen{390, 0, "light", true}, true}, {screen{820, 0, "dark", true}, false}, {screen{1440, 0, "light", true}, false}, {screen{1440, 0, "dark", true}, true},
			{screen{1440, 0, "light", false}, false}, {screen{320, 0, "light", false}, false},
		} {
			b.look(s.screen)
			b.open(path)
			where := fmt.Sprintf("%.120s at %s", path, s.screen)
			b.quietBut404(where, path)
			if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > s.width {
				t.Errorf("%s: it is %d wide, because of %s", where, wide, eval[string](b, widest))
			}
			if s.axe {
				b.axe(program, where)
				b.quietBut404(where+", axe", path)
			}
		}
	}
}

// axe fails for problems of accessibility on the page that is open.
func (b *browser) axe(program, where string) {
	b.T.Helper()
	found := eval[[]struct {
		ID    string `json:"id"`
		Nodes []struct {
			Target  []any  `json:"target"`
			Summary string `json:"failureSummary"`
		} `json:"nodes"`
	}](b, program+`; axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((r) => r.violations)`)
	for _, f := range found {
		n := f.Nodes[0]
		b.T.Errorf("%s: %s at %v (%d): %s", where, f.ID, n.Target, len(f.Nodes), n.Summary)
	}
}

// widest are the elements that are wider than the page, the innermost first.
const widest = `[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .diff > div, .cmd")).map((e) => e.tagName + "." + e.className).reverse().slice(0, 5).join(", ")`

// quietBut404 is quiet, except for the browser's line about a page that there isn't.
func (b *browser) quietBut404(where, path string) {
	b.T.Helper()
	if strings.Contains(path, "none-such") {
		b.mu.Lock()
		b.noted = nil
		b.mu.Unlock()
	}
	b.quiet(where)
}

// wait lets the browser work until its page is there and an expression holds, for 10 s at
// most. It asks again and again: what is asked of a page that is left is never answered.
func (b *browser) wait(expression string) {
	b.T.Helper()
	ctx, stop := context.WithTimeout(b.ctx, 10*time.Second)
	defer stop()
	for holds := false; !holds; {
		once, done := context.WithTimeout(ctx, time.Second)
		holds, _ = chromedp.Run(once, chromedp.Evaluate[bool](`document.readyState === "complete" && !!(`+expression+`)`))
		done()
		if ctx.Err() != nil {
			b.T.Fatalf("%s doesn't come to hold at %s: %s", expression, eval[string](b, "location.href"), eval[string](b, "document.body.innerText.slice(0, 2000)"))
		}
	}
}

// key presses keys.
func (b *browser) key(keys ...string) {
	b.T.Helper()
	for _, k := range keys {
		b.do(chromedp.KeyEvent(k))
	}
}

// tabTo presses the tab key until the element that has the focus holds a text.
func (b *browser) tabTo(text string) {
	b.T.Helper()
	for range 120 {
		b.key(kb.Tab)
		if strings.Contains(eval[string](b, focused), text) {
			return
		}
	}
	b.T.Fatalf("the tab key doesn't lead to %q", text)
}

// focused is the text of what has the focus; "" if nothing that can be pressed has it.
const focused = `((e) => e.matches("a, button, input, summary") ? e.innerText || e.getAttribute("aria-label") || "" : "")(document.activeElement)`

// TestBrowser_NextAttempt: a running run's next attempt appears without a reload.
func TestBrowser_NextAttempt(t *testing.T) {
	b := browse(t)
	r := b.begin("contact")
	b.contact(r, 1, false)
	b.open("/runs/" + r.ID)
	b.do(chromedp.Evaluate[chromedp.Void]("window.same = true"))
	b.attempt(r, 1, core.Attempt{Iteration: 2, Role: sdk.RoleCorrect, Judged: true, Score: 1, Accepted: true, Output: []byte(`"right"`)})
	b.wait(`document.body.innerText.includes("Attempt 2")`)
	b.end(r, core.StatusPassed)
	b.wait(`document.querySelector("h1").innerText.includes("passed")`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded again")
	}
	b.quiet("a running run")
}

// keyed is a step by keyboard: the tab key leads to what has a text, Enter presses it, and
// then an expression becomes true.
type keyed struct{ to, holds string }

// TestBrowser_Keys: by keyboard alone somebody signs in, finds the run that failed last night,
// sees why, compares two of its attempts and has it judged again; approves a reflection,
// looks at why something was decided, and cancels a job.
func TestBrowser_Keys(t *testing.T) {
	w := operationtest.New(t)
	w.Decision() // which opens the host again
	b := browseOn(t, siteOf(w))
	r := b.begin("contact")
	b.contact(r, 3, false)
	r.Error = &core.ErrorInfo{Code: "plugin_failed", Message: "the model was down"}
	b.end(r, core.StatusError)
	other := b.begin("other")
	b.contact(other, 1, true)
	b.end(other, core.StatusPassed)
	b.Pending(operationtest.Here)
	b.Job(operationtest.Here)
	token, err := b.Host.Access.Issue(b.Ctx, access.Request{Subject: "ada", Scopes: core.Scopes(), Namespaces: []string{"**"}})
	b.Must(err)
	b.do(chromedp.Navigate(b.at+"/runs"), chromedp.WaitReady(chromedp.CSS("#token")))
	b.key(string(token.Secret), kb.Enter)
	b.wait(`location.pathname === "/runs" && document.querySelector("h1")`)
	b.press(keyed{"error", `location.search.includes("status=error")`})
	b.key("/")
	b.wait(`document.activeElement.id === "q"`)
	b.key(kb.Escape, kb.ArrowDown)
	b.wait(`document.activeElement.matches("a[data-move]")`)
	b.key(kb.Enter)
	b.wait(`location.pathname.startsWith("/runs/0") && document.body.innerText.includes("the model was down")`)
	b.press(
		keyed{"1 → 3", `location.search.includes("from=1") && document.body.innerText.includes("Errors that are gone")`},
		keyed{"Replay evaluation", `location.search.includes("job=") && document.body.innerText.includes("The replay is a job")`},
		keyed{"Overview", `document.querySelector("h1").innerText === "Overview"`},
		keyed{"Review", `location.pathname === "/approvals"`},
		keyed{"Approve", `location.pathname.startsWith("/memory/") && document.body.innerText.includes("Lineage")`},
		keyed{"Decisions", `location.pathname === "/decisions"`},
	)
	b.key(kb.ArrowDown, kb.Enter)
	b.wait(`location.pathname.startsWith("/decisions/") && document.body.innerText.includes("Inputs")`)
	b.press(
		keyed{"Jobs", `location.pathname === "/jobs"`},
		keyed{"reembed", `location.pathname.startsWith("/jobs/") && document.querySelector("h1").innerText === "reembed"`},
		keyed{"Cancel", `document.querySelector("main .tag").innerText === "cancelled"`},
	)
	b.quiet("the keys")
}

// press takes steps by keyboard.
func (b *browser) press(steps ...keyed) {
	b.T.Helper()
	for _, s := range steps {
		b.tabTo(s.to)
		b.key(kb.Enter)
		b.wait(s.holds)
	}
}
