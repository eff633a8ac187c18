package wire

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

// text makes s valid for a protobuf string, which is UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func encodeError(err error) *wirepb.Error {
	e := sdk.AsError(err)
	pb := &wirepb.Error{
		Code: string(e.Code), Reason: text(e.Reason), Op: text(e.Op),
		Message: text(e.Message), Hint: text(e.Hint),
	}
	if len(e.Details) > 0 {
		// Details that JSON can't represent are dropped; the error matters more.
		if b, err := json.Marshal(e.Details); err == nil && len(b) <= check.MaxDetails {
			pb.Details = b
		}
	}
	return pb
}

// decodeError returns a plugin's error in the contract's form, marked as the plugin's
// words.
func decodeError(pb *wirepb.Error) *sdk.Error { return check.PluginError(readError(pb)) }

// decodeHostError returns the host's error, as a plugin gets it.
func decodeHostError(pb *wirepb.Error) *sdk.Error { return check.Error(readError(pb)) }

// readError reads an error as it was sent. It drops bad details.
func readError(pb *wirepb.Error) *sdk.Error {
	e := &sdk.Error{
		Code: sdk.Code(pb.GetCode()), Reason: pb.GetReason(), Op: pb.GetOp(),
		Message: pb.GetMessage(), Hint: pb.GetHint(),
	}
	if b := pb.GetDetails(); len(b) > 0 && len(b) <= check.MaxDetails && check.JSON(b) == nil {
		// Anything but an object leaves Details empty.
		_ = json.Unmarshal(b, &e.Details)
	}
	return e
}
