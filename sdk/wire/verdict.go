package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

func encodeVerdict(v *sdk.Verdict) *wirepb.Verdict {
	return &wirepb.Verdict{
		Valid: &v.Valid, Score: v.Score, Errors: encodeFindings(v.Errors),
		Feedback: text(v.Feedback), Output: v.Output, Children: encodeChildren(v.Children),
	}
}

func decodeVerdict(pb *wirepb.Verdict) sdk.Verdict {
	return sdk.Verdict{
		Valid: pb.GetValid(), Score: pb.GetScore(), Errors: decodeFindings(pb.GetErrors()),
		Feedback: pb.GetFeedback(), Output: pb.GetOutput(), Children: decodeChildren(pb.GetChildren()),
	}
}

// checkNumbers refuses a verdict if it, or one of its children, doesn't show whether it is
// valid. Otherwise a zero value would count as "no", and a program that forgot to judge
// would seem to have judged.
func checkNumbers(pb *wirepb.Verdict) error {
	if pb == nil {
		return check.NoVerdict("nothing")
	}
	if pb.Valid == nil {
		var came bytes.Buffer
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(pb)
		if err == nil {
			err = json.Compact(&came, text) // protojson varies its spaces
		}
		if err != nil {
			return check.ResponseInvalid("a verdict can't be read: %w", err)
		}
		return check.NoVerdict(came.String())
	}
	for _, name := range slices.Sorted(maps.Keys(pb.GetChildren())) {
		if err := checkNumbers(pb.GetChildren()[name]); err != nil {
			return err
		}
	}
	return nil
}

func encodeChildren(children map[string]sdk.Verdict) map[string]*wirepb.Verdict {
	if len(children) == 0 {
		return nil
	}
	pbs := make(map[string]*wirepb.Verdict, len(children))
	for name, v := range children {
		pbs[text(name)] = encodeVerdict(&v)
	}
	return pbs
}

func decodeChildren(pbs map[string]*wirepb.Verdict) map[string]sdk.Verdict {
	if len(pbs) == 0 {
		return nil
	}
	children := make(map[string]sdk.Verdict, len(pbs))
	for name, pb := range pbs {
		children[name] = decodeVerdict(pb)
	}
	return children
}

func encodeFindings(findings []sdk.Finding) []*wirepb.Finding {
	if len(findings) == 0 {
		return nil
	}
	pbs := make([]*wirepb.Finding, len(findings))
	for i := range findings {
		f := &findings[i]
		pbs[i] = &wirepb.Finding{
			Message: text(f.Message), Path: text(f.Path), SchemaPath: text(f.SchemaPath),
			Code: text(f.Code), Type: text(f.Type), Severity: text(f.Severity), Source: text(f.Source),
			Line: number(f.Line), Column: number(f.Column),
		}
	}
	return pbs
}

// number is a line or a column within 32 bits; 0 if it can't be one.
func number(n int) int32 {
	if n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int32(n)
}

func decodeFindings(pbs []*wirepb.Finding) []sdk.Finding {
	if len(pbs) == 0 {
		return nil
	}
	findings := make([]sdk.Finding, len(pbs))
	for i, pb := range pbs {
		findings[i] = sdk.Finding{
			Message: pb.GetMessage(), Path: pb.GetPath(), SchemaPath: pb.GetSchemaPath(),
			Code: pb.GetCode(), Type: pb.GetType(), Severity: pb.GetSeverity(), Source: pb.GetSource(),
			Line: int(max(0, pb.GetLine())), Column: int(max(0, pb.GetColumn())),
		}
	}
	return findings
}
