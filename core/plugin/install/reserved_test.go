package install_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// TestOpen_DevTakesNoShippedPlace: a plugin in development with a name of the plugins that come with
// the program is refused, unless its entry says that it may take the place of one. Others still run.
func TestOpen_DevTakesNoShippedPlace(t *testing.T) {
	yaml := func(name string) map[string]string {
		return map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "acme/judge", name, 1), "judge": "#!/bin/true\n", "data/words": "mine\n"}
	}
	for name, c := range map[string]struct {
		shipped  string // the name of what comes with the program; "" is nothing
		dev      string
		replace  bool
		refused  bool
		replaces string
	}{
		"of the same name":              {"reflectory/judge", "reflectory/judge", false, true, ""},
		"of another reserved name":      {"reflectory/judge", "reflectory/other", false, true, ""},
		"of a longer name":              {"reflectory/judge", "reflectory/judge-2", false, true, ""},
		"that may":                      {"reflectory/judge", "reflectory/judge", true, false, "1.2.3"},
		"of another name, that may":     {"reflectory/judge", "reflectory/other", true, false, ""},
		"of its own publisher":          {"reflectory/judge", "acme/judge", false, false, ""},
		"of a publisher with a prefix":  {"reflectory/judge", "reflectory-eu/judge", false, false, ""},
		"of its own publisher, and may": {"reflectory/judge", "acme/judge", true, false, ""},
		"where nothing is built":        {"", "reflectory/judge", false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, yaml("reflectory/judge"))
			if c.shipped != "" {
				w.add()
			}
			dir, other := t.TempDir(), t.TempDir()
			write(t, dir, yaml(c.dev))
			write(t, other, yaml("acme/second"))
			set := w.open(func(o *install.Options) {
				o.Places[0].Shipped = true
				o.Dev = []string{dir, other}
				o.Replace = map[string]bool{dir: c.replace}
			})
			p := set.Find(c.dev)
			if p == nil || !p.Dev() || p.Replaces != c.replaces {
				t.Fatalf("%+v", p)
			}
			if refused := sdk.ReasonOf(p.Problem) == "plugin_reserved"; refused != c.refused || !refused && p.Problem != nil {
				t.Errorf("%v", p.Problem)
			}
			if hint := sdk.AsError(p.Problem); c.refused && (!strings.Contains(hint.Hint, "replace: true") || !strings.Contains(hint.Error(), dir)) {
				t.Errorf("%v (%s)", p.Problem, hint.Hint)
			}
			if second := set.Find("acme/second"); second == nil || second.Problem != nil {
				t.Errorf("another plugin: %+v", second)
			}
		})
	}
}

// TestOpen_LockedShowsWhatItReplaces, unless it is the same package.
func TestOpen_LockedShowsWhatItReplaces(t *testing.T) {
	for name, c := range map[string]struct{ words, want string }{"another": {"b\n", "1.2.3"}, "the same": {"a\n", ""}} {
		files := map[string]string{"plugin.yaml": strings.Replace(judgeYAML, "acme/judge", "reflectory/judge", 1), "judge": "#!/bin/true\n", "data/words": "a\n"}
		shipped := newWorld(t, files)
		shipped.add()
		own := maps.Clone(files)
		own["data/words"] = c.words
		project := newWorld(t, own)
		project.add()
		place := shipped.place
		place.Shipped = true
		set := project.open(func(o *install.Options) { o.Places = append(o.Places, place) })
		if p := set.Find("reflectory/judge"); p.Replaces != c.want || p.Problem != nil || filepath.Dir(p.Place.Lock) != filepath.Dir(project.place.Lock) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
