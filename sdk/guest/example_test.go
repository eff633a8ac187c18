package guest_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/guest"
)

// shout is a corrector.
func shout() sdk.Plugin {
	return sdk.Plugin{
		Manifest: sdk.Manifest{Name: "shout", Version: "1.0.0"},
		Corrector: func(context.Context, json.RawMessage) (sdk.Corrector, error) {
			return sdk.CorrectorFunc(func(_ context.Context, req *sdk.CorrectRequest) (*sdk.CorrectResponse, error) {
				var text string
				if err := json.Unmarshal(req.Output, &text); err != nil {
					return nil, sdk.Errorf(sdk.Invalid, "output_invalid", "shout corrects texts: %w", err)
				}
				output, err := json.Marshal(text + "!")
				return &sdk.CorrectResponse{Output: output}, err
			}), nil
		},
	}
}

// A module registers its plugin before its exports are called, in an init function of a
// program built with GOOS=wasip1 GOARCH=wasm -buildmode=c-shared. Outside a module
// Register does nothing, so tests run anywhere.
func ExampleRegister() {
	guest.Register(shout())

	corrector, err := shout().Corrector(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := corrector.Correct(context.Background(), &sdk.CorrectRequest{Output: json.RawMessage(`"hello"`)})
	fmt.Println(string(answer.Output), err)
	// Output: "hello!" <nil>
}
