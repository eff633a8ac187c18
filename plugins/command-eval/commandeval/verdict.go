package commandeval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/plugins/command-eval/report"
	"github.com/reflectory/reflectory/sdk"
)

// Codes of findings that the plugin itself makes.
const (
	codeRefused       = "refused"       // the attempt changes what it may not
	codeExit          = "exit"          // the exit status
	codeContradiction = "contradiction" // the report and the exit status don't agree
	codeBaseline      = "baseline"      // tests are gone
	codeReport        = "report"        // the report can't be read
)

// Reasons of errors that aren't the host's.
const (
	reasonUnverified = "unverified"    // the program judged nothing
	reasonFault      = "command_fault" // the program says that it couldn't judge
)

// maxFeedback is the end of the output that is kept where nothing could be parsed.
const maxFeedback = 4 << 10

// maxMissing are the missing tests that are named.
const maxMissing = 20

// verdict judges what the host saw.
func (c *command) verdict(ctx context.Context, resp *sdk.ExecResponse) (*sdk.Verdict, error) {
	v := &sdk.Verdict{}
	switch {
	case len(resp.Refused) > 0:
		for _, r := range resp.Refused {
			v.Errors = append(v.Errors, sdk.Finding{Path: r.Path, Message: strings.TrimSpace(r.Path + " " + r.Message), Code: codeRefused})
		}
		v.Errors = listed(v.Errors, len(v.Errors))
		return v, nil // nothing ran
	case resp.Stopped != "":
		v.Errors = []sdk.Finding{{Message: c.stopped(resp), Code: resp.Stopped}}
	case resp.Signal != "":
		v.Errors = []sdk.Finding{{Message: fmt.Sprintf("%s was ended by the signal %s", c.name(), resp.Signal), Code: codeExit}}
	case c.Report == reportCEL:
		v = c.evaluate(ctx, resp)
	default:
		if err := c.judge(v, resp); err != nil {
			return nil, err
		}
	}
	if !v.Valid && !slices.ContainsFunc(v.Errors, func(f sdk.Finding) bool { return f.Line > 0 }) {
		v.Feedback = c.end(resp)
	}
	v.Feedback = strings.TrimLeft(v.Feedback+"\n"+c.judgedBy(resp), "\n")
	return v, nil
}

// judge compares the report with the exit status.
func (c *command) judge(v *sdk.Verdict, resp *sdk.ExecResponse) error {
	exit := c.classify(resp.Exit)
	if exit == fault {
		return c.fault(resp)
	}
	if exit == empty {
		return c.nothingRan(v, "it found no tests")
	}
	r, format, err := c.read(resp)
	if err != nil && exit == pass {
		return c.nothingRan(v, fmt.Sprintf("its report can't be read as %s: %v", format, err))
	}
	if r == nil || err != nil { // only the exit status counts
		return c.byExit(v, exit, resp, err)
	}
	v.Errors = listed(r.Findings, r.Found)
	if r.Tests {
		return c.byTests(v, exit, r, resp)
	}
	bad := c.bad(r)
	v.Valid = bad == 0
	if v.Valid && exit == fail && !c.Exit.Bits {
		v.Valid = false
		c.contradict(v, "the report has no finding of severity %s, but the exit status is %d", c.FailOn, resp.Exit)
	}
	if v.Valid {
		v.Score = 1
	}
	return nil
}

// classify is what an exit status means.
func (c *config) classify(status int) class {
	switch {
	case c.Exit.Bits && status&c.Exit.FaultBits != 0:
		return fault
	case c.Exit.Bits && status != 0:
		return fail
	case slices.Contains(c.Exit.Pass, status):
		return pass
	case slices.Contains(c.Exit.Fail, status):
		return fail
	case slices.Contains(c.Exit.Empty, status):
		return empty
	}
	return c.Exit.Else
}

// read reads the report; nil without an error if there is none to read.
func (c *command) read(resp *sdk.ExecResponse) (*report.Report, report.Format, error) {
	text := resp.Stdout
	if c.ReportFile != "" {
		text = resp.Report
	}
	format := report.Format(c.Report)
	switch c.Report {
	case reportExit:
		return nil, "", nil
	case reportAuto:
		if format = report.Detect(text); format == "" {
			return nil, "", nil
		}
	case string(report.Lines):
		if c.ReportFile == "" {
			text += "\n" + resp.Stderr
		}
	}
	r, err := report.Read(format, text)
	return r, format, err
}

// byExit judges by the exit status alone, with what the output says of places.
func (c *command) byExit(v *sdk.Verdict, exit class, resp *sdk.ExecResponse, unread error) error {
	if exit == pass {
		if c.Expected > 0 || len(c.Baseline) > 0 {
			return c.nothingRan(v, "it has no report, which baseline needs")
		}
		v.Valid, v.Score = true, 1
		return nil
	}
	if r, err := report.Read(report.Lines, resp.Stdout+"\n"+resp.Stderr); err == nil {
		v.Errors = listed(r.Findings, r.Found)
	}
	message := fmt.Sprintf("%s ended with exit status %d", c.name(), resp.Exit)
	if unread != nil {
		message += fmt.Sprintf(", and its report can't be read: %v", unread)
	}
	v.Errors = append(v.Errors, sdk.Finding{Message: report.Plain(message), Code: codeExit})
	return nil
}

// byTests judges by the tests that ran.
func (c *command) byTests(v *sdk.Verdict, exit class, r *report.Report, resp *sdk.ExecResponse) error {
	ran := r.Passed + r.Failed
	if ran > 0 {
		v.Score = float64(r.Passed) / float64(ran)
	}
	v.Valid = r.Failed == 0 && exit == pass
	switch {
	case ran == 0 && exit == pass:
		if c.Expected == 0 && len(c.Baseline) == 0 {
			return c.nothingRan(v, fmt.Sprintf("no test ran (%d skipped)", r.Skipped))
		}
	case r.Failed > 0 && exit == pass:
		c.contradict(v, "the report has %d failed tests, but the exit status is %d", r.Failed, resp.Exit)
	case r.Failed == 0 && exit == fail:
		c.contradict(v, "the report has no failed test, but the exit status is %d", resp.Exit)
	}
	if c.Expected > ran {
		v.Valid, v.Score = false, float64(r.Passed)/float64(c.Expected)
		v.Errors = append(v.Errors, sdk.Finding{Message: fmt.Sprintf("%d tests ran (%d skipped), and %d must", ran, r.Skipped, c.Expected), Code: codeBaseline})
	}
	c.lacks(v, r, c.Baseline)
	return nil
}

// lacks makes an attempt invalid with which tests of a baseline didn't run.
func (c *command) lacks(v *sdk.Verdict, r *report.Report, baseline []string) {
	missing := r.Missing(baseline)
	if len(missing) == 0 {
		return
	}
	v.Valid, v.Score = false, float64(r.Passed)/float64(r.Passed+r.Failed+len(missing))
	for _, name := range missing[:min(len(missing), maxMissing)] {
		v.Errors = append(v.Errors, sdk.Finding{Message: "the test " + name + " didn't run", Code: codeBaseline})
	}
	if more := len(missing) - maxMissing; more > 0 {
		v.Errors = append(v.Errors, sdk.Finding{Message: fmt.Sprintf("%d further tests didn't run", more), Code: codeBaseline})
	}
}

// contradict makes an attempt invalid whose report doesn't agree with the exit status: one of them
// may be forged.
func (c *command) contradict(v *sdk.Verdict, format string, args ...any) {
	v.Valid, v.Score = false, 0
	v.Errors = append(v.Errors, sdk.Finding{Message: fmt.Sprintf(format, args...), Code: codeContradiction})
}

// bad is the number of findings that make an output invalid.
func (c *command) bad(r *report.Report) int {
	bad := r.Severities[report.Error]
	if c.FailOn != report.Error {
		bad += r.Severities[report.Warning]
	}
	if c.FailOn == report.Info {
		bad += r.Severities[report.Info]
	}
	return bad
}

// nothingRan is a fault, unless the config allows it: an output that nothing looked at isn't good.
func (c *command) nothingRan(v *sdk.Verdict, why string) error {
	if c.AllowEmpty {
		v.Valid, v.Score = true, 1
		return nil
	}
	return sdk.Errorf(sdk.Conflict, reasonUnverified, "%s judged nothing: %s", c.name(), why).
		WithHint("correct the command or its report; or set allow_empty if nothing needs to run")
}

// fault is the error for an exit status with which a program says that it couldn't judge.
func (c *command) fault(resp *sdk.ExecResponse) error {
	return sdk.Errorf(sdk.Conflict, reasonFault, "%s couldn't judge: it ended with exit status %d: %s", c.name(), resp.Exit, last(c.end(resp), 300)).
		WithHint("correct the command; exit: {pass, fail, else} says what each status means").
		WithDetail("output", c.end(resp))
}

// stopped says which bound ended the program.
func (c *command) stopped(resp *sdk.ExecResponse) string {
	switch resp.Stopped {
	case sdk.ExecTimeout:
		return fmt.Sprintf("%s didn't end within %s", c.name(), c.Timeout)
	case sdk.ExecMemory, sdk.ExecProcesses, sdk.ExecDisk:
		return fmt.Sprintf("%s reached its limit of %s", c.name(), resp.Stopped)
	}
	return fmt.Sprintf("%s was ended by a limit (%s)", c.name(), resp.Stopped)
}

// unusable is why a program's output is none, "" if it is one.
func (c *command) unusable(resp *sdk.ExecResponse) string {
	switch {
	case len(resp.Refused) > 0:
		return "the attempt can't be put into its workspace: " + strings.TrimSpace(resp.Refused[0].Path+" "+resp.Refused[0].Message)
	case resp.Stopped != "":
		return c.stopped(resp)
	case resp.Signal != "":
		return "it was ended by the signal " + resp.Signal
	case c.classify(resp.Exit) == fail || c.classify(resp.Exit) == empty:
		return fmt.Sprintf("it ended with exit status %d: %s", resp.Exit, last(c.end(resp), 300))
	case resp.Cut && c.ReportFile == "":
		return "it printed more than 4 MiB"
	}
	return ""
}

// end is the end of what the program printed.
func (c *command) end(resp *sdk.ExecResponse) string {
	return last(report.Plain(strings.TrimSpace(resp.Stdout+"\n"+resp.Stderr)), maxFeedback)
}

func last(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-n:], "")
}

// judgedBy is the line of a verdict that says which program judged, and whether the judged
// code could write the report itself.
func (c *command) judgedBy(resp *sdk.ExecResponse) string {
	p := resp.Program
	line := fmt.Sprintf("judged by %s (%s, sha256 %.16s), in_process: %t", report.Plain(cmp.Or(p.Path, c.name())),
		report.Plain(cmp.Or(last(p.Version, 200), "no version")), p.SHA256, c.InProcess)
	if len(resp.Unbounded) > 0 {
		line += "; not bounded: " + strings.Join(resp.Unbounded, ", ")
	}
	return line
}

// facts are the same for programs.
func (c *command) facts(resp *sdk.ExecResponse) map[string]string {
	return map[string]string{
		"program": resp.Program.Path, "program_version": resp.Program.Version, "program_sha256": resp.Program.SHA256,
		"in_process": strconv.FormatBool(c.InProcess), "exit": strconv.Itoa(resp.Exit),
	}
}

// listed are the findings of a verdict, with a count of the others.
func listed(findings []sdk.Finding, found int) []sdk.Finding {
	findings = slices.Clone(findings[:min(len(findings), report.MaxFindings)])
	if more := found - len(findings); more > 0 {
		findings = append(findings, sdk.Finding{Message: fmt.Sprintf("%d further findings are not listed", more), Severity: report.Info})
	}
	return findings
}
