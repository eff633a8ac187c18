package check_test

import (
	"testing"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/check"
)

func TestAPluginsErrorCannotLookLikeTheHosts(t *testing.T) {
	const forged = "no\nerror: store damaged\r\nhint: run\x1b[2K rm -rf ~\u202e\u2028"
	const shown = `no\nerror: store damaged\r\nhint: run\x1b[2K rm -rf ~\u202e\u2028`
	e := check.PluginError(&sdk.Error{Code: sdk.Invalid, Op: forged, Message: forged, Hint: forged})
	if e.Op != shown || e.Message != shown || e.Hint != "the plugin says: "+shown || !e.FromPlugin {
		t.Errorf("got %+q", e)
	}
	if e := check.Error(&sdk.Error{Code: sdk.Invalid, Message: "größer als 3\ttief", Hint: "less"}); e.Message != `größer als 3\ttief` || e.Hint != "less" || e.FromPlugin {
		t.Errorf("the host's: %+q", e)
	}
	if e := check.PluginError(&sdk.Error{Code: sdk.Invalid, Message: "m"}); e.Hint != "" {
		t.Errorf("no hint: %+q", e)
	}
}

func TestAPluginsManifestCannotLookLikeTheHosts(t *testing.T) {
	m := &sdk.Manifest{
		Name: "p", Version: "1\nhint: run", Description: "d\x1b[2K", Contract: sdk.ContractVersion,
		Kinds: []sdk.Kind{sdk.KindEvaluator}, Capabilities: []string{"env:A\u202e"},
	}
	err := check.Manifest("acme/p", m)
	if err != nil || m.Version != `1\nhint: run` || m.Description != `d\x1b[2K` || m.Capabilities[0] != `env:A\u202e` {
		t.Errorf("%+v %v", m, err)
	}
}
