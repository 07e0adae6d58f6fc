// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/stef-go/otelstef"
)

func TestObserved(t *testing.T) {
	r := otelstef.NewLogRecord()
	require.Zero(t, r.Observed())
	r.SetTime(1000)
	r.SetObservedTime(7)
	require.Equal(t, uint64(7), r.Observed())
	r.SetObservedDelta(250)
	require.Equal(t, uint64(1250), r.Observed())
	r.SetObservedDelta(-1001)
	require.Equal(t, ^uint64(0), r.Observed(), "the sum wraps")
	r.UnsetObservedDelta()
	require.Equal(t, uint64(7), r.Observed())
}

// String prints a value as AnyValue.String does: text has no quotes.
func TestBodyString(t *testing.T) {
	b := otelstef.NewLogRecord().Body()
	require.Empty(t, b.String())
	b.SetValue()
	require.Empty(t, b.String())
	b.SetString(`a"b`)
	require.Equal(t, `a"b`, b.String())
	b.SetValue().SetString(`a"b`)
	require.Equal(t, `a"b`, b.String())
	b.SetValue().SetBytes([]byte{1, 2, 3})
	require.Equal(t, "AQID", b.String())
	b.SetTemplate().SetTemplate("a")
	require.Equal(t, `{"Template":"a","Params":[]}`, b.String())
}

func TestBodyText(t *testing.T) {
	f := func(want string, ok bool, set func(b *otelstef.LogBody)) {
		t.Helper()
		b := otelstef.NewLogRecord().Body()
		set(b)
		text, is := b.Text()
		require.Equal(t, ok, is)
		require.Equal(t, want, text)
		appended, is := b.AppendText([]byte("body: "))
		require.Equal(t, ok, is)
		require.Equal(t, "body: "+want, string(appended))
	}
	template := func(text string, params ...string) func(b *otelstef.LogBody) {
		return func(b *otelstef.LogBody) {
			t := b.SetTemplate()
			t.SetTemplate(text)
			t.Params().SetLen(len(params))
			for i, p := range params {
				t.Params().SetValue(i, p)
			}
		}
	}
	f("", false, func(*otelstef.LogBody) {})
	f("", true, func(b *otelstef.LogBody) { b.SetString("") })
	f("a\x00b", true, func(b *otelstef.LogBody) { b.SetString("a\x00b") })
	f("in value", true, func(b *otelstef.LogBody) { b.SetValue().SetString("in value") })
	f("", false, func(b *otelstef.LogBody) { b.SetValue().SetInt64(5) })
	f("", false, func(b *otelstef.LogBody) { b.SetValue() })

	f("", true, template(""))
	f("plain", true, template("plain"))
	f("user u1 from 10.0.0.1", true, template("user \x00 from \x00", "u1", "10.0.0.1"))
	f("u1u2", true, template("\x00\x00", "u1", "u2"))
	f("a\x00b!", true, template("\x00!", "a\x00b")) // a placeholder in a parameter does not count
	f("", false, template("user \x00"))
	f("", false, template("user", "u1"))
	f("", false, template("user \x00 from \x00", "u1"))
	f("", false, template("user \x00", "u1", "u2"))
}

func TestBodyTextAllocates(t *testing.T) {
	b := otelstef.NewLogRecord().Body()
	b.SetTemplate().SetTemplate("user \x00")
	b.Template().Params().SetLen(1)
	b.Template().Params().SetValue(0, "u1")
	dst := make([]byte, 0, 100)
	require.Zero(t, testing.AllocsPerRun(100, func() { dst, _ = b.AppendText(dst[:0]) }))
	require.Equal(t, "user u1", string(dst))
}

func TestChoiceNames(t *testing.T) {
	require.Equal(t, "None", otelstef.LogBodyTypeNone.String())
	require.Equal(t, "Template", otelstef.LogBodyTypeTemplate.String())
	require.Equal(t, "Int64", otelstef.PointValueTypeInt64.String())
	require.Equal(t, "LogBodyType(200)", otelstef.LogBodyType(200).String())
}
