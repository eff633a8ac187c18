package check

import "github.com/reflectory/reflectory/sdk"

const (
	// MaxManifest limits a manifest, in bytes: its largest part is the config schema.
	MaxManifest = 1 << 20
	// MaxParallel limits how many calls at a time a manifest may ask for.
	MaxParallel = 1024
)

// Manifest refuses a plugin's description of itself if the host can't use it: another
// contract version, reason "contract_mismatch", or an invalid manifest. Each text of m that
// people see becomes one line, as in [Error].
func Manifest(plugin string, m *sdk.Manifest) error {
	m.Version, m.Description = oneLine(m.Version), oneLine(m.Description)
	for i, c := range m.Capabilities {
		m.Capabilities[i] = oneLine(c)
	}
	if m.Contract != sdk.ContractVersion {
		return ContractMismatch(plugin, "contract", sdk.ContractVersion, m.Contract)
	}
	if err := m.Validate(); err != nil {
		return err
	}
	if len(m.ConfigSchema) > 0 {
		if err := JSON(m.ConfigSchema); err != nil {
			return manifestInvalid("config_schema %w", err)
		}
	}
	if m.Parallel > MaxParallel {
		return manifestInvalid("parallel %d is over %d", m.Parallel, MaxParallel)
	}
	return nil
}

func manifestInvalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "manifest_invalid", "plugin manifest: "+format, args...).
		WithHint("this is a fault of the plugin; report it to its author")
}
