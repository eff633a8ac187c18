//go:build !wasip1

package guest

import (
	"encoding/json"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/abi"
)

// Register sets this module's plugin. Call it once, in an init function. Outside a WASM
// module it does nothing, so that an author's tests can import the package.
func Register(sdk.Plugin) {}

func callHTTP([]byte) []byte    { return unavailable() }
func callService([]byte) []byte { return unavailable() }

func unavailable() []byte {
	b, _ := json.Marshal(abi.Result[struct{}]{Error: abi.NewError(
		sdk.Errorf(sdk.Unavailable, "no_host", "this isn't a WASM module, so there is no host to ask").
			WithHint("build it with GOOS=wasip1 GOARCH=wasm -buildmode=c-shared"))}) // strings can always be encoded
	return b
}
