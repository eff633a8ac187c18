package wire

import (
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

func encodeEvaluateResult(r sdk.EvaluateResult) *wirepb.EvaluateResult {
	if err := outcomeError(r.Response != nil, r.Err); err != nil {
		return &wirepb.EvaluateResult{Outcome: &wirepb.EvaluateResult_Error{Error: encodeError(err)}}
	}
	return &wirepb.EvaluateResult{Outcome: &wirepb.EvaluateResult_Response{Response: &wirepb.EvaluateResponse{
		Verdict: encodeVerdict(&r.Response.Verdict), Usage: encodeUsage(r.Response.Usage),
		Metadata: encodeMetadata(r.Response.Metadata),
	}}}
}

func decodeEvaluateResult(pb *wirepb.EvaluateResult) sdk.EvaluateResult {
	res := pb.GetResponse()
	if res == nil {
		return sdk.EvaluateResult{Err: decodeError(pb.GetError())}
	}
	if err := checkNumbers(res.GetVerdict()); err != nil {
		return sdk.EvaluateResult{Err: err}
	}
	out := &sdk.EvaluateResponse{
		Verdict: decodeVerdict(res.GetVerdict()), Usage: decodeUsage(res.GetUsage()), Metadata: res.GetMetadata(),
	}
	if err := check.EvaluateResponse(out); err != nil {
		return sdk.EvaluateResult{Err: err}
	}
	return sdk.EvaluateResult{Response: out}
}

func encodeGenerateResult(r sdk.GenerateResult) *wirepb.GenerateResult {
	if err := outcomeError(r.Response != nil, r.Err); err != nil {
		return &wirepb.GenerateResult{Outcome: &wirepb.GenerateResult_Error{Error: encodeError(err)}}
	}
	return &wirepb.GenerateResult{Outcome: &wirepb.GenerateResult_Response{Response: &wirepb.GenerateResponse{
		Output: r.Response.Output, Usage: encodeUsage(r.Response.Usage),
		Metadata: encodeMetadata(r.Response.Metadata),
	}}}
}

func decodeGenerateResult(pb *wirepb.GenerateResult) sdk.GenerateResult {
	res := pb.GetResponse()
	if res == nil {
		return sdk.GenerateResult{Err: decodeError(pb.GetError())}
	}
	out := &sdk.GenerateResponse{
		Output: res.GetOutput(), Usage: decodeUsage(res.GetUsage()), Metadata: res.GetMetadata(),
	}
	if err := check.GenerateResponse(out); err != nil {
		return sdk.GenerateResult{Err: err}
	}
	return sdk.GenerateResult{Response: out}
}

func encodeCorrectResult(r sdk.CorrectResult) *wirepb.CorrectResult {
	if err := outcomeError(r.Response != nil, r.Err); err != nil {
		return &wirepb.CorrectResult{Outcome: &wirepb.CorrectResult_Error{Error: encodeError(err)}}
	}
	return &wirepb.CorrectResult{Outcome: &wirepb.CorrectResult_Response{Response: &wirepb.CorrectResponse{
		Output: r.Response.Output, Usage: encodeUsage(r.Response.Usage),
		Metadata: encodeMetadata(r.Response.Metadata),
	}}}
}

func decodeCorrectResult(pb *wirepb.CorrectResult) sdk.CorrectResult {
	res := pb.GetResponse()
	if res == nil {
		return sdk.CorrectResult{Err: decodeError(pb.GetError())}
	}
	out := &sdk.CorrectResponse{
		Output: res.GetOutput(), Usage: decodeUsage(res.GetUsage()), Metadata: res.GetMetadata(),
	}
	if err := check.CorrectResponse(out); err != nil {
		return sdk.CorrectResult{Err: err}
	}
	return sdk.CorrectResult{Response: out}
}

// outcomeError is the error to send for one item, or nil if it has a response.
func outcomeError(responded bool, err error) error {
	if err == nil && !responded {
		return sdk.Errorf(sdk.Internal, "no_response", "the plugin returned neither a response nor an error")
	}
	return err
}

func encodeUsage(u sdk.Usage) *wirepb.Usage {
	if u == (sdk.Usage{}) {
		return nil
	}
	return &wirepb.Usage{TokensIn: u.TokensIn, TokensOut: u.TokensOut, CostUsd: u.CostUSD}
}

func decodeUsage(pb *wirepb.Usage) sdk.Usage {
	return sdk.Usage{TokensIn: pb.GetTokensIn(), TokensOut: pb.GetTokensOut(), CostUSD: pb.GetCostUsd()}
}

func encodeMetadata(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[text(k)] = text(v)
	}
	return out
}
