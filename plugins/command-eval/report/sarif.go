package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/reflectory/reflectory/sdk"
)

// sarifLog, sarifRun, sarifRule and sarifResult are the part of SARIF 2.1.0 that findings are made of. Lists are
// decoded one element at a time: all elements of "[{},{},…]" at once take a hundred times the text's memory.
type sarifLog struct {
	Version string          `json:"version"`
	Runs    json.RawMessage `json:"runs"`
}

type sarifRun struct {
	Results json.RawMessage `json:"results"`
	Tool    struct {
		Driver struct {
			Rules json.RawMessage `json:"rules"`
		} `json:"driver"`
	} `json:"tool"`
}

type sarifRule struct {
	ID                   string `json:"id"`
	DefaultConfiguration struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifResult struct {
	RuleID  string `json:"ruleId"`
	Level   string `json:"level"`
	Kind    string `json:"kind"`
	Message struct {
		Text string `json:"text"`
	} `json:"message"`
	Suppressions [1]any `json:"suppressions"`
	Locations    [1]struct {
		PhysicalLocation struct {
			ArtifactLocation struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				StartLine   int `json:"startLine"`
				StartColumn int `json:"startColumn"`
			} `json:"region"`
		} `json:"physicalLocation"`
	} `json:"locations"`
}

// readSARIF reads SARIF 2.1.0. The level of a result is its own, else its rule's, else warning, as
// the standard says. Suppressed results and those that pass aren't findings.
func readSARIF(r *Report, text string) error {
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		return fmt.Errorf("it is not SARIF: %w", err)
	}
	if log.Version != "2.1.0" || len(log.Runs) == 0 || log.Runs[0] != '[' {
		return fmt.Errorf("it is not SARIF 2.1.0 (version %.20q)", log.Version)
	}
	return each(log.Runs, func(run *sarifRun) error {
		levels := map[string]string{}
		if err := each(run.Tool.Driver.Rules, func(rule *sarifRule) error {
			if level := rule.DefaultConfiguration.Level; level != "" {
				levels[rule.ID] = level
			}
			return nil
		}); err != nil {
			return err
		}
		return each(run.Results, func(result *sarifResult) error {
			r.sarif(result, levels[result.RuleID])
			return nil
		})
	})
}

// each decodes the elements of a list, or of nothing.
func each[T any](list json.RawMessage, use func(*T) error) error {
	if len(list) == 0 || string(list) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(list))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return fmt.Errorf("it is not SARIF: %.20q is not a list", list)
	}
	for d.More() {
		var element T
		if err := d.Decode(&element); err != nil {
			return fmt.Errorf("it is not SARIF: %w", err)
		}
		if err := use(&element); err != nil {
			return err
		}
	}
	return nil
}

// sarif adds a result, unless it passed or is suppressed.
func (r *Report) sarif(result *sarifResult, level string) {
	if result.Suppressions[0] != nil || result.Kind != "" && result.Kind != "fail" {
		return
	}
	at := &result.Locations[0].PhysicalLocation
	f := sdk.Finding{
		Message: result.Message.Text, Code: result.RuleID, Severity: cmp.Or(result.Level, level, Warning),
		Path: at.ArtifactLocation.URI, Line: at.Region.StartLine, Column: at.Region.StartColumn,
	}
	if plain, err := url.PathUnescape(f.Path); err == nil {
		f.Path = plain
	}
	r.add(f)
}
