package gate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/gate"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/sdk"
)

// What somebody knows about a memory reaches the gate's decision, but only the newest of
// it; a factor that is given with the question comes first.
func TestOmega_ReachesTheDecision(t *testing.T) {
	onEngines(t, func(t *testing.T, d *desk) {
		of := func(f float64) *float64 { return &f }
		ask := func(given policypoint.OmegaFactors) verdict.OmegaRecord {
			return d.decide(defaults(), &verdict.GateCase{Memory: memory(core.Signals{}), Omega: given, Notes: []string{"asked"}}).Omega
		}
		for seq, known := range []gate.OmegaEvidence{
			{MemoryID: "m", Note: "old", OmegaFactors: policypoint.OmegaFactors{RuntimeUtilityTrend: of(.1)}},
			{MemoryID: "m", Note: "the build is green", OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: of(.8), CodebaseVerification: of(.9)}},
		} {
			done, err := d.RecordOmega(d.Context(), &known)
			if err != nil || done.Seq != int64(seq)+1 {
				t.Fatalf("%+v, %v", done, err)
			}
		}
		notes := []string{"the build is green", "asked"}
		for name, c := range map[string]struct {
			given policypoint.OmegaFactors
			want  verdict.OmegaRecord
		}{
			"as it is known": {policypoint.OmegaFactors{}, verdict.OmegaRecord{UpstreamStatus: of(.8), CodebaseVerification: of(.9), Notes: notes}},
			"and given":      {policypoint.OmegaFactors{UpstreamStatus: of(.2)}, verdict.OmegaRecord{UpstreamStatus: of(.2), CodebaseVerification: of(.9), Notes: notes}},
		} {
			if diff := cmp.Diff(c.want, ask(c.given)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if _, err := d.RecordOmega(d.Context(), &gate.OmegaEvidence{MemoryID: "gone", OmegaFactors: policypoint.OmegaFactors{UpstreamStatus: of(1)}}); sdk.CodeOf(err) != sdk.NotFound {
			t.Errorf("of a memory that isn't there: %v", err)
		}
	})
}
