package wire

import (
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

func encodeVerdict(v *sdk.Verdict) *wirepb.Verdict {
	return &wirepb.Verdict{
		Valid: v.Valid, Score: v.Score, Errors: encodeFindings(v.Errors),
		Feedback: text(v.Feedback), Output: v.Output, Children: encodeChildren(v.Children),
	}
}

func decodeVerdict(pb *wirepb.Verdict) sdk.Verdict {
	return sdk.Verdict{
		Valid: pb.GetValid(), Score: pb.GetScore(), Errors: decodeFindings(pb.GetErrors()),
		Feedback: pb.GetFeedback(), Output: pb.GetOutput(), Children: decodeChildren(pb.GetChildren()),
	}
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
		}
	}
	return pbs
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
		}
	}
	return findings
}
