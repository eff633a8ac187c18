package commandeval

import (
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/plugins/command-eval/report"
)

// tool is what is known of a program: how it reports, what its exit statuses mean, and whether
// the code that it judges runs in its own process.
type tool struct {
	// words are the program and the words that must be among its arguments.
	words []string
	// flags, if not empty, are arguments of which one begins like this if the program prints the
	// format.
	flags     []string
	format    report.Format
	exit      exitRule
	inProcess bool
}

// onStdout is whether the arguments make the program print its format.
func (t *tool) onStdout(c *config) bool {
	return len(t.flags) == 0 || slices.ContainsFunc(c.Run, func(arg string) bool {
		return slices.ContainsFunc(t.flags, func(flag string) bool { return strings.HasPrefix(arg, flag) })
	})
}

// anyFailure is the rule of most programs: 0 is good, everything else is not.
func anyFailure() exitRule { return exitRule{Pass: []int{0}, Else: fail} }

// oneFails is the rule of programs that exit with 1 if they found something, and otherwise if they
// couldn't work.
func oneFails() exitRule { return exitRule{Pass: []int{0}, Fail: []int{1}, Else: fault} }

// tools are the programs with rules of their own, by their documentation. The first that matches
// counts; a program that isn't here has anyFailure, and only its exit status is looked at.
func tools() []tool {
	pytest := exitRule{Pass: []int{0}, Fail: []int{1}, Empty: []int{5}, Else: fault}
	unittest := exitRule{Pass: []int{0}, Fail: []int{1}, Empty: []int{5}, Else: fail}
	return []tool{
		{words: []string{"go", "test"}, flags: []string{"-json"}, format: report.GoTest, exit: anyFailure(), inProcess: true},
		{words: []string{"go", "vet"}, format: report.Lines, exit: anyFailure()},
		{words: []string{"go", "build"}, format: report.Lines, exit: anyFailure()},
		{words: []string{"staticcheck"}, format: report.Lines, exit: oneFails()},
		{words: []string{"golangci-lint"}, flags: []string{"--output.checkstyle", "--out-format=checkstyle"}, format: report.Checkstyle, exit: oneFails()},
		{words: []string{"gcc"}, format: report.Lines, exit: anyFailure()},
		{words: []string{"g++"}, format: report.Lines, exit: anyFailure()},
		{words: []string{"clang"}, format: report.Lines, exit: anyFailure()},
		{words: []string{"pytest"}, flags: []string{"-"}, format: report.JUnit, exit: pytest, inProcess: true},
		{words: []string{"python3", "pytest"}, format: report.JUnit, exit: pytest, inProcess: true},
		{words: []string{"python3", "unittest"}, exit: unittest, inProcess: true},
		{words: []string{"pylint"}, format: report.Lines, exit: exitRule{Pass: []int{0}, Bits: true, FaultBits: 1 | 32}},
		{words: []string{"mypy"}, format: report.Lines, exit: oneFails()},
		{words: []string{"flake8"}, format: report.Lines, exit: oneFails()},
		{words: []string{"ruff"}, format: report.Lines, exit: oneFails()},
		{words: []string{"yamllint"}, flags: []string{"parsable", "--format=parsable"}, format: report.Lines, exit: oneFails()},
		{words: []string{"shellcheck"}, flags: []string{"checkstyle", "--format=checkstyle", "-fcheckstyle"}, format: report.Checkstyle, exit: oneFails()},
		{words: []string{"shellcheck"}, flags: []string{"gcc", "--format=gcc", "-fgcc"}, format: report.Lines, exit: oneFails()},
		{words: []string{"eslint"}, exit: oneFails()},
		{words: []string{"tsc"}, format: report.Lines, exit: anyFailure()},
		{words: []string{"prettier"}, exit: oneFails()},
		{words: []string{"stylelint"}, exit: exitRule{Pass: []int{0}, Fail: []int{2}, Else: fault}},
		{words: []string{"markdownlint"}, format: report.Lines, exit: oneFails()},
		{words: []string{"node", "--test"}, flags: []string{"--test-reporter=tap"}, format: report.TAP, exit: anyFailure(), inProcess: true},
		{words: []string{"jest"}, exit: anyFailure(), inProcess: true},
		{words: []string{"vitest"}, flags: []string{"--reporter=tap"}, format: report.TAP, exit: anyFailure(), inProcess: true},
		{words: []string{"mocha"}, exit: anyFailure(), inProcess: true},
		{words: []string{"cargo", "test"}, exit: anyFailure(), inProcess: true},
		{words: []string{"prove"}, exit: anyFailure(), inProcess: true},
	}
}

// toolOf is what is known of a config's program. npx and python3 -m run another one.
func toolOf(c *config) tool {
	words := c.Run
	if len(words) == 0 {
		words = strings.Fields(c.Shell)
		if strings.ContainsAny(c.Shell, "|;&<>$`\n") {
			// The status is the last program's, of several: only what runs inside is known.
			return tool{exit: anyFailure(), inProcess: slices.ContainsFunc(tools(), func(t tool) bool { return t.inProcess && t.among(words) })}
		}
	}
	if len(words) > 1 && (path.Base(words[0]) == "npx" || path.Base(words[0]) == "uvx") {
		words = slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "-y" || w == "--no-install" || w == "--no" || w == "--" })
	}
	for _, t := range tools() {
		if len(words) == 0 || path.Base(words[0]) != t.words[0] || !t.among(words) {
			continue
		}
		if t.words[0] == "shellcheck" && !t.onStdout(c) {
			t.format = ""
			if t.flags[0] == "checkstyle" {
				continue
			}
		}
		return t
	}
	return tool{exit: anyFailure()}
}

// among is whether the tool's words are among a command's.
func (t *tool) among(words []string) bool {
	for _, word := range t.words {
		if !slices.ContainsFunc(words, func(w string) bool { return w == word || path.Base(w) == word }) {
			return false
		}
	}
	return true
}
