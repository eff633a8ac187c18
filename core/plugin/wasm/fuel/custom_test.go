package fuel_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
)

func custom(name, content string) []byte {
	return sectionBytes(0, append(vector([]byte(name)), content...))
}

// customNames compiles a module and lists its custom sections with their content,
// except the names, which wazero reads itself.
func customNames(t *testing.T, module []byte) []string {
	t.Helper()
	ctx := context.Background()
	r := newRuntime(t, everything().WithCustomSections(true), nil)
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close(ctx)
	var names []string
	for _, s := range compiled.CustomSections() {
		names = append(names, s.Name()+"="+string(s.Data()))
	}
	return names
}

func TestCustomSectionsAreKeptUnlessTheyAreAboutCode(t *testing.T) {
	module := slices.Concat(
		raw(custom("producers", "p"), sectionBytes(1, []byte("\x01\x60\x00\x00")), custom(".debug_line", "offsets"), custom("own", "\x00\x01")),
		custom("reloc.CODE", "r"), custom("linking", "l"), custom("metadata.code.branch_hint", "h"), custom("sourceMappingURL", "u"),
		custom("target_features", "t"),
	)
	want := []string{"producers=p", "own=\x00\x01", "target_features=t"}
	if got := customNames(t, instrument(t, module)); !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
}

// names is a name section: functions, and a local of each.
func names(functions ...string) []byte {
	list, locals := uleb(uint64(len(functions))), uleb(uint64(len(functions)))
	for i, name := range functions {
		list = append(list, append(uleb(uint64(i)), vector([]byte(name))...)...)
		locals = append(locals, append(uleb(uint64(i)), "\x01\x00\x01x"...)...)
	}
	return custom("name", string(slices.Concat([]byte{0}, vector(vector([]byte("module"))), []byte{1}, vector(list), []byte{2}, vector(locals))))
}

func TestNamesMoveWithTheirFunctions(t *testing.T) {
	ctx := context.Background()
	module := append(assemble("func f\nfunc g\nfunc h"), names("first", "second", "third")...)
	r := newRuntime(t, everything(), endless)
	guest, err := r.InstantiateWithConfig(ctx, instrument(t, module), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	if guest.Name() != "" {
		t.Errorf("the instance is called %q", guest.Name())
	}
	for export, want := range map[string]string{"f": "first", "g": "second", "h": "third"} {
		if got := guest.ExportedFunction(export).Definition().Name(); got != want {
			t.Errorf("%s is called %q, want %q", export, got, want)
		}
	}
}

// Names are for people: a section of them that can't be read is left out.
func TestNamesThatCantBeReadAreLeftOut(t *testing.T) {
	for name, section := range map[string][]byte{
		"an unknown function": names("f", "no such"),
		"a part too long":     custom("name", "\x01\x7f"),
		"a list too long":     custom("name", "\x01\x01\x7f"),
	} {
		t.Run(name, func(t *testing.T) {
			bare := assemble("func f")
			if got, want := instrument(t, slices.Concat(bare, section)), instrument(t, bare); !slices.Equal(got, want) {
				t.Errorf("got % x, want % x", got, want)
			}
		})
	}
}
