package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
)

// printedTerms are the names that commands print and that their help pages explain, by command.
var printedTerms = map[string][]string{
	"gate explain":    {"q", "react", "graph", "omega", "utility", "confidence"},
	"gate run":        {"confidence"},
	"memory explain":  {"ttl_score", "q", "confidence"},
	"memory feedback": {"q", "ttl_score"},
	"memory get":      {"ttl_score"},
	"memory recall":   {"score", "q", "bias"},
	"decisions list":  {"confidence", "ttl_score", "bias"},
	"decisions show":  {"q", "react", "graph", "omega", "utility", "confidence", "ttl_score", "bias", "anchor"},
	"session list":    {"bias"},
	"session show":    {"bias"},
	"session reset":   {"bias"},
	"session resume":  {"bias"},
	"inject build":    {"anchor"},
	"inject show":     {"anchor"},
	"evidence tool":   {"react"},
	"evidence dag":    {"graph"},
	"evidence omega":  {"omega"},
	"runs list":       {"score"},
	"runs show":       {"score"},
	"runs diff":       {"score"},
	"discover":        {"score"},
}

// heading is a term as the heading of a column.
func heading(name string) string { return strings.ToUpper(operation.TermFor(name).Word) }

// termsTopic is the page of the words that results use: a page, not a command.
func termsTopic() *cobra.Command {
	return &cobra.Command{
		Use: "terms", Short: "What the names in results mean",
		Long: "Each name in results, as JSON and policies have it in parentheses, in words.\nMore words are explained in docs/glossary.md.",
	}
}

// terms explains the names that a command prints, or on its own page all of them.
func (p page) terms(c *cobra.Command) {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	var list []operation.Term
	for _, name := range printedTerms[path] {
		list = append(list, operation.TermFor(name))
	}
	if path == "terms" {
		list = operation.Terms()
	}
	if len(list) > 0 {
		p.title("Terms")
	}
	for _, t := range list {
		fmt.Fprintf(p.w, "  %s\n%s\n", t.Label(), term.Wrap("      "+t.Text, p.width, "      "))
	}
}
