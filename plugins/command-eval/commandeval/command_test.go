package commandeval

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
)

// hostOf is a host whose program ends like this, and keeps what it was asked.
func hostOf(resp *sdk.ExecResponse, asked *sdk.ExecRequest) context.Context {
	return sdk.WithHost(context.Background(), sdk.HostFunc(func(_ context.Context, service sdk.Service, request json.RawMessage) (json.RawMessage, error) {
		if service != sdk.ServiceExec {
			return nil, sdk.Errorf(sdk.Denied, "", "asked for %s", service)
		}
		if asked != nil {
			if err := json.Unmarshal(request, asked); err != nil {
				return nil, err
			}
		}
		return json.Marshal(resp)
	}))
}

func evaluate(t *testing.T, config, output string, resp *sdk.ExecResponse, asked *sdk.ExecRequest) (*sdk.Verdict, error) {
	t.Helper()
	plugin := Plugin()
	e, err := plugin.Evaluator(context.Background(), json.RawMessage(config))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Evaluate(hostOf(resp, asked), &sdk.EvaluateRequest{Call: sdk.Call{Iteration: 1}, State: json.RawMessage(`{"a":1}`), Output: json.RawMessage(output)})
	if err != nil {
		return nil, err
	}
	return &r.Verdict, nil
}

const (
	goPass = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p"}` + "\n"
	goFail = `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: got 1, want 2\n"}` + "\n" +
		`{"Action":"fail","Package":"p","Test":"TestB"}` + "\n" + `{"Action":"fail","Package":"p"}` + "\n"
	goNone = `{"Action":"pass","Package":"p"}` + "\n"
)

func TestVerdict(t *testing.T) {
	gotest := `{"run":["go","test","-json","./..."],"put":{"file":"main.go"}}`
	for name, c := range map[string]struct {
		config string
		resp   sdk.ExecResponse
		valid  bool
		score  float64
		want   string // a code and a message of a finding
		fails  string // the reason of an error
	}{
		"passes":                      {gotest, sdk.ExecResponse{Stdout: goPass}, true, 1, "", ""},
		"fails":                       {gotest, sdk.ExecResponse{Stdout: goFail, Exit: 1}, false, .5, "TestB b_test.go:7 TestB: got 1, want 2", ""},
		"a report of success, exit 1": {gotest, sdk.ExecResponse{Stdout: goPass, Exit: 1}, false, 0, "contradiction", ""},
		"a report of failure, exit 0": {gotest, sdk.ExecResponse{Stdout: goFail}, false, 0, "contradiction", ""},
		"nothing ran":                 {gotest, sdk.ExecResponse{Stdout: goNone}, false, 0, "", "unverified"},
		"nothing at all":              {gotest, sdk.ExecResponse{}, false, 0, "", "unverified"},
		"exit 0 and no report":        {gotest, sdk.ExecResponse{Stdout: "ok\n"}, false, 0, "", "unverified"},
		"exit 1 and no report":        {gotest, sdk.ExecResponse{Exit: 1, Stderr: "./a.go:3:4: undefined: x\n"}, false, 0, " ./a.go:3:4 undefined: x", ""},
		"allowed to be empty":         {`{"run":["go","test","-json"],"allow_empty":true}`, sdk.ExecResponse{Stdout: goNone}, true, 1, "", ""},
		"too few tests":               {`{"run":["go","test","-json"],"baseline":2}`, sdk.ExecResponse{Stdout: goPass}, false, .5, "baseline  1 tests ran", ""},
		"enough tests":                {`{"run":["go","test","-json"],"baseline":1}`, sdk.ExecResponse{Stdout: goPass}, true, 1, "", ""},
		"no tests of a baseline":      {`{"run":["go","test","-json"],"baseline":3}`, sdk.ExecResponse{Stdout: goNone}, false, 0, "baseline", ""},
		"a named test is gone":        {`{"run":["go","test","-json"],"baseline":["p.TestA","p.TestZ"]}`, sdk.ExecResponse{Stdout: goPass}, false, .5, "baseline  the test p.TestZ didn't run", ""},
		"a baseline, exit only":       {`{"run":["mytest"],"baseline":3}`, sdk.ExecResponse{}, false, 0, "", "unverified"},
		"timeout":                     {gotest, sdk.ExecResponse{Stopped: sdk.ExecTimeout, Exit: -1, Stdout: goPass}, false, 0, "timeout", ""},
		"memory":                      {gotest, sdk.ExecResponse{Stopped: sdk.ExecMemory, Exit: -1}, false, 0, "memory", ""},
		"processes":                   {gotest, sdk.ExecResponse{Stopped: sdk.ExecProcesses, Exit: -1}, false, 0, "processes", ""},
		"disk":                        {gotest, sdk.ExecResponse{Stopped: sdk.ExecDisk, Exit: 0, Stdout: goPass}, false, 0, "disk", ""},
		"a signal":                    {gotest, sdk.ExecResponse{Signal: "SIGKILL", Exit: -1, Stdout: goPass}, false, 0, "exit  go was ended by the signal SIGKILL", ""},
		"refused":                     {gotest, sdk.ExecResponse{Refused: []sdk.ExecRefusal{{Path: "x", Message: "is a link"}}}, false, 0, "refused x:0 x is a link", ""},
		"exit only, 0":                {`{"run":["make"]}`, sdk.ExecResponse{}, true, 1, "", ""},
		"exit only, 2":                {`{"run":["make"]}`, sdk.ExecResponse{Exit: 2, Stdout: "a.c:1:2: error: bad\n"}, false, 0, " a.c:1:2 bad", ""},
		"exit rule: fault":            {`{"run":["x"],"exit":{"fail":[1]}}`, sdk.ExecResponse{Exit: 3}, false, 0, "", "command_fault"},
		"exit rule: fails":            {`{"run":["x"],"exit":{"fail":[1]}}`, sdk.ExecResponse{Exit: 1}, false, 0, "exit", ""},
		"exit rule: passes":           {`{"run":["x"],"exit":{"pass":[0,3]}}`, sdk.ExecResponse{Exit: 3}, true, 1, "", ""},
		"pytest 5":                    {`{"run":["pytest"]}`, sdk.ExecResponse{Exit: 5}, false, 0, "", "unverified"},
		"pytest 2":                    {`{"run":["python3","-m","pytest"]}`, sdk.ExecResponse{Exit: 2}, false, 0, "", "command_fault"},
		"pytest 1":                    {`{"run":["pytest"]}`, sdk.ExecResponse{Exit: 1}, false, 0, "exit", ""},
		"eslint 2":                    {`{"run":["npx","eslint","."]}`, sdk.ExecResponse{Exit: 2}, false, 0, "", "command_fault"},
		"pylint usage":                {`{"run":["pylint","x.py"]}`, sdk.ExecResponse{Exit: 32}, false, 0, "", "command_fault"},
		"pylint error":                {`{"run":["pylint","x.py"]}`, sdk.ExecResponse{Exit: 2, Stdout: "x.py:1:0: E0602: Undefined variable 'y' (undefined-variable)\n"}, false, 0, "E0602 x.py:1", ""},
		"stylelint 2":                 {`{"run":["stylelint","x.css"]}`, sdk.ExecResponse{Exit: 2}, false, 0, "exit", ""},
		"junit":                       {`{"run":["x"],"report":"junit","report_file":"r.xml"}`, sdk.ExecResponse{Report: `<testsuites><testsuite><testcase name="a"/><testcase name="b"><failure message="no"/></testcase></testsuite></testsuites>`, Exit: 1}, false, .5, "b  b: no", ""},
		"junit in stdout is text":     {`{"run":["x"],"report":"junit","report_file":"r.xml"}`, sdk.ExecResponse{Stdout: `<testsuite><testcase name="a"/></testsuite>`}, false, 0, "", "unverified"},
		"tap":                         {`{"run":["x"]}`, sdk.ExecResponse{Stdout: "TAP version 13\nok 1 - a\n1..1\n"}, true, 1, "", ""},
		"sarif warns":                 {`{"run":["x"],"report":"sarif"}`, sdk.ExecResponse{Stdout: `{"version":"2.1.0","runs":[{"results":[{"message":{"text":"m"}}]}]}`}, true, 1, "", ""},
		"sarif warns, which fails":    {`{"run":["x"],"report":"sarif","fail_on":"warning"}`, sdk.ExecResponse{Stdout: `{"version":"2.1.0","runs":[{"results":[{"message":{"text":"m"}}]}]}`}, false, 0, "  m", ""},
		"no finding, exit 1":          {`{"run":["x"],"report":"sarif"}`, sdk.ExecResponse{Exit: 1, Stdout: `{"version":"2.1.0","runs":[]}`}, false, 0, "contradiction", ""},
		"cel":                         {`{"run":["x"],"report":{"cel":"exit == 0 && json.errors == 0"}}`, sdk.ExecResponse{Stdout: `{"errors":0}`}, true, 1, "", ""},
		"cel: no":                     {`{"run":["x"],"report":{"cel":"exit == 0"}}`, sdk.ExecResponse{Exit: 2}, false, 0, "cel", ""},
		"cel: a score":                {`{"run":["x"],"report":{"cel":"json.score"}}`, sdk.ExecResponse{Stdout: `{"score":0.5}`}, false, .5, "cel", ""},
		"cel: an object":              {`{"run":["x"],"report":{"cel":"{'valid': true, 'score': 0.9}"}}`, sdk.ExecResponse{}, true, .9, "", ""},
		"cel: nothing there":          {`{"run":["x"],"report":{"cel":"json.a.b"}}`, sdk.ExecResponse{Stdout: "{}"}, false, 0, "cel", ""},
		"cel: no verdict":             {`{"run":["x"],"report":{"cel":"json"}}`, sdk.ExecResponse{Stdout: `"yes"`}, false, 0, "cel  the expression can't be evaluated: it gives neither true or false, a score nor an object", ""},
		"cel: grows without end":      {`{"run":["x"],"report":{"cel":"[stdout]` + strings.Repeat(".map(t, t + t)", 40) + `[0] == stderr"}}`, sdk.ExecResponse{Stdout: "x"}, false, 0, "cel  the expression can't be evaluated: it was stopped at the cost limit, 3000000 units", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.resp.Program = sdk.ExecProgram{Path: "/usr/bin/x", SHA256: strings.Repeat("a", 64)}
			v, err := evaluate(t, c.config, `"text"`, &c.resp, nil)
			if c.fails != "" || err != nil {
				if sdk.ReasonOf(err) != c.fails || sdk.Transient(err) {
					t.Fatalf("got %v, %v; want %s", v, err, c.fails)
				}
				return
			}
			if v.Valid != c.valid || v.Score != c.score {
				t.Errorf("got %t, %g: %v", v.Valid, v.Score, v.Errors)
			}
			var all []string
			for _, f := range v.Errors {
				at := f.Path
				if f.Path != "" {
					at += ":" + itoa(f.Line)
				}
				if f.Column > 0 {
					at += ":" + itoa(f.Column)
				}
				all = append(all, f.Code+" "+at+" "+f.Message)
			}
			text := strings.ReplaceAll(strings.Join(all, "\n"), " a.go:", " ./a.go:")
			if !strings.Contains(text, c.want) || c.want == "" && len(all) > 0 && !strings.HasPrefix(name, "sarif warns") {
				t.Errorf("got %q, want %q", text, c.want)
			}
			if c.resp.Refused == nil && !strings.Contains(v.Feedback, "judged by /usr/bin/x (no version, sha256 aaaaaaaaaaaaaaaa), in_process: ") {
				t.Errorf("feedback %q", v.Feedback)
			}
		})
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestVerdict_SaysWhatTheReportIsWorth(t *testing.T) {
	for config, want := range map[string]bool{
		`{"run":["go","test","./..."]}`: true, `{"run":["/usr/local/go/bin/go","test"]}`: true, `{"run":["npx","-y","vitest","run"]}`: true,
		`{"run":["python3","-m","unittest"]}`: true, `{"sh":"go test -json ./... | tee x"}`: true, `{"run":["node","--test"]}`: true,
		`{"run":["go","vet"]}`: false, `{"run":["gcc","x.c"]}`: false, `{"run":["./judge"]}`: false, `{"run":["./judge"],"in_process":true}`: true,
		`{"run":["go","test"],"in_process":false}`: false,
	} {
		v, err := evaluate(t, config, `""`, &sdk.ExecResponse{Exit: 1}, nil)
		if err != nil || strings.Contains(v.Feedback, "in_process: true") != want {
			t.Error(config, v, err)
		}
	}
}

func TestFeedback_IsPlainAndShort(t *testing.T) {
	v, err := evaluate(t, `{"run":["make"]}`, `""`, &sdk.ExecResponse{Exit: 1, Stdout: strings.Repeat("é", 9000) + "\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x00"}, nil)
	if err != nil || len(v.Feedback) > 4500 || !strings.Contains(v.Feedback, "red link\njudged by") {
		t.Errorf("%q, %v", v.Feedback, err)
	}
}

func TestFindings_AreCounted(t *testing.T) {
	v, err := evaluate(t, `{"run":["gcc"]}`, `""`, &sdk.ExecResponse{Exit: 1, Stderr: strings.Repeat("a.c:1:2: error: bad\n", 70)}, nil)
	if err != nil || len(v.Errors) != 51 || v.Errors[50].Message != "20 further findings are not listed" {
		t.Error(len(v.Errors), err)
	}
}

func TestRequest(t *testing.T) {
	for name, c := range map[string]struct {
		config, output string
		want           sdk.ExecPut
		stdin, wrong   string
	}{
		"a file":             {`{"run":["x"],"put":{"file":"a.go"}}`, `"text"`, sdk.ExecPut{File: "a.go", Text: "text"}, `{"iteration":1,"state":{"a":1}}`, ""},
		"a file of JSON":     {`{"run":["x"],"put":{"file":"a.json"}}`, `{"b":1}`, sdk.ExecPut{File: "a.json", Text: `{"b":1}`}, `{"iteration":1,"state":{"a":1}}`, ""},
		"stdin":              {`{"run":["x"],"put":"stdin"}`, `"text"`, sdk.ExecPut{}, "text", ""},
		"a stdin of its own": {`{"run":["x"],"put":{"file":"a"},"stdin":"hello"}`, `"t"`, sdk.ExecPut{File: "a", Text: "t"}, "hello", ""},
		"no put":             {`{"run":["x"]}`, `"t"`, sdk.ExecPut{}, `{"iteration":1,"state":{"a":1},"output":"t"}`, ""},
		"files":              {`{"run":["x"],"put":"files","workspace":{"may_change":["**"]}}`, `{"a":"1","b/c":""}`, sdk.ExecPut{Files: map[string]string{"a": "1", "b/c": ""}}, `{"iteration":1,"state":{"a":1}}`, ""},
		"files in a text":    {`{"run":["x"],"put":"files","workspace":{"may_change":["**"]}}`, `"{\"a\":\"1\"}"`, sdk.ExecPut{Files: map[string]string{"a": "1"}}, `{"iteration":1,"state":{"a":1}}`, ""},
		"files: no object":   {`{"run":["x"],"put":"files","workspace":{"may_change":["**"]}}`, `["a"]`, sdk.ExecPut{}, "", "not an object of texts by path"},
		"files: no text":     {`{"run":["x"],"put":"files","workspace":{"may_change":["**"]}}`, `{"a":1}`, sdk.ExecPut{}, "", "not an object of texts by path"},
		"files: null":        {`{"run":["x"],"put":"files","workspace":{"may_change":["**"]}}`, `{"a":null}`, sdk.ExecPut{}, "", "has no text"},
		"files: twice":       {`{"run":["x"],"put":"files","workspace":{"may_change":["**"]}}`, `{"a":"1","a":"2"}`, sdk.ExecPut{}, "", "is in it twice"},
		"files: more":        {`{"run":["x"],"put":"files","workspace":{"may_change":["**"]}}`, `"{\"a\":\"1\"} {}"`, sdk.ExecPut{}, "", "doesn't end with }"},
		"a diff":             {`{"run":["x"],"put":"diff","workspace":{"may_change":["**"]}}`, `"--- a"`, sdk.ExecPut{Diff: "--- a"}, `{"iteration":1,"state":{"a":1}}`, ""},
		"an empty diff":      {`{"run":["x"],"put":"diff","workspace":{"may_change":["**"]}}`, `""`, sdk.ExecPut{}, "", "is empty, not a diff"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked sdk.ExecRequest
			v, err := evaluate(t, c.config, c.output, &sdk.ExecResponse{}, &asked)
			if err != nil {
				t.Fatal(err)
			}
			if c.wrong != "" {
				if v.Valid || len(v.Errors) != 1 || !strings.Contains(v.Errors[0].Message, c.wrong) || asked.Run != nil {
					t.Error(v)
				}
				return
			}
			if d := cmp.Diff(c.want, asked.Workspace.Put); d != "" || asked.Stdin != c.stdin || asked.TimeoutMS != 300_000 {
				t.Error(d, asked)
			}
		})
	}
}

func TestConfig_Refuses(t *testing.T) {
	for config, want := range map[string]string{
		`{}`: "either run", `{"run":["a"],"sh":"b"}`: "either run", `{"run":[]}`: "either run", `{"run":"a"}`: "not a list of texts", `{"run":["a"],"put":"file"}`: "put",
		`{"run":["a"],"put":{}}`: "put: file is missing", `{"run":["a"],"put":"diff"}`: "may_change is missing", `{"run":["a"],"put":"stdin","stdin":"x"}`: "stdin can't be given",
		`{"run":["a"],"report":"xml"}`: "report", `{"run":["a"],"report":{}}`: "report: cel is missing", `{"run":["a"],"report":{"cel":"1 +"}}`: "report.cel", `{"run":["a"],"report":{"cel":"'x'"}}`: "gives string",
		`{"run":["a"],"timeout":"0s"}`: "timeout", `{"run":["a"],"timeout":5}`: "timeout", `{"run":["a"],"timeout":"25h"}`: "timeout", `{"run":["a"],"limits":{"memory":"2 apples"}}`: "limits.memory",
		`{"run":["a"],"limits":{"memory":-1}}`: "limits.memory", `{"run":["a"],"limits":{"processes":0}}`: "limits.processes", `{"run":["a"],"limits":{"cpu":1}}`: "unknown key limits.cpu",
		`{"run":["a"],"exit":{"pass":[300]}}`: "can't be an exit status", `{"run":["a"],"exit":{"pass":[1],"fail":[1]}}`: "in both", `{"run":["a"],"exit":{"else":"pass"}}`: "exit.else",
		`{"run":["a"],"baseline":0}`: "at least 1 test", `{"run":["a"],"baseline":"x"}`: "baseline", `{"run":["a"],"fail_on":"never"}`: "fail_on", `{"run":["a"],"workspce":{}}`: "did you mean workspace",
	} {
		if _, err := prepare(json.RawMessage(config)); sdk.CodeOf(err) != sdk.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", config, err, want)
		}
	}
	c, err := parseConfig(json.RawMessage(`{"sh":"a","limits":{"memory":"2GiB","disk":1048576,"processes":9},"timeout":"90s","caches":{"go-build":"go build"},"env":["A"]}`))
	if err != nil || c.Limits != (sdk.ExecLimits{MemoryBytes: 2 << 30, Processes: 9, DiskBytes: 1 << 20}) || c.Timeout.Seconds() != 90 {
		t.Error(c, err)
	}
}

func TestGenerateAndCorrect(t *testing.T) {
	plugin, config := Plugin(), json.RawMessage(`{"run":["agent"],"report_file":"out.diff"}`)
	g, err := plugin.Generator(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	var asked sdk.ExecRequest
	r, err := g.Generate(hostOf(&sdk.ExecResponse{Report: "a diff", Stdout: "log"}, &asked), &sdk.GenerateRequest{State: json.RawMessage(`{"a":1}`)})
	if err != nil || string(r.Output) != `"a diff"` || asked.Report != "out.diff" || asked.Stdin != `{"iteration":0,"state":{"a":1}}` {
		t.Error(r, err, asked)
	}
	c, err := plugin.Corrector(context.Background(), json.RawMessage(`{"sh":"agent","put":{"file":"a.go"}}`))
	if err != nil {
		t.Fatal(err)
	}
	request := &sdk.CorrectRequest{Output: json.RawMessage(`"old"`), Errors: []sdk.Finding{{Message: "m", Path: "a.go", Line: 3}}, Feedback: "f"}
	next, err := c.Correct(hostOf(&sdk.ExecResponse{Stdout: "new"}, &asked), request)
	if err != nil || string(next.Output) != `"new"` || asked.Workspace.Put.Text != "old" || !strings.Contains(asked.Stdin, `"line":3`) || !strings.Contains(asked.Stdin, `"feedback":"f"`) {
		t.Error(next, err, asked)
	}
	for _, resp := range []*sdk.ExecResponse{
		{Exit: 1}, {Signal: "SIGSEGV", Exit: -1}, {Stopped: sdk.ExecTimeout}, {Cut: true}, {Refused: []sdk.ExecRefusal{{Path: "x", Message: "is a link"}}},
	} {
		// It made nothing usable, which counts as an attempt.
		if _, err := c.Correct(hostOf(resp, nil), request); sdk.ReasonOf(err) != "command_failed" || sdk.Permanent(err) || sdk.Transient(err) {
			t.Error(resp, err)
		}
	}
}

func TestPlugin(t *testing.T) {
	plugin := Plugin()
	if err := plugin.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Health(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestOriginal_SaysWhoIsToBlame if nothing ran, or if the program couldn't judge: the attempt, unless the command
// ends like that without it, too.
func TestOriginal_SaysWhoIsToBlame(t *testing.T) {
	const (
		gotest = `{"run":["go","test","-json","./..."],"workspace":{"from":"."},"put":{"file":"main.go"}}`
		pytest = `{"run":["pytest","-q","--junitxml=r.xml"],"report_file":"r.xml","workspace":{"from":"."},"put":{"file":"a.py"}}`
		broken = `<testsuites><testsuite><testcase name="t"><error message="collection failure">a.py:1: SyntaxError</error></testcase></testsuite></testsuites>`
	)
	original := strings.Replace(gotest, `"put"`, `"baseline":"original","put"`, 1)
	for name, c := range map[string]struct {
		config            string
		attempt, original sdk.ExecResponse
		want              string // a finding, the reason of an error, or "" for a valid output
	}{
		"it exits before the tests":                 {gotest, sdk.ExecResponse{Stdout: goNone}, sdk.ExecResponse{Stdout: goFail, Exit: 1}, "the original doesn't"},
		"it exits, the original passes":             {gotest, sdk.ExecResponse{}, sdk.ExecResponse{Stdout: goPass}, "the original doesn't"},
		"it exits, the original isn't compiled":     {gotest, sdk.ExecResponse{}, sdk.ExecResponse{Exit: 1, Stderr: "./a.go:1:2: undefined: x"}, "the original doesn't"},
		"it prints something else":                  {gotest, sdk.ExecResponse{Stdout: "ok"}, sdk.ExecResponse{Stdout: goPass}, "the original doesn't"},
		"there are no tests":                        {gotest, sdk.ExecResponse{Stdout: goNone}, sdk.ExecResponse{Stdout: goNone}, "unverified"},
		"it has a wrong syntax":                     {pytest, sdk.ExecResponse{Exit: 2, Report: broken}, sdk.ExecResponse{Exit: 1, Report: broken}, "exit status 2"},
		"it exits with 3":                           {pytest, sdk.ExecResponse{Exit: 3}, sdk.ExecResponse{Report: `<testsuite><testcase name="a"/></testsuite>`}, "exit status 3"},
		"nothing is collected":                      {pytest, sdk.ExecResponse{Exit: 5}, sdk.ExecResponse{Exit: 1, Report: broken}, "the original doesn't"},
		"the arguments are wrong":                   {pytest, sdk.ExecResponse{Exit: 4}, sdk.ExecResponse{Exit: 4}, "command_fault"},
		"the original can't be judged":              {pytest, sdk.ExecResponse{Exit: 2}, sdk.ExecResponse{Exit: 4}, "command_fault"},
		"a rule of one's own":                       {`{"run":["x"],"exit":{"fail":[1]},"workspace":{"from":"."},"put":{"file":"a"}}`, sdk.ExecResponse{Exit: 9}, sdk.ExecResponse{Exit: 1}, "exit status 9"},
		"all tests of the original run":             {original, sdk.ExecResponse{Stdout: goPass}, sdk.ExecResponse{Stdout: goPass}, ""},
		"a test of the original is gone":            {original, sdk.ExecResponse{Stdout: goPass}, sdk.ExecResponse{Stdout: goFail, Exit: 1}, "the test p.TestB didn't run"},
		"the original has no tests to compare":      {original, sdk.ExecResponse{Stdout: goPass}, sdk.ExecResponse{Exit: 1}, "unverified"},
		"nothing ran, the tests are the original's": {original, sdk.ExecResponse{Stdout: goNone}, sdk.ExecResponse{Stdout: goPass}, "the original doesn't"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := sdk.WithHost(t.Context(), sdk.HostFunc(func(_ context.Context, _ sdk.Service, request json.RawMessage) (json.RawMessage, error) {
				var q sdk.ExecRequest
				if err := json.Unmarshal(request, &q); err != nil {
					return nil, err
				}
				if q.Workspace.Put.File == "" {
					return json.Marshal(c.original)
				}
				return json.Marshal(c.attempt)
			}))
			e, err := prepare(json.RawMessage(c.config))
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Evaluate(ctx, &sdk.EvaluateRequest{Output: json.RawMessage(`"text"`)})
			if err != nil {
				if sdk.ReasonOf(err) != c.want {
					t.Error(err)
				}
				return
			}
			if said := fmt.Sprint(r.Verdict.Errors); r.Verdict.Valid != (c.want == "") || !strings.Contains(said, c.want) || !r.Verdict.Valid && r.Verdict.Score == 1 {
				t.Errorf("%+v", r.Verdict)
			}
		})
	}
}
