//go:build surfaces

package web

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
)

// shot is a page of which pictures are made.
type shot struct{ name, path, screens string }

// shots are the pages of a site that somebody uses, each with the screens whose pictures the
// documents have.
func (s *site) shots() []shot {
	s.T.Helper()
	running, ended := s.demo()
	memory, known, gated := s.Taught(core.OutcomeSuccess, 6), s.Promoted(), s.Waiting()
	parts := s.tended()
	s.agents()
	plugins, plugin := s.called()
	here := url.QueryEscape(operationtest.Here)
	decisions := s.get("/decisions?format=json&point=gate").body
	_, decision, _ := strings.Cut(decisions, `"id": "`)
	decision, _, _ = strings.Cut(decision, `"`)
	replay := s.post("/policies/replay", url.Values{"file": {"gate/candidate.yaml"}, "text": {candidate}}).Header.Get("Location")
	pool, err := s.Host.Workers.NewPool(map[job.Type]job.Handler{job.Workflow: operation.Handlers(s.Host)[job.Workflow]})
	s.Must(err)
	_, err = pool.RunUntilIdle(s.Ctx)
	s.Must(err)
	return []shot{
		{"overview", "/", "light dark 390"}, {"runs", "/runs?limit=12", "light"}, {"run", "/runs/" + ended, "light 390"}, {"run-running", "/runs/" + running.ID, ""},
		{"run-unified", "/runs/" + ended + "?from=1&to=3&view=unified", ""}, {"memories", "/memory?namespace=" + here, "light"},
		{"memory", memoryURL(memory), "light"}, {"memory-gated", memoryURL(gated), ""}, {"approvals", "/approvals", ""}, {"knowledge", "/knowledge?namespace=" + url.QueryEscape(known.Namespace), ""},
		{"knowledge-one", knowledgeURL(known.ID), ""}, {"decisions", "/decisions", "light"}, {"decision", decisionURL(decision), "dark"}, {"policies", "/policies", ""}, {"replay", replay, ""},
		{"jobs", "/jobs", "light"}, {"dreams", "/dream?namespace=" + here, "light"}, {"dream", "/dream/" + parts.pass, "dark"}, {"dream-plan", "/dream/" + parts.plan, ""},
		{"conflicts", "/dream/conflicts?namespace=" + here, ""}, {"snapshots", "/snapshots?namespace=" + here + "&session=harbour", "light"}, {"snapshot", "/snapshots/" + parts.turns[1], "light"},
		{"sessions", "/sessions", ""}, {"session", "/sessions/ben-1", ""}, {"snapshot-diff", "/snapshots/" + parts.turns[2] + "/diff", ""}, {"plugins", plugins, "light"}, {"plugin", plugin, "light"}, {"plugin-uncalled", "/plugins/acme/house-style", ""}, {"audit", "/audit", "light"},
		{"audit-stream", "/audit/entries?stream=namespace/" + here, ""}, {"search", "/search?q=harbour", "light"}, {"settings", "/settings", "light"}, {"governance", governanceURL(operationtest.Here), "light"},
		{"question", "/dream/" + parts.pass + "/undo", ""}, {"none-such", "/runs/none-such", ""}, {"sign-in", "/login", "light"},
	}
}

// candidate is a policy of the gate's that would have kept what was promoted.
const candidate = `rule:
  match:
    - condition: uses >= 100
      output: '{"verdict": "promote", "confidence": 1.0, "reason": "used very often"}'
    - output: '{"verdict": "retain", "confidence": 0.9, "reason": "not used often enough"}'
`

// screens are what pictures are of.
var screens = map[string]screen{
	"light": {1440, 0, "light", true}, "dark": {1440, 0, "dark", true}, "390": {390, 0, "light", true}, "390-dark": {390, 0, "dark", true}, "820": {820, 0, "light", true}, "820-dark": {820, 0, "dark", true},
}

// TestScreenshots writes pictures of the pages to the folder REFLECTORY_SCREENSHOTS, or to one that it
// removes: those for the documents, or, where REFLECTORY_SCREENS names screens, those of every page. With
// REFLECTORY_PAGE they are only of the pages whose names begin with it.
func TestScreenshots(t *testing.T) {
	folder := cmp.Or(os.Getenv("REFLECTORY_SCREENSHOTS"), t.TempDir())
	b := browse(t)
	b.Must(os.MkdirAll(folder, 0o755))
	for _, shot := range b.shots() {
		if !strings.HasPrefix(shot.name, os.Getenv("REFLECTORY_PAGE")) {
			continue
		}
		for _, name := range strings.Fields(cmp.Or(os.Getenv("REFLECTORY_SCREENS"), shot.screens)) {
			b.look(screens[name])
			b.open(shot.path)
			on := screens[name]
			on.height = eval[int64](b, "document.documentElement.scrollHeight")
			b.look(on)                                   // what is as high as the screen is as high as the page
			b.do(chromedp.Sleep(150 * time.Millisecond)) // for the fonts
			picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			b.must(err)
			b.Must(os.WriteFile(filepath.Join(folder, shot.name+"-"+name+".png"), b.small(picture), 0o644))
		}
	}
}

// small is a PNG with 256 colours, which takes a third of its bytes: the most frequent ones, and for
// others the nearest of them.
func (b *browser) small(picture []byte) []byte {
	b.T.Helper()
	from, err := png.Decode(bytes.NewReader(picture))
	b.Must(err)
	counts := map[color.RGBA]int{}
	each := func(do func(x, y int, c color.RGBA)) {
		for y := range from.Bounds().Dy() {
			for x := range from.Bounds().Dx() {
				do(x, y, color.RGBAModel.Convert(from.At(x, y)).(color.RGBA))
			}
		}
	}
	each(func(_, _ int, c color.RGBA) { counts[c]++ })
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colours[:min(len(colours), 256)] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for _, c := range colours {
		index[c] = uint8(palette.Index(c))
	}
	to := image.NewPaletted(from.Bounds(), palette)
	each(func(x, y int, c color.RGBA) { to.SetColorIndex(x, y, index[c]) })
	var out bytes.Buffer
	b.Must((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to))
	return out.Bytes()
}
