package peers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/workflowagents/loopagent"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
)

const (
	adkApp  = "peers"
	adkUser = "someone"
	adkKey  = "draft" // where the agents find each other's work in the session
)

// adk runs the steps as two custom agents under a LoopAgent: one makes the
// attempt, the other judges it and escalates when it is valid. Each loop has a
// fresh in-memory session.
type adk struct {
	runner   *runner.Runner
	sessions session.Service
	message  *genai.Content
	loops    int
}

func newADK(w *work) (*adk, error) {
	produce, err := agent.New(agent.Config{Name: "produce", Run: adkStep(func(d *draft) (*draft, bool) {
		if d == nil {
			return &draft{iteration: 1, output: w.generate()}, false
		}
		return &draft{iteration: d.iteration + 1, output: w.correct(d.output)}, false
	})})
	if err != nil {
		return nil, err
	}
	judge, err := agent.New(agent.Config{Name: "judge", Run: adkStep(func(d *draft) (*draft, bool) {
		d.verdict = w.evaluate(d.output)
		return d, d.verdict.Valid
	})})
	if err != nil {
		return nil, err
	}
	root, err := loopagent.New(loopagent.Config{
		MaxIterations: maxIterations,
		AgentConfig:   agent.Config{Name: "loop", SubAgents: []agent.Agent{produce, judge}},
	})
	if err != nil {
		return nil, err
	}
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{AppName: adkApp, Agent: root, SessionService: sessions})
	return &adk{runner: r, sessions: sessions, message: genai.NewContentFromText(request, genai.RoleUser)}, err
}

// adkStep is a custom agent that takes the draft from the session's state,
// works on it, and puts it back, with one event.
func adkStep(do func(*draft) (*draft, bool)) func(agent.InvocationContext) iter.Seq2[*session.Event, error] {
	return func(ctx agent.InvocationContext) iter.Seq2[*session.Event, error] {
		return func(yield func(*session.Event, error) bool) {
			value, err := ctx.Session().State().Get(adkKey)
			if err != nil && !errors.Is(err, session.ErrStateKeyNotExist) {
				yield(nil, err)
				return
			}
			d, _ := value.(*draft)
			event := session.NewEvent(ctx.InvocationID())
			d, event.Actions.Escalate = do(d)
			event.Actions.StateDelta[adkKey] = d
			yield(event, nil)
		}
	}
}

func (a *adk) session() string { return strconv.Itoa(a.loops) }

// aside replaces the last loop's session by a fresh one.
func (a *adk) aside(ctx context.Context) error {
	err := a.sessions.Delete(ctx, &session.DeleteRequest{AppName: adkApp, UserID: adkUser, SessionID: a.session()})
	if err != nil {
		return fmt.Errorf("delete the last session: %w", err)
	}
	a.loops++
	_, err = a.sessions.Create(ctx, &session.CreateRequest{AppName: adkApp, UserID: adkUser, SessionID: a.session()})
	return err
}

func (a *adk) run(ctx context.Context) (outcome, error) {
	var last *draft
	for event, err := range a.runner.Run(ctx, adkUser, a.session(), a.message, agent.RunConfig{}) {
		if err != nil {
			return outcome{}, err
		}
		if d, ok := event.Actions.StateDelta[adkKey].(*draft); ok {
			last = d
		}
	}
	if last == nil {
		return outcome{}, errors.New("no event carried a draft")
	}
	return last.outcome(), nil
}
