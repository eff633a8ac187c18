//go:build surfaces

package web

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// screens are what pictures are of.
var screens = map[string]screen{
	"light": {1440, 0, "light", true}, "dark": {1440, 0, "dark", true}, "390": {390, 0, "light", true}, "390-dark": {390, 0, "dark", true}, "820": {820, 0, "light", true}, "820-dark": {820, 0, "dark", true},
}

// TestScreenshots writes pictures of the pages to the folder REFLECTORY_SCREENSHOTS, or to one that it
// removes: those for the documents, or, where REFLECTORY_SCREENS names screens, those of every page. With
// REFLECTORY_PAGE they are only of the pages whose names begin with it.
func TestScreenshots(t *testing.T) {
	folder := cmp.Or(os.Getenv("REFLECTORY_SCREENSHOTS"), t.TempDir())
	b := newLife(t)
	b.Must(os.MkdirAll(folder, 0o755))
	for _, shot := range b.shots() {
		if !strings.HasPrefix(shot.name, os.Getenv("REFLECTORY_PAGE")) {
			continue
		}
		for _, name := range strings.Fields(cmp.Or(os.Getenv("REFLECTORY_SCREENS"), shot.screens)) {
			b.look(screens[name])
			b.open(shot.path)
			on := screens[name]
			on.height = eval[int64](b.browser, "document.documentElement.scrollHeight")
			b.look(on) // what is as high as the screen is as high as the page
			eval[bool](b.browser, "document.fonts.ready.then(() => new Promise(done => requestAnimationFrame(() => done(true))))")
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
