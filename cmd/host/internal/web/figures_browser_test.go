//go:build bench && surfaces

package web

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// shows ends when an attempt is on the page.
const shows = `new Promise((done) => {
	const look = () => [...document.querySelectorAll(".attempt b")].some((b) => b.textContent === "Attempt %d") ? done(true) : requestAnimationFrame(look);
	look();
})`

// TestFiguresOfTheNextAttempt measures how long after an attempt of a run is recorded it is on the open
// page of the run, in a browser.
func TestFiguresOfTheNextAttempt(t *testing.T) {
	const attempts = 20
	b := browse(t)
	r := b.begin("contact")
	b.contact(r, 1, false)
	b.look(screen{1440, 0, "light", true})
	b.open("/runs/" + r.ID)
	b.do(chromedp.Sleep(time.Second)) // by then the page follows the run's events
	var took coretest.Samples
	for i := 2; i < attempts+2; i++ {
		shown := make(chan error, 1)
		go func() {
			_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](fmt.Sprintf(shows, i), chromedp.EvalAwaitPromise))
			shown <- err
		}()
		b.do(chromedp.Sleep(time.Duration(150+37*i%800) * time.Millisecond)) // of a model
		began := time.Now()
		b.attempt(r, 1, core.Attempt{Iteration: i, Role: sdk.RoleCorrect, Judged: true, Score: .5, Output: []byte(`"not yet"`)})
		b.must(<-shown)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	for _, q := range []struct {
		name  string
		value time.Duration
	}{{"p50", took[len(took)/2]}, {"p99", took[len(took)-1]}} {
		coretest.Figure{Name: "from an attempt's record to its sight in a browser, " + q.name, Value: float64(q.value.Milliseconds()), Unit: "ms", Target: 1000}.Print(os.Stdout)
	}
}
