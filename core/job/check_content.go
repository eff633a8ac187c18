package job

import (
	"encoding/json"

	"github.com/reflectory/reflectory/core"
)

// No event has the content of a job, nor most of its numbers. So a check can only require
// that the records have no fields which the program doesn't write, and that the numbers
// are possible for a job.

// withinBounds reports whether the numbers that no event has are possible for a job.
func (rec *record) withinBounds() bool {
	return rec.Attempts >= 0 && rec.Snoozes >= 0 && rec.Crashes >= 0 && rec.Progress >= 0 && rec.Progress <= 1 &&
		rec.Wait >= 0 && rec.Steps >= 0 && rec.Steps <= MaxSteps && rec.StepBytes >= 0 && rec.StepBytes <= MaxStepBytes
}

// fields reports fields of jobs' records that the program doesn't write.
func (c *checking) fields() error {
	for prefix, form := range map[string]func() any{
		jobPrefix:     func() any { return &record{} },
		contentPrefix: func() any { return &content{} },
		resultPrefix:  func() any { return &result{} },
		stepPrefix:    func() any { return &step{} },
	} {
		err := c.each(prefix, func(key, value []byte) error {
			// A record that can't be decoded at all is reported where it is read.
			if err := core.DecodeStrict(value, form()); err != nil && json.Valid(value) {
				c.problem(key, false, "the record has a field that the program doesn't write: "+err.Error())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
