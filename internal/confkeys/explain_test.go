// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// optional has the method by which the Collector's optional sections are recognised.
type optional[T any] struct{ value T }

func (o *optional[T]) GetOrInsertDefault() *T { return &o.value }

type library struct {
	Interval time.Duration `mapstructure:"interval"`
	Size     int64         `mapstructure:"queue_size"`
	Block    bool          `mapstructure:"block"`
}

// order is a section that may also be written as a single text.
type order struct {
	Logs string `mapstructure:"logs"`
}

func (*order) UnmarshalText([]byte) error { return nil }

type header struct{ Name, Value string }

type whole struct {
	Squashed squashed          `mapstructure:",squash"`
	Inner    *library          `mapstructure:"inner"`
	Queue    optional[library] `mapstructure:"queue"`
	Order    order             `mapstructure:"order"`
	Labels   map[string]string `mapstructure:"labels"`
	Headers  []header          `mapstructure:"headers"`
	Names    []string          `mapstructure:"names"`
	Deep     struct {
		Deeper struct {
			Least int    `mapstructure:"least"`
			Most  uint32 `mapstructure:"most"`
		} `mapstructure:"deeper"`
	} `mapstructure:"deep"`
}

func TestExplain(t *testing.T) {
	unread := errors.New("cannot be read")
	f := func(want string, conf map[string]any) {
		t.Helper()
		hints := map[string]string{"labels::enabled": "write labels::a", "inner::enabled": "write block", "inner::old": "write it as new", "order::logs": "for points write order::metrics"}
		choices := map[string]string{"order::logs": "up, down or none"}
		require.EqualError(t, explain(unread, conf, hints, choices, Of[whole](""), Of[order]("order")), want)
	}
	section := func(path, key string, value any) map[string]any {
		return map[string]any{path: map[string]any{key: value}}
	}
	f("cannot be read", map[string]any{})
	f("deep::deeper::most is -1: set it to at least 0", map[string]any{"deep": section("deeper", "most", -1)})
	f("cannot be read", section("queue", "enabled", false))
	f(`inner::queue_size is "100": write it without quotation marks`, section("inner", "queue_size", "100"))
	f(`inner::queue_size is true: set it to a whole number`, section("inner", "queue_size", true))
	f(`inner::queue_size is [1]: set it to a whole number`, section("inner", "queue_size", []any{1}))
	f(`inner::interval is true: write numbers with units and without spaces, such as 15s or 1m30s`, section("inner", "interval", true))
	f("cannot be read", map[string]any{"order": "sorted", "labels": map[string]any{"a": "b"}, "queue": nil})
	f(`unknown key "queue::queue_sizes": did you mean "queue::queue_size"?`, section("queue", "queue_sizes", 1))
	f(`unknown key "inner::x": remove it, or write one of the keys in inner: block, interval, queue_size`, section("inner", "x", 1))
	f(`inner::queue_size is "64MiB": set it to a whole number`, section("inner", "queue_size", "64MiB"))
	f(`queue::block is maybe: set it to true or false`, section("queue", "block", "maybe"))
	f(`endpoint is 4320: set it to host:port, such as localhost:4320`, map[string]any{"endpoint": 4320})
	f(`endpoint is 1.5: set it to a text, in quotation marks if it looks like a number`, map[string]any{"endpoint": 1.5})
	f(`queue is false: write queue::enabled: false`, map[string]any{"queue": false})
	f(`inner is 5, but must be a section with one or more of the keys block, interval, queue_size`, map[string]any{"inner": 5})
	f(`unknown key "enabled": to turn the component off, remove it from the lists under service`, map[string]any{"enabled": false})
	f(`unknown key "deep::enabled": remove it, or write one of the keys in deep: deeper`, section("deep", "enabled", true))
	f(`inner is false: write block`, map[string]any{"inner": false})
	f(`unknown key "inner::enabled": write block`, section("inner", "enabled", false))
	f(`unknown key "inner::old": write it as new`, section("inner", "old", 1))
	f(`unknown key "logs": write it as "order::logs"`, map[string]any{"logs": "a"})
	f(`unknown key "block": write it as "inner::block" or "queue::block"`, map[string]any{"block": true})
	f(`unknown key "deep::least": write it as "deep::deeper::least"`, section("deep", "least", 1))
	f(`unknown key "inner::least": write it as "deep::deeper::least"`, section("inner", "least", 1))
	f(`order::logs is "left": set it to up, down or none; for points write order::metrics`, section("order", "logs", "left"))
	f("cannot be read", section("order", "logs", "none"))
	f(`order is 5, but must be a section with one or more of the keys logs`, map[string]any{"order": 5})
	f("headers is x: write one name and its value on each line below it, such as name: value", map[string]any{"headers": "x"})
	f("labels is 5: write one name and its value on each line below it, such as name: value", map[string]any{"labels": 5})
	f("headers is a list: write name: value pairs, such as {tenant: a}", map[string]any{"headers": []any{"a"}})
	f("headers is a list: write name: value pairs, such as {tenant: a}", map[string]any{"headers": []any{map[string]any{"tenant": "a"}}})
	f("cannot be read", map[string]any{"headers": []any{map[string]any{"name": "a", "value": "b"}}})
	f("cannot be read", map[string]any{"names": []any{"a"}, "labels": map[string]any{}})
	f("endpoint has several values: set it to one text", map[string]any{"endpoint": []any{"a"}})
	f("unknown key \"inner::x\": remove it, or write one of the keys in inner: block, interval, queue_size\nqueue is 1, but must be a section with one or more of the keys block, enabled, interval, queue_size",
		map[string]any{"inner": map[string]any{"x": 1}, "queue": 1})
}

// Elements of lists and maps are errors only if they are in the error of reading the configuration: a number
// from an environment variable is a valid text.
func TestNotTexts(t *testing.T) {
	refused := errors.New("'[a]' expected type 'string'\n'[b]' expected type\n'headers[0].value' expected type\n'names[1]' expected type")
	f := func(want string, conf map[string]any) {
		t.Helper()
		require.EqualError(t, explain(refused, conf, nil, nil, Of[whole]("")), want)
		require.EqualError(t, explain(errors.New("other"), conf, nil, nil, Of[whole]("")), "other")
	}
	f("headers::a is a number: write it in quotation marks\nheaders::b is true or false: write it in quotation marks",
		map[string]any{"headers": map[string]any{"a": 1, "b": true, "c": "d", "e": nil}})
	f("headers[0]::value is a number: write it in quotation marks", map[string]any{"headers": []any{map[string]any{"name": "a", "value": 1.5}}})
	f("labels::a is a number: write it in quotation marks", map[string]any{"labels": map[string]any{"a": 1}})
	f("names[1] is a number: write it in quotation marks", map[string]any{"names": []any{"a", 2}})
	type lists struct {
		Include []string `mapstructure:"include"`
		Exclude []string `mapstructure:"exclude"`
	}
	type nested struct {
		Files lists `mapstructure:"files"`
	}
	conf := map[string]any{"include": []any{1}, "exclude": []any{2}}
	require.EqualError(t, explain(errors.New("'exclude[0]' expected type 'string'"), conf, nil, nil, Of[lists]("")),
		"exclude[0] is a number: write it in quotation marks")
	conf = map[string]any{"files": conf}
	require.EqualError(t, explain(errors.New("'files.exclude[0]' expected type 'string'"), conf, nil, nil, Of[nested]("")),
		"files::exclude[0] is a number: write it in quotation marks")
}

func TestDurations(t *testing.T) {
	f := func(want string, value any) {
		t.Helper()
		err := check(map[string]any{"queue": map[string]any{"interval": value}}, nil, nil, Of[whole](""))
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, want)
	}
	f("", "15s")
	f("", 0)
	f("queue::interval has no value: set it, or remove it to use the default", nil)
	f("", int64(time.Second))
	f("queue::interval is 15 without a unit: write 15s or 15ms", 15)
	f("queue::interval is 15000 without a unit: write 15000ms", 15000)
	f(`queue::interval is "15 s": write numbers with units and without spaces, such as 15s or 1m30s`, "15 s")
	f(`queue::interval is "15": write numbers with units and without spaces, such as 15s or 1m30s`, "15")
	f("", 0.0)
	f("", 1.5e9)
	f("queue::interval is 0.5 without a unit: write 0.5s or 0.5ms", 0.5)
	f("queue::interval is 300.5 without a unit: write 300.5s or 300.5ms", 300.5)
	f("queue::interval is 1e+08 without a unit: write 100000000s or 100000000ms", 1e8)
	f("queue::interval is 1e-07 without a unit: write 0.0000001s or 0.0000001ms", 1e-7)
	f("queue::interval is +Inf: write numbers with units and without spaces, such as 15s or 1m30s", math.Inf(1))
}

func TestFractions(t *testing.T) {
	f := func(want string, value any) {
		t.Helper()
		err := check(map[string]any{"inner": map[string]any{"queue_size": value}}, nil, nil, Of[whole](""))
		if want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, want)
	}
	f("inner::queue_size has no value: set it, or remove it to use the default", nil)
	f("", 3)
	f("", 3.0)
	f("", 1e9)
	f("", "3.5") // the Collector refuses it
	f("inner::queue_size is 3.5: set it to a whole number", 3.5)
	f("inner::queue_size is 1e+30, which is out of range", 1e30)
	f("inner::queue_size is NaN: set it to a whole number", math.NaN())
}
