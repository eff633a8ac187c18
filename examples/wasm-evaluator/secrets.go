package main

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

// maxFindings limits the findings for one output: more would help nobody.
const maxFindings = 20

// rule is a kind of secret with a recognisable form.
type rule struct {
	code, what string
	// mark is a part of every such secret. Searching for it is far cheaper than form.
	mark string
	form *regexp.Regexp
}

// The issuers document these forms, so a hit is hardly ever a mistake.
func rules() []rule {
	return []rule{
		{"private_key", "a private key", "PRIVATE KEY", regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`)},
		{"aws_key", "an AWS access key", "IA", regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`)},
		{"github_token", "a GitHub token", "_", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{82})\b`)},
		{"slack_token", "a Slack token", "xox", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,250}\b`)},
		{"jwt", "a JSON web token", "eyJ", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
	}
}

// assignment is a value assigned to a name that sounds secret.
var assignment = regexp.MustCompile(`(?i)(?:password|passwd|secret|token|api[_-]?key)[a-z0-9_.-]*["']?\s*[:=]\s*["']?([^\s"',;]{8,200})`)

// hit is a secret in a text.
type hit struct{ code, message string }

// scanner finds secrets.
type scanner struct {
	rules      []rule
	minEntropy float64
}

// scan lists the secrets in a text. Its messages don't repeat them.
func (s *scanner) scan(text string) []hit {
	var hits []hit
	add := func(code, what string, at int) {
		if len(hits) < maxFindings {
			line := 1 + strings.Count(text[:at], "\n")
			hits = append(hits, hit{code, fmt.Sprintf("%s, in line %d of the text", what, line)})
		}
	}
	for _, r := range s.rules {
		if !strings.Contains(text, r.mark) {
			continue
		}
		for _, at := range r.form.FindAllStringIndex(text, maxFindings) {
			add(r.code, r.what, at[0])
		}
	}
	if !strings.ContainsAny(text, ":=") {
		return hits
	}
	for _, at := range assignment.FindAllStringSubmatchIndex(text, maxFindings) {
		if value := text[at[2]:at[3]]; s.random(value) {
			add("random_secret", "what looks like a random password or key", at[2])
		}
	}
	return hits
}

// random reports whether a value looks random rather than written by a person.
func (s *scanner) random(value string) bool {
	for _, r := range s.rules {
		if r.form.MatchString(value) {
			return false // already reported
		}
	}
	return entropy(value) >= s.minEntropy
}

// entropy is the Shannon entropy of a text's bytes, in bits a byte.
func entropy(text string) float64 {
	var counts [256]float64
	for i := range len(text) {
		counts[text[i]]++
	}
	bits, n := 0.0, float64(len(text))
	for _, count := range counts {
		if count > 0 {
			bits -= count / n * math.Log2(count/n)
		}
	}
	return bits
}
