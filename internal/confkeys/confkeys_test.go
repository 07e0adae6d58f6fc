// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type outer struct {
	Squashed squashed `mapstructure:",squash"`
	Inner    inner    `mapstructure:"inner"`
	Timeout  int      `mapstructure:"timeout"`
}

type squashed struct {
	Endpoint string `mapstructure:"endpoint"`
}

type inner struct {
	Streams int `mapstructure:"num_streams"`
}

func TestUnknown(t *testing.T) {
	f := func(want string, conf map[string]any) {
		t.Helper()
		err := check(conf, map[string]string{"protocols": "write its keys here"}, nil, Of[outer](""), Of[inner]("inner"))
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, want)
	}
	f("", map[string]any{"endpoint": "a:1", "timeout": 1, "inner": map[string]any{"num_streams": 1}})
	f(`unknown key "endpont": did you mean "endpoint"?`, map[string]any{"endpont": "a:1"})
	f(`unknown key "num_streams": write it as "inner::num_streams"`, map[string]any{"num_streams": 1})
	f(`unknown key "inner::x": remove it, or write one of the keys in inner: num_streams`, map[string]any{"inner": map[string]any{"x": 1}})
	f(`unknown key "wings": remove it, or write one of the keys at the top level: endpoint, inner, timeout`, map[string]any{"wings": 1})
	f(`unknown key "protocols": write its keys here`, map[string]any{"protocols": nil})
	f(`unknown key "inner.num_streams": write it as "inner::num_streams"`, map[string]any{"inner.num_streams": 1})
	f(`unknown key "wings.x": remove it, or write one of the keys at the top level: endpoint, inner, timeout`, map[string]any{"wings.x": 1})
	f("", map[string]any{"inner": "not a map"})
}

// TestReadAll makes several mistakes. Read reports each of them once.
func TestReadAll(t *testing.T) {
	keys := Keys{Sections: []Section{Of[choosing]("")}, Choices: map[string]string{"level": "low or high"}}
	f := func(want string, conf map[string]any) {
		t.Helper()
		require.EqualError(t, keys.Read(conf, func() error { return nil }), want)
	}
	f("level is 3: set it to low or high", map[string]any{"level": 3})
	f(`unknown key "wings": remove it, or write one of the keys at the top level: inner, level
unknown key "inner::x": remove it, or write one of the keys in inner: mode`, map[string]any{"wings": 1, "inner": map[string]any{"x": 1}})
}

type choosing struct {
	Level string `mapstructure:"level"`
	Inner struct {
		Mode string `mapstructure:"mode"`
	} `mapstructure:"inner"`
}

func TestNotText(t *testing.T) {
	f := func(want string, conf map[string]any) {
		t.Helper()
		err := check(conf, nil, map[string]string{"level": "low or high", "inner::mode": "a or b"}, Of[choosing](""))
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, want)
	}
	f("", map[string]any{})
	f("", map[string]any{"level": "3", "inner": map[string]any{"mode": nil}})
	f("", map[string]any{"inner": 3})
	f("level is 3: set it to low or high", map[string]any{"level": 3})
	f("inner::mode is false: set it to a or b", map[string]any{"inner": map[string]any{"mode": false}})
	f("level has several values: set it to low or high", map[string]any{"level": []any{"low"}})
}

func TestEdits(t *testing.T) {
	require.Equal(t, 0, edits("abc", "abc"))
	require.Equal(t, 1, edits("abc", "abcd"))
	require.Equal(t, 1, edits("abc", "ac"))
	require.Equal(t, 3, edits("", "abc"))
	require.Equal(t, 3, edits("kitten", "sitting"))
}

func TestNearest(t *testing.T) {
	keys := []string{"convert", "cat", "stat"}
	require.Equal(t, "convert", Nearest(keys, "convrt"))
	require.Equal(t, "cat", Nearest(keys, "ct"))
	require.Equal(t, "stat", Nearest(keys, "stats"))
	require.Equal(t, "convert", Nearest(keys, "con"), "the only one that begins so")
	require.Equal(t, "max_age", Nearest([]string{"max_elapsed_time", "max_elapsed_items", "max_age"}, "max_ege"))
	require.Equal(t, "a_b_c_d", Nearest([]string{"a_b_c_d"}, "a_b"))
	require.Empty(t, Nearest([]string{"max_elapsed_time", "max_elapsed_items"}, "max_elapsed"), "two begin so")
	require.Empty(t, Nearest(keys, "help"))
}

func TestSimilar(t *testing.T) {
	f := func(key string, want ...string) {
		t.Helper()
		require.Equal(t, want, similar([]string{"client_ca_file", "client_ca_file_reload", "cert_file", "cert_pem", "max_a", "max_b", "max_c"}, key))
	}
	f("client_ca", "client_ca_file")
	f("cert", "cert_file", "cert_pem")
	f("max")
	f("c")
	f("wings")
}
