package wire

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// maxDetails bounds an error's details: they are a few facts, not a payload.
const maxDetails = 64 << 10

// text makes s fit a protobuf string, which is UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func encodeError(err error) *wirepb.Error {
	e := sdk.AsError(err)
	pb := &wirepb.Error{
		Code: string(e.Code), Reason: text(e.Reason), Op: text(e.Op),
		Message: text(e.Message), Hint: text(e.Hint),
	}
	if len(e.Details) > 0 {
		// Details that JSON can't hold are lost; the error matters more.
		if b, err := json.Marshal(e.Details); err == nil && len(b) <= maxDetails {
			pb.Details = b
		}
	}
	return pb
}

// reasonForm is what a reason looks like. Programs compare it and people see it,
// so nothing else passes for one.
var reasonForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// decodeError returns a whole error whatever was sent: an unknown code is a
// defect of the other side, and bad reasons, details and usages are dropped.
func decodeError(pb *wirepb.Error) *sdk.Error {
	e := &sdk.Error{
		Code: sdk.Code(pb.GetCode()), Reason: pb.GetReason(), Op: pb.GetOp(),
		Message: pb.GetMessage(), Hint: pb.GetHint(),
	}
	if !slices.Contains(sdk.Codes(), e.Code) {
		e.Code = sdk.Internal
	}
	if !reasonForm.MatchString(e.Reason) {
		e.Reason = ""
	}
	if e.Message == "" {
		e.Message = "the plugin failed without saying why"
	}
	if b := pb.GetDetails(); len(b) > 0 && len(b) <= maxDetails && CheckJSON(b) == nil {
		// Anything but an object leaves Details empty.
		_ = json.Unmarshal(b, &e.Details)
	}
	if checkExtras(sdk.UsageOf(e), nil) != nil {
		delete(e.Details, sdk.UsageDetail)
	}
	return e
}
