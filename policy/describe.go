package policy

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/policy/defaults"
	"github.com/reflectory/reflectory/policy/program"
)

// Description is what there is to know of a point to write a policy for it.
type Description struct {
	Point core.Point `json:"point"`
	Doc   string     `json:"doc"`
	// Failure says what happens where a policy fails.
	Failure   string             `json:"failure"`
	Inputs    []program.Variable `json:"inputs"`
	Outputs   []program.Field    `json:"outputs"`
	Functions []program.Function `json:"functions"`
	// Default is the text of the policy that decides where no file does.
	Default string `json:"default"`
}

// Describe tells what a point's policies see and give. It comes from the same
// tables that they are compiled with.
func (p *Points) Describe(name core.Point) (*Description, error) {
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
