package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/text"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// Run is one attempt of a reflection job. It can write only while it has the job's
// lease. The namespace's state is updated in the transaction of the job's end.
func (rs *Reflections) Run(ctx context.Context, j *job.Running) (*job.Outcome, error) {
	var q reflection.Request
	if err := json.Unmarshal(j.Payload, &q); err != nil {
		return nil, sdk.Errorf(sdk.Incompatible, "job_payload_invalid", "the job's payload can't be read: %w", err).
			WithHint("ask for it again: another version queued it")
	}
	q.Namespace = j.Namespace
	generator, judge, err := rs.reflectors(q.Namespace)
	if err != nil {
		return nil, err
	}
	bounds := rs.config.Settings.Reflection()
	memories := rs.memories.On(j.Store())
	run := reflection.Run{
		JobID: j.ID, Request: q, Store: rs.journal.Store, Read: memories, Write: memories, Steps: j, Generator: generator, Judge: judge,
		Normal: text.Normal, Clock: rs.config.Clock, MaxTokens: bounds.MaxTokens, MaxCostUSD: bounds.MaxCostUSD, Progress: j.Progress, AndRestart: andRestart(rs.config),
	}
	done, err := run.Do(ctx)
	out := &job.Outcome{Result: jsontext.MustEncode(done.Result), Memories: done.Memories}
	if err != nil {
		return out, snoozed(err)
	}
	out.Effects = func(tx *journal.Tx) error { return done.Complete(tx, q.Namespace, tx.Now()) }
	return out, nil
}

// snoozed turns an error that isn't the job's fault into a [job.SnoozeError]: a service
// asks to wait, or a plugin's breaker is open.
func snoozed(err error) error {
	wait := sdk.RetryAfter(err)
	if wait > 0 || sdk.ReasonOf(err) == "plugin_breaker_open" {
		return &job.SnoozeError{Wait: wait, Err: err}
	}
	return err
}

// reflectors are the generator and the judge of insights that the settings name; nil if
// they name none.
func (rs *Reflections) reflectors(namespace string) (reflection.Generator, reflection.Judge, error) {
	s := rs.config.Settings
	generator, err := rs.generator(namespace)
	if err != nil || s.ReflectionJudge.Value == "" {
		return generator, nil, err
	}
	judge, err := rs.judge(namespace, s.ReflectionJudge.Value)
	return generator, judge, err
}

// reflectionCall is a plugin, with the scope in which a namespace's reflections call it.
type reflectionCall struct {
	plugins *Plugins
	target  core.Target
	scope   *plugin.Scope
}

func (rs *Reflections) call(namespace string, target core.Target) (*reflectionCall, error) {
	rs.plugins.refresh()
	scope, err := rs.plugins.Scope(context.Background(), Need{LLM: rs.config.Settings.LLM(), Namespace: namespace})
	if err != nil {
		return nil, err
	}
	return &reflectionCall{rs.plugins, target, scope}, nil
}

// judge asks an evaluator whether two texts mean the same: a valid verdict means yes.
type judge struct{ *reflectionCall }

// pairsOfTexts is the system prompt for a model that judges. The two texts are data.
const pairsOfTexts = `You compare an agent's memories. The output has two texts, a and b. It passes only if both say the same, so that nobody who knows one learns anything from the other. A number, unit, name, person, time or degree of certainty that differs makes it fail, and so does a text that says more.`

// judge is an evaluator as the judge of a namespace's texts. The evaluator that calls
// language models asks the model of settings.llm; other evaluators get no config.
func (rs *Reflections) judge(namespace, name string) (judge, error) {
	target := core.Target{Plugin: name, Timeout: rs.config.ReflectionTime}
	if llm := rs.config.Settings.LLM(); name == workflow.LLMPlugin && llm != nil {
		target.Config = jsontext.MustEncode(map[string]any{"llm": llm, "system": pairsOfTexts})
	}
	call, err := rs.call(namespace, target)
	return judge{call}, err
}

// Same implements [reflection.Judge].
func (j judge) Same(ctx context.Context, a, b string) (bool, error) {
	plugins, release, err := j.plugins.hold()
	if err != nil {
		return false, err
	}
	defer release()
	answer, err := core.PluginEvaluator(plugins, j.target).Evaluate(plugin.WithScope(ctx, j.scope), &sdk.EvaluateRequest{
		Call: sdk.Call{Role: sdk.RoleEvaluate}, Output: jsontext.MustEncode(map[string]string{"a": a, "b": b}),
	})
	if err != nil {
		return false, sdk.Wrap("ask "+j.target.Plugin+" whether two texts say the same", err)
	}
	for _, f := range answer.Verdict.Errors {
		if f.Type == sdk.TypeEvaluatorError {
			return false, sdk.Errorf(sdk.Invalid, core.ReasonNoVerdict, "%s gave no verdict: %s", j.target.Plugin, f.Message)
		}
	}
	return answer.Verdict.Valid, nil
}

// reflectionEnded updates the namespace's state in the transaction of a reflection's end:
// after a failure, observations queue no reflection for a while. It adds the result's
// counts to the map about.
func reflectionEnded(tx core.Tx, j *job.Job, about map[string]any) error {
	if j.Status == job.StatusFailed {
		return reflection.Failed(tx, j.Namespace, *j.CompletedAt)
	}
	var r reflection.Result
	if json.Unmarshal(j.Result, &r) == nil {
		about["insights_created"], about["procedures_created"], about["memories_analyzed"] = r.InsightsCreated, r.ProceduresCreated, r.MemoriesAnalyzed
	}
	return nil
}
