package host

import (
	"context"
	"maps"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/inject/policytext"
	"github.com/reflectory/reflectory/core/inject/rolemix"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

// Prompt policies and role mixes are files of the data folder, or of the policy folder. If hosts
// share a store, they are part of the set that was pushed to it: a prompt's rules mustn't depend
// on which host makes the prompt. Such a host may still have files in its data folder, which
// decide nothing. If they differ from what was pushed, the operator believes that rules are in
// force which aren't, so the host makes no prompts and isn't ready.

// PromptPolicyDir is the folder of the operator's texts that are in every prompt.
const PromptPolicyDir = "prompt-policies"

// RoleMixDir is the folder of the operator's role mixes.
const RoleMixDir = "role-mixes"

// PolicyPoints are the points of a host's policies. A folder of such policies may also have prompt
// policies and role mixes.
func PolicyPoints() *policy.Points {
	return policy.AllPoints().With(
		policy.TextFolder{Name: PromptPolicyDir, Check: func(files map[string]string) error {
			_, err := policytext.ReadAll(files)
			return err
		}},
		policy.TextFolder{Name: RoleMixDir, Check: func(files map[string]string) error {
			_, err := rolemix.WithShipped(files)
			return err
		}},
	)
}

// Prompts are what the prompts of turns consist of: the operator's texts, and what is known about
// the turn's session and namespace.
type Prompts struct {
	config   *Config
	policies *Policies
	plugins  *Plugins
	memories *memory.Memories
}

// source reads the files of a folder that are in force now. Unlike a decision outside
// transactions, it reads what was pushed from the store, so that no prompt that begins after a
// push lacks a rule.
func (p *Prompts) source(folder string) inject.Files {
	return func(ctx context.Context) (map[string]string, error) {
		set, err := p.policies.inForce(ctx)
		if err != nil {
			return nil, err
		}
		return p.filesWith(set, folder)
	}
}

// filesWith are the files of a folder that are in force together with a set of policies.
func (p *Prompts) filesWith(set *policy.Set, folder string) (map[string]string, error) {
	files := set.Texts(folder)
	own, err := inject.ReadFiles(p.config.Settings.DataDir.Value, folder)
	if err != nil {
		return nil, err
	}
	shared := p.policies.shared != nil
	if shared && len(own) > 0 && !maps.Equal(own, files) {
		return nil, sdk.Errorf(sdk.Unavailable, "prompt_files_differ", "the files of %s in this host's data folder aren't the ones that were pushed", folder).
			WithHint("push a policy folder that has them in its folder %s, or remove them: hosts that share a database use what was pushed", folder).
			WithDetail("folder", folder)
	}
	for name, text := range own {
		if in, both := files[name]; both && in != text {
			return nil, sdk.Errorf(sdk.Conflict, "prompt_files_differ", "the data folder's %s isn't the policy folder's", core.Cut(name)).
				WithHint("remove one of them").WithDetail("folder", folder)
		}
		files[name] = text
	}
	return files, nil
}

// PromptTexts are the prompt policies and role mixes of a set of policies, by names such as
// prompt-policies/no-keys.yaml.
func PromptTexts(set *policy.Set) map[string]string {
	texts := set.Texts(PromptPolicyDir)
	maps.Copy(texts, set.Texts(RoleMixDir))
	return texts
}

// Files are the texts of the prompt policies and role mixes in force, as [PromptTexts].
func (p *Prompts) Files(ctx context.Context) (map[string]string, error) {
	set, err := p.policies.inForce(ctx)
	if err != nil {
		return nil, err
	}
	if p.policies.shared != nil {
		return PromptTexts(set), nil
	}
	all, err := p.filesWith(set, PromptPolicyDir)
	if err != nil {
		return nil, err
	}
	mixes, err := p.filesWith(set, RoleMixDir)
	maps.Copy(all, mixes)
	return all, err
}

// unready is the reason why a host of a shared store makes no prompts, as far as it knows.
func (p *Prompts) unready() error {
	if p.policies.shared == nil {
		return nil
	}
	set := p.policies.Set()
	_, policies := p.filesWith(set, PromptPolicyDir)
	_, mixes := p.filesWith(set, RoleMixDir)
	return core.JoinErrors(policies, mixes)
}
