package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/sdk"
)

// calibrationPrefix and a model's name are the key of its calibration, in JSON.
const calibrationPrefix = "dream-model/"

// Calibrate measures the host's embedding model on labelled pairs, and stores the result, which
// replaces an earlier result. nil means the project's own pairs. The built-in embedder is refused:
// it compares spelling, not meaning.
func (d *Dreams) Calibrate(ctx context.Context, pairs []dream.LabelledPair) (*dream.Calibration, error) {
	if d.embedder.Model() == embed.Model {
		return nil, sdk.Errorf(sdk.Invalid, "model_not_calibratable", "%s is not calibrated: its vectors tell how alike two texts are spelled, not whether they say the same", embed.Model).
			WithHint("memories with equal normal forms are merged without any model; set another embedding model to merge by vectors too")
	}
	var err error
	if pairs == nil {
		if pairs, err = dream.LabelledPairs(nil); err != nil {
			return nil, err
		}
	}
	texts := make([]string, 0, 2*len(pairs))
	for _, p := range pairs {
		texts = append(texts, p.A)
	}
	for _, p := range pairs {
		texts = append(texts, p.B)
	}
	vectors, err := d.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, sdk.Errorf(sdk.Invalid, "embedding_invalid", "the embedder made %d vectors for %d texts", len(vectors), len(texts))
	}
	c, err := dream.Calibrate(pairs, vectors[:len(pairs)], vectors[len(pairs):])
	if err != nil {
		return nil, err
	}
	c.Model, c.At = d.embedder.Model(), d.config.Clock.Now().UTC()
	put := func(own *Host) error {
		return own.Store.Update(ctx, func(tx core.Tx) error { return tx.Put([]byte(calibrationPrefix+c.Model), jsontext.MustEncode(c)) })
	}
	return c, core.JoinErrors(put(d.databases.own), d.databases.eachCopy(put))
}

// Calibrations are the models whose vectors may lead to merges, by name. A calibration with
// another version of the guard is no longer valid.
func (d *Dreams) Calibrations(ctx context.Context) (map[string]dream.Calibration, error) {
	return core.View(ctx, d.databases.own.Store, calibrations)
}

func calibrations(r core.Reader) (map[string]dream.Calibration, error) {
	models := map[string]dream.Calibration{}
	err := core.ScanPrefix(r, []byte(calibrationPrefix), func(key, value []byte) (bool, error) {
		var c dream.Calibration
		if err := json.Unmarshal(value, &c); err != nil {
			return false, sdk.Errorf(sdk.Internal, "record_corrupt", "key %s: %w", key, err)
		}
		if c.GuardVersion == dream.GuardVersion {
			models[c.Model] = c
		}
		return true, nil
	})
	return models, err
}

// near is memory.Options.Near.
func near(r core.Reader) (map[string]float64, error) {
	models, err := calibrations(r)
	thresholds := make(map[string]float64, len(models))
	for name, c := range models {
		thresholds[name] = c.DedupThreshold
	}
	return thresholds, err
}

// Compare reports whether two memories with these texts would be merged: by their normal
// forms, or by the host's embedding model, if it is calibrated. No judge is asked.
func (d *Dreams) Compare(ctx context.Context, a, b string) (*dream.Comparison, error) {
	c := dream.Compare(a, b)
	if c.By == dream.ByForm || c.Class != "" {
		return &c, nil
	}
	models, err := d.Calibrations(ctx)
	if err != nil {
		return nil, err
	}
	model, calibrated := models[d.embedder.Model()]
	if !calibrated {
		return &c, nil
	}
	vectors, err := d.embedder.Embed(ctx, []string{a, b})
	if err != nil {
		return nil, err
	}
	if len(vectors) == 2 && vector.Cosine(vectors[0], vectors[1]) >= model.DedupThreshold {
		c.Merge, c.By = true, dream.ByVectors
	}
	return &c, nil
}
