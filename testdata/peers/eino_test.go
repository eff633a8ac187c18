package peers

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/compose"
)

// eino runs the steps as a compiled graph of three lambda nodes, in which a
// branch behind the evaluator closes the cycle.
type eino struct {
	graph compose.Runnable[string, *draft]
}

func newEino(ctx context.Context, w *work) (*eino, error) {
	g := compose.NewGraph[string, *draft]()
	err := errors.Join(
		g.AddLambdaNode("generate", compose.InvokableLambda(func(context.Context, string) (*draft, error) {
			return &draft{iteration: 1, output: w.generate()}, nil
		})),
		g.AddLambdaNode("evaluate", compose.InvokableLambda(func(_ context.Context, d *draft) (*draft, error) {
			d.verdict = w.evaluate(d.output)
			return d, nil
		})),
		g.AddLambdaNode("correct", compose.InvokableLambda(func(_ context.Context, d *draft) (*draft, error) {
			return &draft{iteration: d.iteration + 1, output: w.correct(d.output)}, nil
		})),
		g.AddEdge(compose.START, "generate"),
		g.AddEdge("generate", "evaluate"),
		g.AddEdge("correct", "evaluate"),
		g.AddBranch("evaluate", compose.NewGraphBranch(afterVerdict, map[string]bool{"correct": true, compose.END: true})),
	)
	if err != nil {
		return nil, err
	}
	// A cycle needs the trigger mode in which any predecessor starts a node. A
	// loop of n attempts is 2n node runs.
	graph, err := g.Compile(ctx, compose.WithNodeTriggerMode(compose.AnyPredecessor), compose.WithMaxRunSteps(2*maxIterations+1))
	return &eino{graph}, err
}

func afterVerdict(_ context.Context, d *draft) (string, error) {
	if d.verdict.Valid || d.iteration == maxIterations {
		return compose.END, nil
	}
	return "correct", nil
}

func (e *eino) run(ctx context.Context) (outcome, error) {
	d, err := e.graph.Invoke(ctx, request)
	if err != nil {
		return outcome{}, err
	}
	return d.outcome(), nil
}
