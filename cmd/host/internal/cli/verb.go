package cli

import (
	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/operation"
)

// Most commands are one operation each: they fill its request from their arguments, flags and
// files, call it, and print its result. A verb says only what differs between them. A command
// that calls no operation, or several, is a plain [cobra.Command].

// verb is a command that calls one operation, whose result is an Out.
type verb[Out any] struct {
	// Use, Short, Long and Example are the command's help page. The arguments are the words in
	// capitals of Use: [ARGUMENT] may be left out, ARGUMENT… repeated; see [argumentError].
	Use, Short, Long, Example string
	// Operation is the operation's name.
	Operation string
	// In is the operation's request, a pointer: flags that are added to the command set its fields.
	In any
	// Args are the fields of the request that the arguments become, in their order. The field of
	// an argument that is left out isn't set.
	Args []*string
	// Rest is the field that the arguments after these become; nil if there are none.
	Rest *[]string
	// Namespace is the field that --namespace sets, if the configured namespace is its default;
	// nil if there is none.
	Namespace *string
	// Paging is the page that is requested: the command gets the flags of lists. nil if the
	// operation returns no list.
	Paging *operation.Paging
	// Prepare does what else is needed before the call, such as reading files into the request;
	// nil is nothing.
	Prepare func(c *cobra.Command, args []string) error
	// Call are the other parts of the call, such as who receives a run's events; nil is nothing.
	Call func() operation.Call
	// Doing is shown while the operation works, such as "checking …"; "" is what the operation itself
	// reports.
	Doing string
	// NeedsStore is whether the command has nothing to do in a new store: it then warns that the folder
	// may be misspelt.
	NeedsStore bool
	// Print prints a result for people; with --json, the result itself is printed.
	Print func(out *output, result *Out) error
	// End is the error with which the command ends after it has printed a result, such as the exit
	// code of a result that isn't valid; nil is none.
	End func(result *Out) error
}

// command makes the command.
func (v verb[Out]) command(a *App) *cobra.Command {
	c := &cobra.Command{Use: v.Use, Short: v.Short, Long: v.Long, Example: v.Example}
	c.RunE = func(c *cobra.Command, args []string) error { return v.run(a, c, args) }
	if v.Paging != nil {
		pagingFlags(c, v.Paging)
	}
	return c
}

// run fills the request, calls the operation and prints its result. A result may come with an
// error, such as a purge that is done although files still hold its data.
func (v verb[Out]) run(a *App, c *cobra.Command, args []string) error {
	for i, field := range v.Args[:min(len(args), len(v.Args))] {
		*field = args[i]
	}
	if v.Rest != nil {
		*v.Rest = args[len(v.Args):]
	}
	if v.Namespace != nil {
		*v.Namespace = a.orConfigured(c, *v.Namespace)
	}
	if v.Prepare != nil {
		if err := v.Prepare(c, args); err != nil {
			return err
		}
	}
	if v.NeedsStore {
		a.noteNewStore()
	}
	if v.Doing != "" {
		a.out.term.Status("%s", v.Doing)
	}
	call := operation.Call{}
	if v.Call != nil {
		call = v.Call()
	}
	result, err := doCall[Out](c.Context(), a, call, v.Operation, v.In)
	return v.end(a, result, err)
}

// end prints a result, which may come with an error, and returns the error with which the command
// ends. nil is no result.
func (v verb[Out]) end(a *App, result *Out, err error) error {
	if result == nil {
		return err
	}
	var printed error
	if spoken, is := any(result).(operation.Callable); is {
		result = spoken.WithCalls(func(name string, arguments map[string]any) string {
			return commandFor(a.out.commands, name, arguments)
		}).(*Out)
	}
	if a.out.json {
		printed = a.out.printJSON(result)
	} else {
		printed = v.Print(a.out, result)
	}
	if err == nil {
		err = printed
	}
	if err == nil && v.End != nil {
		err = v.End(result)
	}
	return err
}

// noun is the command that groups the commands of a noun.
func noun(name, short, long string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Long: long, RunE: needsCommand}
	c.AddCommand(verbs...)
	return c
}

// table prints pages of a list: see [printTable].
func table[T any](none string, header []string, row func(T) []string) func(*output, *operation.Page[T]) error {
	return func(out *output, page *operation.Page[T]) error { return printTable(out, page, none, header, row) }
}

// printTable prints a page of a list as a table with a row for each item, and how to get the next
// page. Of a list without items, people see none instead, unless that is "".
func printTable[T any](out *output, page *operation.Page[T], none string, header []string, row func(T) []string) error {
	if len(page.Items) == 0 && page.NextPageToken == "" && none != "" {
		out.term.Line("%s", none)
		return nil
	}
	if err := printRows(out, header, page.Items, row); err != nil {
		return err
	}
	out.hintNext(page.NextPageToken)
	return nil
}

// printRows prints a table with a row for each item.
func printRows[T any](out *output, header []string, items []T, row func(T) []string) error {
	rows := make([][]string, len(items))
	for i, item := range items {
		rows[i] = row(item)
	}
	return out.table(header, rows)
}
