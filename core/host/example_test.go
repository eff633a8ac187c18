package host_test

import (
	"context"
	"fmt"
	"os"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
)

// A program opens one host, on a data folder that only one program may use at a time, and
// uses its parts. The caller comes with the context.
func Example() {
	dir, err := os.MkdirTemp("", "host")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := core.WithCaller(context.Background(), core.Operator("ada"))
	if err := remember(ctx, dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// found: Phone numbers are written with +49.
}

func remember(ctx context.Context, dir string) (err error) {
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir}})
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Config{Settings: settings})
	if err != nil {
		return err
	}
	defer func() { err = core.JoinErrors(err, h.Close()) }()

	_, err = h.Memories.Observe(ctx, &core.ObserveRequest{Namespace: "team/mail", Content: "Phone numbers are written with +49."})
	if err != nil {
		return err
	}
	found, err := h.Memories.Recall(ctx, &core.RecallRequest{
		Query: "how are phone numbers written?", RecallFilter: core.RecallFilter{Namespace: "team/mail"},
	})
	if err != nil {
		return err
	}
	for _, m := range found.Memories {
		fmt.Println("found:", m.Content)
	}
	return nil
}
