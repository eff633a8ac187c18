package action

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/sdk"
)

// step is a plugin with a config, as an evaluator, generator and corrector. A
// config with templates is rendered for each call.
type step struct {
	plugins core.Plugins
	target  core.Target
	config  Value
	// refers is what the config reads from the state; the recorder notes it.
	refers []string
	hear   listener
	// tools, unless nil, may be called by its model.
	tools *toolUser
	// name is the step's name, if it is a child of a composite.
	name string
	// replies, unless nil, reuses the replies of identical calls in the namespace.
	replies   core.Replies
	namespace string
}

// listener hears of the calls of steps. The zero value hears nothing.
type listener struct {
	// note is called with what a call read from the state, and the memories that it used.
	note func(refers, used []string)
	// prompt is called with what a call sent to a language model.
	prompt   func(core.Prompt)
	withhold string
	// given are the memories that the run was given before.
	given *given
}

func listenerOf(req *Request) listener {
	return listener{req.Note, req.Prompt, req.Withhold, req.given}
}

// given are the memories whose content a run was given. Its models may recall more during an action.
type given struct {
	mu   sync.Mutex
	ids  []string
	hear func(ids []string)
}

// add adds memories that the run was given during the action.
func (g *given) add(ids []string) {
	if len(ids) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	all := slices.Concat(g.ids, ids)
	slices.Sort(all)
	g.ids = slices.Compact(all)
	if g.hear != nil {
		g.hear(ids)
	}
}

// list are the memories, sorted. The caller mustn't change it.
func (g *given) list() []string {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ids
}

// called reports a call.
func (s *step) called(role sdk.Role, metadata map[string]string) {
	used := strings.FieldsFunc(metadata[sdk.MetadataUsedMemories], func(r rune) bool { return r == ',' || r == ' ' })
	if s.hear.note != nil && len(s.refers)+len(used) > 0 {
		s.hear.note(s.refers, used)
	}
	s.prompted(role, core.ReadPrompt(metadata))
}

// failed reports what a failed call sent to a language model, and returns its error.
func (s *step) failed(role sdk.Role, err error) error {
	s.prompted(role, core.PromptOf(err))
	return err
}

func (s *step) prompted(role sdk.Role, messages []core.PromptMessage) {
	if s.hear.prompt == nil || messages == nil {
		return
	}
	p := core.Prompt{Role: role, Step: s.name, Plugin: s.target.Plugin, Messages: messages, Memories: s.hear.given.list()}
	p.Withhold(s.hear.withhold)
	s.hear.prompt(p)
}

func newStep(plugins core.Plugins, s Step, hear listener) (*step, error) {
	st := &step{plugins: plugins, target: core.Target{Plugin: s.Plugin, Timeout: s.Timeout}, refers: s.Refers, hear: hear, name: s.Name}
	if s.Config == nil {
		s.Config = Constant("{}")
	}
	if !s.Config.Constant() {
		st.config = s.Config
		return st, nil
	}
	config, err := s.Config.Render(Variables{})
	if err != nil {
		return nil, err
	}
	st.target.Config, st.target.Digest = config, core.Digest(config)
	return st, nil
}

// render returns the target of one call.
func (s *step) render(seen Variables) (core.Target, error) {
	if s.config == nil {
		return s.target, nil
	}
	config, err := s.config.Render(seen)
	if err != nil {
		// The template is wrong, or the state doesn't have what it names.
		return core.Target{}, sdk.AsPermanent(sdk.Wrap("render the config of "+s.target.Plugin, err))
	}
	target := s.target
	target.Config, target.Digest = config, core.Digest(config)
	return target, nil
}

// Evaluate implements sdk.Evaluator.
func (s *step) Evaluate(ctx context.Context, req *sdk.EvaluateRequest) (*sdk.EvaluateResponse, error) {
	target, err := s.render(Variables{State: req.State, Output: req.Output})
	if err != nil {
		return nil, err
	}
	resp, err := core.PluginEvaluator(s.plugins, target).Evaluate(ctx, req)
	if err != nil {
		return nil, s.failed(sdk.RoleEvaluate, err)
	}
	s.called(sdk.RoleEvaluate, resp.Metadata)
	return resp, nil
}

// Generate implements sdk.Generator.
func (s *step) Generate(ctx context.Context, req *sdk.GenerateRequest) (*sdk.GenerateResponse, error) {
	target, err := s.render(Variables{State: req.State})
	if err != nil {
		return nil, err
	}
	if known := s.cached(ctx, target, req.Iteration); known != nil {
		s.called(sdk.RoleGenerate, known.Metadata)
		return &sdk.GenerateResponse{Output: known.Output, Metadata: known.Metadata}, nil
	}
	if s.tools != nil {
		a, err := s.tools.converse(ctx, target, req.Call, sdk.RoleGenerate, s, func(target core.Target, call sdk.Call) (*answer, error) {
			one := *req
			one.Call = call
			resp, err := core.PluginGenerator(s.plugins, target).Generate(ctx, &one)
			if err != nil {
				return nil, err
			}
			return &answer{resp.Output, resp.Usage, resp.Metadata}, nil
		})
		if err != nil {
			return nil, err
		}
		return &sdk.GenerateResponse{Output: a.output, Usage: a.usage, Metadata: a.metadata}, nil
	}
	resp, err := core.PluginGenerator(s.plugins, target).Generate(ctx, req)
	if err != nil {
		return nil, s.failed(sdk.RoleGenerate, err)
	}
	s.keep(ctx, target, req.Iteration, &core.Reply{Output: resp.Output, Metadata: resp.Metadata})
	s.called(sdk.RoleGenerate, resp.Metadata)
	return resp, nil
}

// Correct implements sdk.Corrector.
func (s *step) Correct(ctx context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
	target, err := s.render(Variables{State: req.State})
	if err != nil {
		return nil, err
	}
	if known := s.cached(ctx, target, req.Iteration); known != nil {
		s.called(sdk.RoleCorrect, known.Metadata)
		return &sdk.CorrectResponse{Output: known.Output, Metadata: known.Metadata}, nil
	}
	if s.tools != nil {
		a, err := s.tools.converse(ctx, target, req.Call, sdk.RoleCorrect, s, func(target core.Target, call sdk.Call) (*answer, error) {
			one := *req
			one.Call = call
			resp, err := core.PluginCorrector(s.plugins, target).Correct(ctx, &one)
			if err != nil {
				return nil, err
			}
			return &answer{resp.Output, resp.Usage, resp.Metadata}, nil
		})
		if err != nil {
			return nil, err
		}
		return &sdk.CorrectResponse{Output: a.output, Usage: a.usage, Metadata: a.metadata}, nil
	}
	resp, err := core.PluginCorrector(s.plugins, target).Correct(ctx, req)
	if err != nil {
		return nil, s.failed(sdk.RoleCorrect, err)
	}
	s.keep(ctx, target, req.Iteration, &core.Reply{Output: resp.Output, Metadata: resp.Metadata})
	s.called(sdk.RoleCorrect, resp.Metadata)
	return resp, nil
}

// NewEvaluator makes an evaluator from a workflow's step: from a plugin, or from a
// composite's children. prompt is called with what its calls sent to language models, and must be
// safe for concurrent use; nil drops this.
func NewEvaluator(plugins core.Plugins, s Step, prompt func(core.Prompt)) (sdk.Evaluator, error) {
	return newEvaluator(plugins, s, listener{prompt: prompt})
}

func newEvaluator(plugins core.Plugins, s Step, hear listener) (sdk.Evaluator, error) {
	ev, err := unparsed(plugins, s, hear)
	if err == nil && s.Parse {
		return loop.Parsed(ev), nil
	}
	return ev, err
}

// unparsed is an evaluator of attempts that aren't parsed first.
func unparsed(plugins core.Plugins, s Step, hear listener) (sdk.Evaluator, error) {
	if s.Composite == nil {
		return newStep(plugins, s, hear)
	}
	c := &loop.Composite{Kind: s.Composite.Kind, Threshold: s.Composite.Threshold, FailFast: s.Composite.FailFast}
	for i, child := range s.Composite.Children {
		ev, err := newEvaluator(plugins, child, hear)
		if err != nil {
			return nil, sdk.Wrap("evaluator "+child.Name, err)
		}
		weight := 1.0
		if i < len(s.Composite.Weights) {
			weight = s.Composite.Weights[i]
		}
		c.Children = append(c.Children, loop.Child{Name: child.Name, Evaluator: ev, Weight: weight})
	}
	return c, nil
}
