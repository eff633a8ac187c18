package report

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/reflectory/reflectory/sdk"
)

// sarifLog is the part of SARIF 2.1.0 that findings are made of.
type sarifLog struct {
	Version string `json:"version"`
	Runs    []struct {
		Results []sarifResult `json:"results"`
		Tool    struct {
			Driver struct {
				Rules []struct {
					ID                   string `json:"id"`
					DefaultConfiguration struct {
						Level string `json:"level"`
					} `json:"defaultConfiguration"`
				} `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
	} `json:"runs"`
}

type sarifResult struct {
	RuleID  string `json:"ruleId"`
	Level   string `json:"level"`
	Kind    string `json:"kind"`
	Message struct {
		Text string `json:"text"`
	} `json:"message"`
	Suppressions []json.RawMessage `json:"suppressions"`
	Locations    []struct {
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
	if log.Version != "2.1.0" || log.Runs == nil {
		return fmt.Errorf("it is not SARIF 2.1.0 (version %.20q)", log.Version)
	}
	for _, run := range log.Runs {
		levels := map[string]string{}
		for _, rule := range run.Tool.Driver.Rules {
			levels[rule.ID] = rule.DefaultConfiguration.Level
		}
		for i := range run.Results {
			result := &run.Results[i]
			if len(result.Suppressions) > 0 || result.Kind != "" && result.Kind != "fail" {
				continue
			}
			f := sdk.Finding{Message: result.Message.Text, Code: result.RuleID, Severity: result.Level}
			for _, level := range []string{levels[result.RuleID], Warning} {
				if f.Severity == "" {
					f.Severity = level
				}
			}
			if len(result.Locations) > 0 {
				at := result.Locations[0].PhysicalLocation
				f.Path, f.Line, f.Column = at.ArtifactLocation.URI, at.Region.StartLine, at.Region.StartColumn
				if plain, err := url.PathUnescape(f.Path); err == nil {
					f.Path = plain
				}
			}
			r.add(f)
		}
	}
	return nil
}
