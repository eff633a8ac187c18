package host

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/sdk"
)

// calibrationPrefix and a model's name are the key of its calibration, in JSON.
const calibrationPrefix = "dream-model/"

// Calibrate measures the host's embedding model on labelled pairs, and stores the result, which
// replaces an earlier result. nil means the project's own pairs. The built-in embedder is refused:
// it compares spelling, not meaning.
func (h *Host) Calibrate(ctx context.Context, pairs []dream.LabelledPair) (*dream.Calibration, error) {
	embedder, err := h.embedder()
	if err != nil {
		return nil, err
	}
	if embedder.Model() == embed.Model {
		return nil, sdk.Errorf(sdk.Invalid, "model_not_calibratable", "%s is not calibrated: its vectors tell how alike two texts are spelled, not whether they say the same", embed.Model).
			WithHint("memories with equal normal forms are merged without any model; set another embedding model to merge by vectors too")
	}
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
	vectors, err := embedder.Embed(ctx, texts)
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
	c.Model, c.At = embedder.Model(), h.Now().UTC()
	put := func(own *Host) error {
		return own.Store.Update(ctx, func(tx core.Tx) error { return tx.Put([]byte(calibrationPrefix+c.Model), core.MustJSON(c)) })
	}
	return c, core.JoinErrors(put(h), h.eachCopy(put))
}

// Calibrations are the models whose vectors may lead to merges, by name. A calibration with
// another version of the guard is no longer valid.
func (h *Host) Calibrations(ctx context.Context) (models map[string]dream.Calibration, err error) {
	err = h.Store.View(ctx, func(r core.Reader) error {
		models, err = calibrations(r)
		return err
	})
	return models, err
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

// CompareTexts reports whether two memories with these texts would be merged: by their normal
// forms, or by the host's embedding model, if it is calibrated. No judge is asked.
func (h *Host) CompareTexts(ctx context.Context, a, b string) (*dream.Comparison, error) {
	c := dream.Compare(a, b)
	if c.By == dream.ByForm || c.Class != "" {
		return &c, nil
	}
	embedder, err := h.embedder()
	if err != nil {
		return nil, err
	}
	models, err := h.Calibrations(ctx)
	if err != nil {
		return nil, err
	}
	model, calibrated := models[embedder.Model()]
	if !calibrated {
		return &c, nil
	}
	vectors, err := embedder.Embed(ctx, []string{a, b})
	if err != nil {
		return nil, err
	}
	if len(vectors) == 2 && vector.Cosine(vectors[0], vectors[1]) >= model.DedupThreshold {
		c.Merge, c.By = true, dream.ByVectors
	}
	return &c, nil
}
