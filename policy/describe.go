package policy

import (
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/defaults"
	"github.com/reflectory/reflectory/policy/program"
)

// Description is everything that an author needs to know about a point to write a policy
// for it.
type Description struct {
	Point policypoint.Point `json:"point"`
	Doc   string            `json:"doc"`
	// Failure describes what happens if a policy fails.
	Failure   string             `json:"failure"`
	Inputs    []program.Variable `json:"inputs"`
	Outputs   []program.Field    `json:"outputs"`
	Functions []program.Function `json:"functions"`
	// Default is the text of the policy that decides if no file does.
	Default string `json:"default"`
}

// Describe lists the inputs and outputs of a point's policies. It uses the same tables
// with which they are compiled.
func (p *Points) Describe(name policypoint.Point) (*Description, error) {
	d, err := p.find(name)
	if err != nil {
		return nil, err
	}
	text, err := defaults.Files.ReadFile(string(name) + ".yaml")
	if err != nil {
		return nil, err
	}
	return &Description{
		Point: d.name, Doc: d.doc, Failure: d.failure, Inputs: d.env.Variables(), Outputs: d.env.Fields(),
		Functions: program.Functions(), Default: string(text),
	}, nil
}
