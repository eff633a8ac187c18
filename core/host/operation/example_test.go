package operation_test

import (
	"context"
	"fmt"
	"os"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// A server calls operations for callers who may not do everything. A caller is refused
// alike whether what it names is there or not.
func ExampleDo() {
	dir, err := os.MkdirTemp("", "operation")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir}})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.Open(context.Background(), host.Config{Settings: settings, Store: mem.Open()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	call := operation.Call{Host: h}
	ada := core.WithCaller(context.Background(), core.Operator("ada"))
	if _, err := operation.Do(ada, call, "memory_observe", &core.ObserveRequest{ID: "phone-1", Namespace: "team/mail", Content: "Numbers begin with +49."}); err != nil {
		fmt.Println(err)
	}
	bot := func(namespace string) context.Context {
		return core.WithCaller(context.Background(), core.Caller{Subject: "bot", Scopes: []core.Scope{core.ScopeMemoryRead}, Namespaces: []string{namespace}})
	}
	for _, namespace := range []string{"team/**", "other"} {
		found, err := operation.Do(bot(namespace), call, "memory_get", &operation.MemoryGet{ID: "phone-1"})
		if err != nil {
			fmt.Println(namespace, "is refused:", err)
			continue
		}
		fmt.Println(namespace, "reads:", found.(*operation.Memory).Content)
	}
	_, err = operation.Do(bot("team/**"), call, "store_check", &operation.StoreCheck{})
	fmt.Println(sdk.ReasonOf(err))
	// Output:
	// team/** reads: Numbers begin with +49.
	// other is refused: there is no memory "phone-1"
	// scope_denied
}
