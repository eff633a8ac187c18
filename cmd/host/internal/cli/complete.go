package cli

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
)

// Completion offers the existing values at every position of a command line. A key press
// must be cheap: it creates no store, waits for no lock, reports no errors, and offers a
// bounded list. complete_table.go has the table of offers.

const (
	// maxOffers is how many values are offered: more than people read.
	maxOffers = 100
	// maxLooked is how many items of a kind are checked for a match.
	maxLooked = 1000
	// completionTime is how long the store is read for offers by default.
	completionTime = 100 * time.Millisecond
)

// offer describes what may be at a position of a command line: one of its fields is set.
type offer struct {
	// values are the existing values, each optionally with a tab and a description.
	values func(ctx context.Context, a *App) []string
	// files are the extensions of files that may be given; "*" is any.
	files []string
	// folder is whether a folder may be given.
	folder bool
	// free is the reason why nothing can be offered.
	free string
	// open is whether the word continues after a value, such as with =.
	open bool
}

// completes registers what is offered at the positions of a command and its children.
func (a *App) completes(c *cobra.Command) {
	path := strings.TrimPrefix(c.CommandPath(), "reflectory ")
	var offers []offer
	for _, word := range operands(c) {
		offers = append(offers, argumentOffers[argumentRow(path, word)])
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if len(offers) > 0 && at >= len(offers) && repeats(c) {
			at = len(offers) - 1
		}
		if at >= len(offers) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.offers(c.Context(), offers[at], begun, args)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" || f.Name == "help" || f.Name == "version" {
			return
		}
		o := flagOffer(path, f.Name)
		err := c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return a.offers(c.Context(), o, begun, nil)
		})
		if err != nil && c.LocalNonPersistentFlags().Lookup(f.Name) != nil {
			panic(err) // each flag is visited once
		}
	})
	for _, child := range c.Commands() {
		a.completes(child)
	}
}

// repeats reports whether a command accepts its last argument several times.
func repeats(c *cobra.Command) bool { return strings.Contains(c.Use, "…") }

// argumentRow is the row of the table for an argument of a command, as its usage line names it.
func argumentRow(path, word string) string {
	word = strings.Trim(word, "[]…")
	noun, _, _ := strings.Cut(path, " ")
	for _, row := range []string{path + " " + word, noun + " " + word} {
		if _, is := argumentOffers[row]; is {
			return row
		}
	}
	return word
}

// flagOffer is the offer for a flag: from the table, for the command or for all commands.
func flagOffer(path, flag string) offer {
	if o, is := flagOffers[path+" --"+flag]; is {
		return o
	}
	return flagOffers[flag]
}

// offers are the values that begin with the word being typed.
func (a *App) offers(ctx context.Context, o offer, begun string, given []string) ([]string, cobra.ShellCompDirective) {
	switch {
	case o.folder:
		return nil, cobra.ShellCompDirectiveFilterDirs
	case slices.Contains(o.files, "*"):
		return nil, cobra.ShellCompDirectiveDefault
	case len(o.files) > 0:
		return o.files, cobra.ShellCompDirectiveFilterFileExt
	case o.values == nil:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if o.open {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	if !a.silent() {
		return nil, directive
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx = core.WithCaller(ctx, core.Operator(a.config.Agent.Value))
	ctx, done := context.WithTimeout(ctx, cmp.Or(a.completionTime, completionTime))
	defer done()
	var fit []string
	for _, v := range o.values(ctx, a) {
		name, _, _ := strings.Cut(v, "\t")
		if name != "" && strings.HasPrefix(name, begun) && !slices.Contains(given, name) && len(fit) < maxOffers {
			fit = append(fit, v)
		}
	}
	return fit, directive
}

// silent reads the configuration for a completion, without reporting errors: the command
// itself reports them.
func (a *App) silent() bool {
	a.out.term = term.New(io.Discard)
	a.out.Stderr = io.Discard
	return a.loadConfig() == nil
}

// described is a value with its description.
func described(value, what string) string {
	return term.Clean(value) + "\t" + term.Cut(strings.TrimSpace(what), 60)
}

// oneOf offers words.
func oneOf(words ...string) offer {
	return offer{values: func(context.Context, *App) []string { return words }}
}
