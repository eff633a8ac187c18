package policy

import (
	"path"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/sdk"
)

// TextFolder is a folder next to the points' folders. Its YAML files decide nothing here, but
// belong to the set, so that they are in force, replaced and pushed together with the policies.
type TextFolder struct {
	// Name is the folder's name, such as prompt-policies.
	Name string
	// Check refuses files, by names such as prompt-policies/no-keys.yaml, that can't be used. The
	// detail "problems" of its error, a []format.Problem, lists what is wrong with them.
	Check func(files map[string]string) error
}

// With are the points with folders of texts next to them.
func (p *Points) With(folders ...TextFolder) *Points {
	with := *p
	with.folders = folders
	return &with
}

// folder is the folder of texts with a name; nil if there is none.
func (p *Points) folder(name string) *TextFolder {
	for i := range p.folders {
		if p.folders[i].Name == name {
			return &p.folders[i]
		}
	}
	return nil
}

// known refuses the name of a folder whose files nothing reads.
func (p *Points) known(name string) error {
	if p.folder(name) != nil {
		return nil
	}
	if _, err := p.find(policypoint.Point(name)); err != nil {
		return unknownPoint(policypoint.Point(name), p.folderNames())
	}
	return nil
}

func (p *Points) pointNames() (names []string) {
	for _, name := range p.Names() {
		names = append(names, string(name))
	}
	return names
}

// folderNames are the folders that a policy folder may have.
func (p *Points) folderNames() []string {
	names := p.pointNames()
	for _, f := range p.folders {
		names = append(names, f.Name)
	}
	return names
}

// textsOf are the files of the folders of texts.
func (p *Points) textsOf(c *contents) map[string]string {
	texts := map[string]string{}
	for _, f := range c.files {
		if p.folder(path.Dir(f.name)) != nil {
			texts[f.name] = string(f.text)
		}
	}
	return texts
}

// checkTexts lists what is wrong with texts.
func (p *Points) checkTexts(texts map[string]string) (problems []format.Problem) {
	for _, folder := range p.folders {
		err := folder.Check((&Set{texts: texts}).Texts(folder.Name))
		if err == nil {
			continue
		}
		if list, ok := sdk.AsError(err).Details["problems"].([]format.Problem); ok {
			problems = append(problems, list...)
			continue
		}
		c := contents{}
		c.refuse(folder.Name, err)
		problems = append(problems, c.problems...)
	}
	return problems
}
