package commandeval

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/plugins/command-eval/report"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// The values of report: besides the formats.
const (
	reportAuto = "auto"
	reportExit = "exit"
	reportCEL  = "cel"
)

// The values of put: besides {file: PATH}.
const (
	putFiles = "files"
	putDiff  = "diff"
	putStdin = "stdin"
)

// maxTimeout is the longest that a program may run.
const maxTimeout = 24 * time.Hour

// config is what a workflow writes under this evaluator. See configSchema.
type config struct {
	Run   []string
	Shell string

	From               string
	MayChange, Protect []string
	// Put is putFiles, putDiff, putStdin, or "" with PutFile for the file.
	Put, PutFile string
	Stdin        *string

	// Report is reportExit, reportCEL or a format; reportAuto is resolved when it is read.
	Report, ReportFile, CEL string
	Timeout                 time.Duration
	Limits                  sdk.ExecLimits
	Caches                  map[string]string
	Env                     []string

	// Expected is how many tests must run, and Baseline which. With Original, the original's must.
	Original   bool
	Expected   int
	Baseline   []string
	Exit       exitRule
	FailOn     string
	AllowEmpty bool
	InProcess  bool
}

// exitRule says what an exit status means.
type exitRule struct {
	Pass, Fail []int
	Else       class
	// Empty are the statuses with which a runner says that nothing ran.
	Empty []int
	// Bits is whether the status is a set of bits, as pylint's: a fault if one of FaultBits is set,
	// otherwise what the report says.
	Bits      bool
	FaultBits int
}

// class is what an exit status means.
type class string

const (
	pass  class = "pass"
	fail  class = "fail"
	empty class = "empty"
	fault class = "fault"
)

// parseConfig decodes a config strictly and reports all problems at once.
func parseConfig(data json.RawMessage) (*config, error) {
	c := &config{FailOn: report.Error, Timeout: 5 * time.Minute}
	o := jsonconfig.Read(data)
	o.Take("run", "a list of texts", &c.Run)
	o.Take("sh", "text", &c.Shell)
	if (len(c.Run) > 0) == (c.Shell != "") {
		o.Report("give either run, a program with its arguments, or sh, a command of the shell")
	}
	w := o.Object("workspace")
	w.Take("from", "text", &c.From)
	w.Take("may_change", "a list of patterns", &c.MayChange)
	w.Take("protect", "a list of patterns", &c.Protect)
	w.Done()
	c.readPut(o)
	c.readReport(o)
	c.Timeout = duration(o, "timeout", c.Timeout)
	c.readLimits(o.Object("limits"))
	o.Take("caches", "an object of commands by name", &c.Caches)
	o.Take("env", "a list of names", &c.Env)
	c.readBaseline(o)
	tool := toolOf(c)
	c.Exit, c.InProcess = tool.exit, tool.inProcess
	c.readExit(o)
	o.OneOf("fail_on", &c.FailOn, report.Error, report.Warning, report.Info)
	o.Take("allow_empty", "a boolean", &c.AllowEmpty)
	o.Take("in_process", "a boolean", &c.InProcess)
	if c.Report == reportAuto && tool.format != "" && (c.ReportFile != "" || tool.onStdout(c)) {
		c.Report = string(tool.format)
	}
	o.Done()
	return c, o.Err("command-eval config", "correct the config; the README of command-eval lists its keys")
}

func (c *config) readPut(o *jsonconfig.Object) {
	var stdin string
	if o.Take("stdin", "text", &stdin) {
		c.Stdin = &stdin
	}
	var raw json.RawMessage
	if !o.Take("put", "files, diff, stdin or {file: PATH}", &raw) {
		return
	}
	if jsonconfig.TypeName(raw) == "an object" {
		p := o.Object("put")
		p.Take("file", "text", &c.PutFile)
		p.Done()
		if c.PutFile == "" {
			o.Report("put: file is missing: name the file that gets the output")
		}
		return
	}
	o.OneOf("put", &c.Put, putFiles, putDiff, putStdin)
	if c.Put == putStdin && c.Stdin != nil {
		o.Report("stdin can't be given with put: stdin")
	}
	if (c.Put == putFiles || c.Put == putDiff) && len(c.MayChange) == 0 {
		o.Report("workspace.may_change is missing: put: %s needs the patterns of the files that an attempt may change", c.Put)
	}
}

func (c *config) readReport(o *jsonconfig.Object) {
	c.Report = reportAuto
	o.Take("report_file", "text", &c.ReportFile)
	var raw json.RawMessage
	if !o.Take("report", "a format or {cel: EXPRESSION}", &raw) {
		return
	}
	if jsonconfig.TypeName(raw) == "an object" {
		r := o.Object("report")
		r.Take("cel", "text", &c.CEL)
		r.Done()
		if c.CEL == "" {
			o.Report("report: cel is missing: give an expression over exit, stdout, stderr, report and json")
		}
		c.Report = reportCEL
		return
	}
	names := []string{reportAuto, reportExit}
	for _, f := range report.Formats() {
		names = append(names, string(f))
	}
	o.OneOf("report", &c.Report, names...)
}

// baselineOriginal is the value of baseline: for the tests of the original.
const baselineOriginal = "original"

// readBaseline reads a number of tests, their names, or that the original has them.
func (c *config) readBaseline(o *jsonconfig.Object) {
	const what = "a number, a list of names or original"
	var raw json.RawMessage
	if !o.Take("baseline", what, &raw) {
		return
	}
	switch jsonconfig.TypeName(raw) {
	case "a list":
		o.Take("baseline", what, &c.Baseline)
	case "text":
		var word string
		o.OneOf("baseline", &word, baselineOriginal)
		c.Original = true
	default:
		if o.Take("baseline", what, &c.Expected) && c.Expected < 1 {
			o.Report("baseline is %d: at least 1 test must run", c.Expected)
		}
	}
}

func (c *config) readExit(o *jsonconfig.Object) {
	if !o.Has("exit") {
		return
	}
	rule := exitRule{Pass: []int{0}, Else: fault}
	e := o.Object("exit")
	e.Take("pass", "a list of numbers", &rule.Pass)
	e.Take("fail", "a list of numbers", &rule.Fail)
	otherwise := string(rule.Else)
	e.OneOf("else", &otherwise, string(fail), string(fault))
	rule.Else = class(otherwise)
	e.Done()
	for _, status := range slices.Concat(rule.Pass, rule.Fail) {
		if status < 0 || status > 255 {
			o.Report("exit: %d can't be an exit status", status)
		}
		if slices.Contains(rule.Pass, status) && slices.Contains(rule.Fail, status) {
			o.Report("exit: %d is in both pass and fail", status)
		}
	}
	c.Exit = rule
}

func (c *config) readLimits(o *jsonconfig.Object) {
	c.Limits.MemoryBytes = size(o, "memory")
	c.Limits.DiskBytes = size(o, "disk")
	if o.Take("processes", "a number", &c.Limits.Processes) && c.Limits.Processes < 1 {
		o.Report("processes is %d: at least 1", c.Limits.Processes)
	}
	o.Done()
}

// size reads a number of bytes, such as "2GiB" or 1048576; 0 if it's absent.
func size(o *jsonconfig.Object, key string) int64 {
	var raw json.RawMessage
	const what = `a size such as "512MiB"`
	if !o.Take(key, what, &raw) {
		return 0
	}
	var text string
	if jsonconfig.TypeName(raw) != "text" {
		text = string(raw)
	} else if !o.Take(key, what, &text) {
		return 0
	}
	number, unit := text, int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		if rest, is := strings.CutSuffix(text, suffix); is {
			number, unit = strings.TrimSpace(rest), factor
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > 1<<50/unit {
		o.Report("%s is %.40q, not %s", key, text, what)
		return 0
	}
	return n * unit
}

func duration(o *jsonconfig.Object, key string, absent time.Duration) time.Duration {
	var text string
	if !o.Take(key, `a duration such as "5m"`, &text) {
		return absent
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		o.Report("%s is %.40q, not a duration such as \"5m\" up to %s", key, text, maxTimeout)
	}
	return d
}

// name is the program's name, for messages.
func (c *config) name() string {
	if c.Shell != "" {
		return "the command"
	}
	return path.Base(c.Run[0])
}

// configSchema is the JSON Schema of a config; parseConfig enforces it.
var configSchema = fmt.Sprintf(`{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "oneOf": [{"required": ["run"]}, {"required": ["sh"]}],
  "additionalProperties": false,
  "properties": {
    "run": {"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "the program and its arguments"},
    "sh": {"type": "string", "minLength": 1, "description": "a command of the shell"},
    "workspace": {"type": "object", "additionalProperties": false, "description": "the folder that the program runs in: a copy for each call", "properties": {
      "from": {"type": "string", "description": "the original, in the workflow's folder or a granted one"},
      "may_change": %[1]s,
      "protect": %[1]s}},
    "put": {"description": "where the output goes", "anyOf": [{"enum": ["files", "diff", "stdin"]},
      {"type": "object", "required": ["file"], "additionalProperties": false, "properties": {"file": {"type": "string", "minLength": 1}}}]},
    "stdin": {"type": "string", "description": "what the program reads"},
    "report": {"description": "what the program reports", "anyOf": [{"enum": ["auto", "exit", "junit", "tap", "sarif", "go-test", "checkstyle", "lines"]},
      {"type": "object", "required": ["cel"], "additionalProperties": false, "properties": {"cel": {"type": "string", "minLength": 1}}}]},
    "report_file": {"type": "string", "minLength": 1, "description": "the file that the program writes its report to; by default it's what it prints"},
    "timeout": {"type": "string", "default": "5m", "description": "how long the program may run"},
    "limits": {"type": "object", "additionalProperties": false, "description": "bounds of the program and all that it starts", "properties": {
      "memory": %[2]s, "disk": %[2]s, "processes": {"type": "integer", "minimum": 1}}},
    "caches": {"type": "object", "additionalProperties": {"type": "string"}, "description": "folders that a command fills on the original"},
    "env": {"type": "array", "items": {"type": "string"}, "description": "variables of the host's environment"},
    "baseline": {"description": "the tests that must run: how many, their names, or the original's", "anyOf": [{"const": "original"}, {"type": "integer", "minimum": 1}, {"type": "array", "items": {"type": "string"}}]},
    "exit": {"type": "object", "additionalProperties": false, "description": "what an exit status means", "properties": {
      "pass": %[3]s, "fail": %[3]s, "else": {"enum": ["fail", "fault"]}}},
    "fail_on": {"enum": ["error", "warning", "info"], "default": "error", "description": "the least severity of a finding that makes an output invalid"},
    "allow_empty": {"type": "boolean", "default": false, "description": "pass if nothing ran"},
    "in_process": {"type": "boolean", "description": "whether the judged code runs in the process that writes the report"}
  }
}`, `{"type": "array", "items": {"type": "string"}, "description": "patterns of paths"}`,
	`{"type": ["string", "integer"], "description": "a size such as 512MiB"}`,
	`{"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}`)
