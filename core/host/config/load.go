package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

// Sources are where settings come from. The zero value means the defaults and the nearest
// reflectory.yaml, in the working folder or a folder above it.
type Sources struct {
	// Flags are values by the flag's name, without dashes. "" means not given.
	Flags map[string]string
	// Getenv reads the environment; a variable that is "" counts as not set. nil is an
	// empty environment.
	Getenv func(name string) string
	// Folder is where the search for reflectory.yaml starts, which continues upwards; ""
	// is the working folder.
	Folder string
}

// Load chooses the value of each setting and checks all of them. All problems of the
// file, the flags and the environment are one error, sdk.Invalid with the reason
// "config_invalid", whose detail "problems" is a []document.Problem. A problem of the
// file has its line and column, any other has its flag or variable. If the file can't be
// read, the error has the reason of [plainfile.Read]. If somebody else may change a file or
// folder that decides which programs run, the error is sdk.Denied, "path_untrusted".
//
// The whole file is checked, even the values that a flag or the environment overrides. A
// variable that a flag overrides isn't checked.
func Load(from Sources) (*Config, error) {
	if from.Getenv == nil {
		from.Getenv = func(string) string { return "" }
	}
	l := loader{Sources: from, settings: definitions(), wrong: map[string]bool{}, secrets: map[string]string{}}
	trust := newTrust(from.Getenv)
	path, data, err := findFile(from.Folder, trust)
	if err != nil {
		return nil, err
	}
	l.fileProblems = &document.Problems{File: path}
	if path != "" {
		l.file = readFile(data, l.settings, l.fileProblems)
		l.file["lock"] = fileValue{text: filepath.Join(filepath.Dir(path), install.LockFile)}
	}
	c := &Config{file: path}
	l.unknownFlags()
	for _, d := range l.settings {
		*d.field(c) = l.choose(c, d)
	}
	databases := l.readStores(c)
	l.checkEmbeddings(c)
	l.checkSummaries(c)
	l.checkReflection(c)
	l.checkIdentities(c)
	if err := invalid(slices.Concat(l.fileProblems.List(), l.others)); err != nil {
		return nil, err
	}
	c.typed = typed{reloadable: reloadable{dev: l.file["dev_plugins"].list, replacing: l.file["dev_plugins"].replacing, endpoints: append(knownEndpoints(), hostsOf(list(c.LLMEndpoints.Value))...)}}
	c.typed.commands = Commands{Allow: l.file["commands_allow"].list, Read: l.file["commands_read"].list, Env: l.file["commands_env"].list}
	c.typed.keys = c.keys()
	c.typed.dims, _ = readDims(c.EmbeddingsDims.Value) // these were checked
	c.typed.depthBoost, _ = readBoost(c.RecallDepthBoost.Value)
	c.typed.keep.Decisions, _ = readKeep(c.KeepDecisions.Value)
	c.typed.keep.Runs, _ = readKeep(c.KeepRuns.Value)
	for _, text := range list(c.OIDCGrants.Value) {
		g, _ := access.ParseGrant(text)
		c.typed.grants = append(c.typed.grants, g)
	}
	c.typed.lockWait, _ = readWait(c.LockWait.Value)
	c.typed.storeWait, _ = readWait(c.StoreWait.Value)
	c.typed.databases = databases
	c.typed.reflection.MaxTokens, _ = readTokens(c.ReflectionMaxTokens.Value)
	c.typed.reflection.MaxCostUSD, _ = readCost(c.ReflectionMaxCostUSD.Value)
	c.typed.reflection.Debounce, _ = readDebounce(c.ReflectionDebounce.Value)
	c.typed.dream = c.readDream()
	c.typed.network = l.openNetwork(c)
	c.typed.trust = trust
	c.LLMEndpoints.Value = strings.Join(append(knownEndpoints(), list(c.LLMEndpoints.Value)...), ",")
	if err := c.checkTrust(l.settings); err != nil {
		return nil, err
	}
	c.live = &live{from: from, files: c.stamp(from), values: c.values()}
	return c, nil
}

// loader is one call of Load.
type loader struct {
	Sources
	settings     table
	file         map[string]fileValue // by the setting's name
	fileProblems *document.Problems
	others       []document.Problem // of flags and of the environment
	wrong        map[string]bool    // settings with a problem, by name
	secrets      map[string]string  // values that aren't shown, by name
}

// choose takes the first value that is given, and checks it. The file's values were
// checked when the file was read.
func (l *loader) choose(c *Config, d Definition) Setting {
	var s Setting
	inFile, filed := l.file[d.Name]
	switch {
	case d.Flag != "" && l.Flags[d.Flag] != "":
		s = Setting{l.Flags[d.Flag], "flag --" + d.Flag}
	case l.variable(d) != "":
		s = Setting{l.Getenv(l.variable(d)), "environment " + l.variable(d)}
	case filed:
		l.wrong[d.Name] = inFile.wrong
		return Setting{inFile.text, l.fileProblems.File}
	case d.computed != nil:
		return Setting{d.computed(c, l.Getenv), OriginDefault}
	default:
		return Setting{d.Default, OriginDefault}
	}
	if f := d.fault(s.Value); f != nil {
		l.add(d.Name, s, f.hint, "%s", f.text(d, s.Value, " ("+s.Origin+")"))
	}
	if d.shown != nil {
		l.secrets[d.Name] = s.Value
		s.Value = d.shown(s.Value)
	}
	return s
}

// variable is the variable that sets a setting, "" if none does.
func (l *loader) variable(d Definition) string {
	for _, name := range append(slices.Clip(d.Others), d.Variable) {
		if name != "" && l.Getenv(name) != "" {
			return name
		}
	}
	return ""
}

// add notes a problem of a setting, with its position in the file if it comes from there.
func (l *loader) add(name string, s Setting, hint, format string, args ...any) {
	l.wrong[name] = true
	if from := l.file[name]; s.Origin == l.fileProblems.File && from.at.Line > 0 {
		l.fileProblems.Add(from.at, hint, format, args...)
		return
	}
	l.others = append(l.others, document.Problem{Message: fmt.Sprintf(format, args...), Hint: hint})
}

// unknownFlags refuses flags that no setting has: a mistake of the program.
func (l *loader) unknownFlags() {
	known := map[string]bool{}
	for _, d := range l.settings {
		known[d.Flag] = d.Flag != ""
	}
	for _, flag := range slices.Sorted(maps.Keys(l.Flags)) {
		if !known[flag] {
			hint := document.DidYouMean(flag, slices.Sorted(maps.Keys(known)))
			l.others = append(l.others, document.Problem{Message: "no setting has the flag --" + flag, Hint: hint})
		}
	}
}

// invalid combines all problems into one error, or returns nil. A single problem's hint
// becomes the error's hint.
func invalid(problems []document.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	ofFile := problems[0].File != ""
	if len(problems) == 1 && problems[0].Hint != "" {
		p := problems[0]
		p.Hint = ""
		return sdk.Errorf(sdk.Invalid, "config_invalid", "%s", p).WithHint("%s", problems[0].Hint).WithDetail("problems", problems)
	}
	err := sdk.AsError(document.Invalid("config_invalid", problems))
	if ofFile {
		err = err.WithHint("the keys are %s", definitions().keys())
	}
	return err
}

// OutsideFile reports whether an error of [Load] is also about a flag or a variable: then
// the command line or its environment has to change.
func OutsideFile(err error) bool {
	if err == nil {
		return false
	}
	problems, _ := sdk.AsError(err).Details["problems"].([]document.Problem)
	return slices.ContainsFunc(problems, func(p document.Problem) bool { return p.File == "" })
}

// list splits a value at commas.
func list(value string) []string {
	return slices.DeleteFunc(strings.Split(value, ","), func(item string) bool { return item == "" })
}
