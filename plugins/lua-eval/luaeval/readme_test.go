//go:build cgo && lua54

package luaeval_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listGlobals returns the sorted members of _G and of each table in it.
const listGlobals = `
	local function members(t)
		local names = {}
		for name in pairs(t) do names[#names + 1] = name end
		table.sort(names)
		return names
	end
	local all = {}
	for name, value in pairs(_G) do
		if type(value) == "table" and name ~= "state" then all[name] = members(value) end
	end
	return all`

var code = regexp.MustCompile("`([^`]+)`")

// readmeTable returns the rows of the README's table with a given head, as the names in
// code font in the first and in the second column.
func readmeTable(t *testing.T, head string) (rows [][2][]string) {
	t.Helper()
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), head+"\n| --- | --- |\n")
	if !ok {
		t.Fatalf("README has no table %s", head)
	}
	names := func(cell string) (found []string) {
		for _, m := range code.FindAllStringSubmatch(cell, -1) {
			found = append(found, m[1])
		}
		return found
	}
	for line := range strings.Lines(rest) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		rows = append(rows, [2][]string{names(cells[1]), names(cells[2])})
	}
	return rows
}

func TestReadmeListsEveryGlobal(t *testing.T) {
	var found map[string][]string
	if err := json.Unmarshal([]byte(mustGenerate(t, listGlobals, `{}`)), &found); err != nil {
		t.Fatal(err)
	}
	var globals []string
	for _, name := range found["_G"] {
		if name != "state" && name != "iteration" { // inputs, listed elsewhere
			globals = append(globals, name)
		}
	}
	found["_G"] = globals
	listed := map[string][]string{}
	for _, row := range readmeTable(t, "| table | members |") {
		listed[row[0][0]] = row[1]
	}
	if diff := cmp.Diff(listed, found); diff != "" {
		t.Errorf("README (-) and run time (+) differ:\n%s", diff)
	}
}

func TestRemovedNamesAreGone(t *testing.T) {
	rows := readmeTable(t, "| name | why |")
	count := 0
	for _, row := range rows {
		for _, name := range row[0] {
			count++
			if got := mustGenerate(t, "return "+name+" == nil", `{}`); got != "true" {
				t.Errorf("%s can be reached", name)
			}
		}
	}
	if count < 14 {
		t.Errorf("README lists only %d removed names", count)
	}
}

// The string metatable is the classic way around an allow-list.
func TestNothingForbiddenIsReachable(t *testing.T) {
	for _, expression := range []string{
		`getmetatable("").__index`, `("").dump`, `("x").dump`, `getmetatable(null).__tostring`, `getmetatable(array()).__index`,
		`_G._G.load`, `string.format.x`, `_ENV.os`, `_ENV.package`, `_G.debug`,
	} {
		got := mustGenerate(t, `local ok, v = pcall(function() return `+expression+` end) return not ok or v == nil`, `{}`)
		if got != "true" {
			t.Errorf("%s can be reached", expression)
		}
	}
}
