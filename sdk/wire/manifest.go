package wire

import (
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire/wirepb"
)

func encodeManifest(m *sdk.Manifest) *wirepb.Manifest {
	pb := &wirepb.Manifest{
		Name: text(m.Name), Version: text(m.Version), Contract: int32(m.Contract),
		Description: text(m.Description), ConfigSchema: m.ConfigSchema, Parallel: int32(m.Parallel),
	}
	for _, k := range m.Kinds {
		pb.Kinds = append(pb.Kinds, string(k))
	}
	for _, c := range m.Capabilities {
		pb.Capabilities = append(pb.Capabilities, text(c))
	}
	return pb
}

func decodeManifest(pb *wirepb.Manifest) *sdk.Manifest {
	m := &sdk.Manifest{
		Name: pb.GetName(), Version: pb.GetVersion(), Contract: int(pb.GetContract()),
		Description: pb.GetDescription(), ConfigSchema: pb.GetConfigSchema(),
		Capabilities: pb.GetCapabilities(), Parallel: int(pb.GetParallel()),
	}
	for _, k := range pb.GetKinds() {
		m.Kinds = append(m.Kinds, sdk.Kind(k))
	}
	return m
}
