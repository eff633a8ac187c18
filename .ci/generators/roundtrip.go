// Command generators makes a round trip through the client that oapi-codegen made.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"generators/api"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("oapi-codegen: done")
}

func run(ctx context.Context, url, token string) error {
	c, err := api.NewClientWithResponses(url, api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}))
	if err != nil {
		return err
	}
	namespace, content, key := "team/go", "The ferry leaves at seven.", "go-1"
	stored, err := c.MemoryObserveWithResponse(ctx, &api.MemoryObserveParams{IdempotencyKey: &key}, api.MemoryObserveRequest{Namespace: &namespace, Content: content})
	if err != nil || stored.JSON200 == nil {
		return fmt.Errorf("%w: %s", err, stored.Body)
	}
	found, err := c.MemoryRecallWithResponse(ctx, nil, api.MemoryRecallRequest{Namespace: &namespace, Query: "When does the ferry leave?"})
	if err != nil || found.JSON200 == nil || len(found.JSON200.Memories) != 1 || found.JSON200.Memories[0].Id != stored.JSON200.Id {
		return errors.Join(err, fmt.Errorf("recalled %s", found.Body))
	}
	elsewhere := "elsewhere"
	refused, err := c.MemoryRecallWithResponse(ctx, nil, api.MemoryRecallRequest{Namespace: &elsewhere, Query: "x"})
	if err != nil || refused.ApplicationproblemJSON403 == nil || refused.ApplicationproblemJSON403.Code != "namespace_denied" {
		return errors.Join(err, fmt.Errorf("refused with %s", refused.Body))
	}
	return nil
}
