package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
)

// StressEnv is the variable that, set to 1, makes [Model] run ten times as many operations.
const StressEnv = "REFLECTORY_STRESS"

// modelOps is how many operations a model test runs.
const modelOps = 1000

// Model runs the same random operations on a reference and on an engine, and compares all
// results. Both must be empty except for "meta/" keys. reopen, unless nil, closes the
// engine and opens it again now and then.
func Model(t *testing.T, reference, engine core.Store, reopen func(core.Store) core.Store) {
	ops := modelOps
	if os.Getenv(StressEnv) == "1" {
		ops *= 10
	}
	m := &model{reference: reference, engine: engine}
	transactions := rapid.SliceOfN(transaction(), 10, 10)
	for seed := 0; m.ops < ops; seed++ {
		for _, tx := range transactions.Example(seed) {
			if diff := m.step(t.Context(), tx); diff != "" {
				t.Fatalf("seed %d, after %d operations, the engines differ (-reference +engine):\n%s\ntransaction: %v", seed, m.ops, diff, tx)
			}
		}
		if reopen != nil && seed%5 == 4 {
			m.engine = reopen(m.engine)
		}
	}
}

type model struct {
	reference, engine core.Store
	ops               int
}

// modelTx is a transaction of the model.
type modelTx struct {
	Ops    []modelOp
	Abort  bool
	ReadIn bool // in a View
}

// modelOp is one operation. There are few keys, so that operations conflict.
type modelOp struct {
	Kind  string
	Key   string
	To    string
	Value string
	Stop  int
}

func transaction() *rapid.Generator[modelTx] {
	key := rapid.StringMatching(`k/[a-c]?(\x00|\xff)?[a-b]{0,2}`)
	op := rapid.Custom(func(t *rapid.T) modelOp {
		return modelOp{
			Kind:  rapid.SampledFrom([]string{"put", "put", "put", "delete", "get", "scan", "scan"}).Draw(t, "kind"),
			Key:   key.Draw(t, "key"),
			To:    key.Draw(t, "to"),
			Value: rapid.StringN(0, 40, 200).Draw(t, "value"),
			Stop:  rapid.IntRange(1, 20).Draw(t, "stop"),
		}
	})
	return rapid.Custom(func(t *rapid.T) modelTx {
		return modelTx{
			Ops:    rapid.SliceOfN(op, 1, 8).Draw(t, "ops"),
			Abort:  rapid.IntRange(0, 4).Draw(t, "abort") == 0,
			ReadIn: rapid.IntRange(0, 4).Draw(t, "view") == 0,
		}
	})
}

// step runs a transaction on both and returns how their results differ.
func (m *model) step(ctx context.Context, tx modelTx) string {
	m.ops += len(tx.Ops)
	return cmp.Diff(runModel(ctx, m.reference, tx), runModel(ctx, m.engine, tx))
}

var errAbort = errors.New("abort")

// runModel runs a transaction, then reads everything, and returns all results.
func runModel(ctx context.Context, s core.Store, tx modelTx) []string {
	var answers []string
	var err error
	if tx.ReadIn {
		err = s.View(ctx, func(r core.Reader) error {
			answers = nil
			for _, op := range tx.Ops {
				answers = append(answers, read(r, op))
			}
			return nil
		})
	} else {
		err = s.Update(ctx, func(t core.Tx) error {
			answers = nil
			for _, op := range tx.Ops {
				answers = append(answers, change(t, op))
			}
			if tx.Abort {
				return errAbort
			}
			return nil
		})
	}
	answers = append(answers, fmt.Sprint("end: ", err))
	err = s.View(ctx, func(r core.Reader) error {
		answers = append(answers, read(r, modelOp{Kind: "scan", Key: "k/", To: "k0", Stop: 1 << 30}))
		return nil
	})
	return append(answers, fmt.Sprint("view: ", err))
}

func change(t core.Tx, op modelOp) string {
	switch op.Kind {
	case "put":
		return fmt.Sprint("put: ", t.Put([]byte(op.Key), []byte(op.Value)))
	case "delete":
		return fmt.Sprint("delete: ", t.Delete([]byte(op.Key)))
	}
	return read(t, op)
}

func read(r core.Reader, op modelOp) string {
	if op.Kind != "scan" {
		value, found, err := r.Get([]byte(op.Key))
		return fmt.Sprintf("get: %q %v %v", value, found, err)
	}
	var out strings.Builder
	n := 0
	err := r.Scan([]byte(op.Key), []byte(op.To), func(key, value []byte) (bool, error) {
		n++
		fmt.Fprintf(&out, "%q=%q ", key, value)
		return n < op.Stop, nil
	})
	return fmt.Sprintf("scan: %s%v", &out, err)
}
