package run

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// Prompts repeat memories that the run was given, so a purge must remove them, but attempts and
// visits never change. So they are in records of their own, next to the attempt or visit that
// they belong to. A text is stored once in a run, however often it was sent. An index by memory
// finds the runs whose prompts may have a memory's text. A purge removes these texts, and their
// digests, by which a text could be guessed. Prompts aren't in a pruned run's file, because a purge
// couldn't find them there.
const (
	promptPrefix       = "run-prompt/"
	promptTextPrefix   = "run-prompt-text/"
	promptMemoryPrefix = "run-prompt-memory/"
)

// maxPrompts bounds the prompts of one attempt or visit; a composite evaluator may have many
// children that ask a model.
const maxPrompts = 64

func promptTextKey(id, digest string) []byte { return []byte(promptTextPrefix + id + "/" + digest) }

func promptMemoryKey(memory, id string) []byte { return []byte(promptMemoryPrefix + memory + "/" + id) }

// promptRecord is a stored prompt: its messages without their texts.
type promptRecord struct {
	core.Prompt
	// Texts are the digests of the messages' texts as they are kept; "" for a text that isn't.
	Texts []string `json:"texts,omitempty"`
}

// forget removes what a purge removes from a prompt, and returns the digests of its texts.
func (p *promptRecord) forget() (texts []string) {
	texts, p.Texts, p.Purged = p.Texts, nil, true
	p.Messages = slices.Clone(p.Messages)
	for i := range p.Messages {
		p.Messages[i].Text, p.Messages[i].Digest = "", ""
	}
	return texts
}

// addPrompts stores further prompts of an attempt or visit.
func addPrompts(tx core.Tx, id string, visit, iteration int, list []core.Prompt, purged core.Purged) error {
	if len(list) == 0 {
		return nil
	}
	key := id + "/" + numbers(visit, iteration)
	held, err := promptRecords.Get(tx, key)
	if err != nil {
		return err
	}
	if held == nil {
		held = new([]promptRecord)
	}
	for _, p := range list[:min(len(list), max(maxPrompts-len(*held), 0))] {
		record := promptRecord{Prompt: p}
		gone, err := purged.Any(tx, p.Memories...)
		if err != nil {
			return err
		}
		if gone {
			record.forget()
		} else if err := putPromptTexts(tx, id, &record); err != nil {
			return err
		}
		*held = append(*held, record)
	}
	return promptRecords.Put(tx, key, held)
}

func putPromptTexts(tx core.Tx, id string, p *promptRecord) error {
	p.Messages, p.Texts = slices.Clone(p.Messages), make([]string, len(p.Messages))
	for i := range p.Messages {
		m := &p.Messages[i]
		if m.Text == "" {
			continue
		}
		p.Texts[i] = core.Digest([]byte(m.Text))
		if err := tx.Put(promptTextKey(id, p.Texts[i]), []byte(m.Text)); err != nil {
			return err
		}
		m.Text = ""
	}
	for _, memory := range p.Memories {
		if err := tx.Put(promptMemoryKey(memory, id), nil); err != nil {
			return err
		}
	}
	return nil
}

// eachPrompts calls fn with the prompts of each attempt and visit of a run, in order.
func eachPrompts(r core.Reader, id string, fn func(key []byte, visit, iteration int, list []promptRecord) error) error {
	return promptRecords.Each(r, id+"/", func(key string, list *[]promptRecord) error {
		visit, iteration, err := place(&promptRecords, key, id)
		if err != nil {
			return err
		}
		return fn([]byte(promptPrefix+key), visit, iteration, *list)
	})
}

// readPrompts reads the prompts of a run, by visit and iteration, with their texts.
func readPrompts(r core.Reader, id string) (map[[2]int][]core.Prompt, error) {
	all := map[[2]int][]core.Prompt{}
	texts := map[string]string{}
	err := eachPrompts(r, id, func(_ []byte, visit, iteration int, list []promptRecord) error {
		for _, p := range list {
			for i, digest := range p.Texts {
				if digest == "" || i >= len(p.Messages) {
					continue
				}
				if _, known := texts[digest]; !known {
					value, _, err := r.Get(promptTextKey(id, digest))
					if err != nil {
						return err
					}
					texts[digest] = string(value)
				}
				p.Messages[i].Text = texts[digest]
			}
			at := [2]int{visit, iteration}
			all[at] = append(all[at], p.Prompt)
		}
		return nil
	})
	return all, err
}

// forgetPrompts removes a purged memory from the prompts of runs.
func forgetPrompts(tx core.Tx, memoryID string) error {
	runs, err := core.Suffixes(tx, promptMemoryKey(memoryID, ""), math.MaxInt)
	if err != nil {
		return err
	}
	for _, id := range runs {
		changed := map[string][]promptRecord{}
		var texts []string
		err := eachPrompts(tx, id, func(key []byte, _, _ int, list []promptRecord) error {
			for i := range list {
				if !slices.Contains(list[i].Memories, memoryID) {
					continue
				}
				texts = append(texts, list[i].forget()...)
				changed[string(key)] = list
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, digest := range texts {
			if err := tx.Delete(promptTextKey(id, digest)); err != nil {
				return err
			}
		}
		for key, list := range changed {
			if err := tx.Put([]byte(key), jsontext.MustEncode(list)); err != nil {
				return err
			}
		}
		if err := tx.Delete(promptMemoryKey(memoryID, id)); err != nil {
			return err
		}
	}
	return nil
}

// promptKeys are the keys of everything that is stored of a run's prompts.
func promptKeys(r core.Reader, id string) (keys [][]byte, err error) {
	err = eachPrompts(r, id, func(key []byte, _, _ int, list []promptRecord) error {
		keys = append(keys, key)
		for _, p := range list {
			for _, memory := range p.Memories {
				keys = append(keys, promptMemoryKey(memory, id))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = scanPrefix(r, promptTextPrefix+id+"/", func(key, _ []byte) error {
		keys = append(keys, bytes.Clone(key))
		return nil
	})
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal), err
}

// prompts checks a run's prompts: a purged memory is in none of them, the index has every memory
// of the others, and their texts are there.
func (c *checking) prompts(id string) error {
	texts := map[string]bool{}
	err := eachPrompts(c.r, id, func(key []byte, _, _ int, list []promptRecord) error {
		for i := range list {
			p := &list[i]
			if p.Purged {
				continue
			}
			if gone, err := c.purged.Any(c.r, p.Memories...); err != nil {
				return err
			} else if gone {
				c.problem(key, false, "a memory was purged, but a prompt that may repeat it is still there")
			}
			for _, digest := range p.Texts {
				texts[digest] = true
			}
			for _, memory := range p.Memories {
				if _, found, err := c.r.Get(promptMemoryKey(memory, id)); err != nil {
					return err
				} else if !found && slices.ContainsFunc(p.Texts, func(d string) bool { return d != "" }) {
					c.problem(key, false, fmt.Sprintf("memory %s isn't in the index of its prompts, so a purge wouldn't find it", memory))
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	prefix := promptTextPrefix + id + "/"
	return scanPrefix(c.r, prefix, func(key, value []byte) error {
		digest := string(key[len(prefix):])
		if !texts[digest] || core.Digest(value) != digest {
			c.problem(key, false, "it isn't the text of a prompt of this run")
		}
		return nil
	})
}

// strayPrompts reports entries of the index that name a run without prompts.
func (c *checking) strayPrompts(ctx context.Context) error {
	return scanPrefix(c.r, promptMemoryPrefix, func(key, _ []byte) error {
		_, id, _ := strings.Cut(string(key[len(promptMemoryPrefix):]), "/")
		if _, found, err := c.r.Get(runKey(id)); err != nil || found && validID(id) {
			return err
		}
		c.problem(key, false, "it names a run that doesn't exist")
		return ctx.Err()
	})
}
