package workflow

import (
	"strconv"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/reflectory/reflectory/core"
)

// rangeForm is a range of versions: comparisons that must all hold, separated by spaces. Each is a
// version with up to three numbers after ^, ~, >=, >, <=, < or =.
var rangeForm = core.Pattern(`^` + comparison + `( +` + comparison + `){0,7}$`)

const comparison = `(\^|~|>=|>|<=|<|=)?(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)?)?`

// InRange reports whether a semantic version is in a range such as "^1.2" or ">=1.2 <1.9", as npm
// and cargo read it: ^1.2 is from 1.2.0 to below 2.0.0, ^0.2 to below 0.3.0, ~1.2 to below 1.3.0; a
// version without a comparison is itself, and 1.2 is any 1.2.x. A prerelease is only in a range that
// names a prerelease of the same three numbers. "" is any version.
func InRange(version, versions string) bool {
	v := "v" + version
	release, _, _ := strings.Cut(semver.Canonical(v), "-")
	pre := semver.Prerelease(v) != ""
	for _, word := range strings.Fields(versions) {
		number := strings.TrimLeft(word, "^~<>=")
		from := semver.Canonical("v" + number)
		if !holds(v, from, strings.TrimSuffix(word, number), number) {
			return false
		}
		base, _, _ := strings.Cut(from, "-")
		pre = pre && (semver.Prerelease(from) == "" || base != release)
	}
	return !pre && semver.IsValid(v)
}

// holds reports whether a comparison with a number, which from is in full, holds.
func holds(v, from, op, number string) bool {
	order := semver.Compare(v, from)
	parts := strings.Split(strings.TrimPrefix(strings.SplitN(from, "-", 2)[0], "v"), ".")
	given := strings.Count(strings.SplitN(number, "-", 2)[0], ".") + 1
	last := given - 1 // the number that may not grow
	switch {
	case op == "^":
		last = 0
		for last < given-1 && parts[last] == "0" {
			last++
		}
	case op == "~":
		last = min(1, given-1)
	}
	end := semver.Compare(v, next(parts, last)) < 0
	switch op {
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case ">": // >1.2 is above every 1.2.x
		return order > 0 && (given == 3 || !end)
	case "<=": // <=1.2 has every 1.2.x
		return order <= 0 || given < 3 && end
	}
	if op != "^" && op != "~" && given == 3 {
		return order == 0
	}
	return order >= 0 && end
}

// next is the lowest version, prereleases included, in which the number at a place is higher.
func next(parts []string, place int) string {
	n, _ := strconv.Atoi(parts[place]) // the form has few enough digits
	up := []string{"0", "0", "0"}
	copy(up, parts[:place])
	up[place] = strconv.Itoa(n + 1)
	return "v" + strings.Join(up, ".") + "-0"
}
