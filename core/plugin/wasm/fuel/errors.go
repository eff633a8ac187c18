package fuel

import (
	"fmt"

	"github.com/reflectory/reflectory/sdk"
)

// unsupported is the error for a module that can't be metered, for what stands
// at an offset of it.
func unsupported(offset int, format string, args ...any) error {
	return sdk.Errorf(sdk.Incompatible, "fuel_unsupported", "the module can't be metered: %s at byte %d",
		fmt.Sprintf(format, args...), offset).
		WithHint("compile it for WebAssembly 2.0 without that, or run it with a deadline that is checked in every iteration of a loop, which is slower")
}
