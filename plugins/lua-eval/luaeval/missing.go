//go:build !cgo || !lua54

package luaeval

import "github.com/reflectory/reflectory/sdk"

// compile always refuses: this build has no Lua interpreter.
func compile(*config) (runner, error) {
	return nil, sdk.Errorf(sdk.Unavailable, "lua_missing",
		"lua-eval was built without Lua 5.4: the build tag lua54, cgo or the library liblua5.4 was missing").
		WithHint("apt-get install gcc pkg-config liblua5.4-dev, then make build, or CGO_ENABLED=1 go build -tags lua54 ./plugins/lua-eval")
}
