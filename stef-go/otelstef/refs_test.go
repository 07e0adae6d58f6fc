// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Setters accept a text together with its dictionary reference, which saves a lookup. TestReferences: the
// stream has the same bytes as without references, even if the references are no longer valid.
func TestReferences(t *testing.T) {
	f := func(options ...stef.WriterOption) {
		t.Helper()
		rnd := rand.New(rand.NewPCG(7, 7))
		var plainOut, refOut bytes.Buffer
		plain, err := otelstef.NewLogsWriter(&plainOut, options...)
		require.NoError(t, err)
		ref, err := otelstef.NewLogsWriter(&refOut, options...)
		require.NoError(t, err)
		keys, texts := ref.Dicts().AttributeKey, ref.Dicts().AnyValueString
		var stale stef.TextRef
		for range 2000 {
			a, b := plain.Record().Record(), ref.Record().Record()
			n := rnd.IntN(5)
			var pairKeys []stef.Text
			var pairValues []string
			for range n {
				key := fmt.Sprint("key", rnd.IntN(6))
				pairKeys = append(pairKeys, stef.Text{Text: key, Ref: keys.Ref(key)})
				pairValues = append(pairValues, fmt.Sprint(rnd.IntN(30)))
			}
			a.Attributes().SetLen(n)
			for i := range n {
				a.Attributes().SetString(i, pairKeys[i].Text, pairValues[i])
			}
			switch rnd.IntN(3) {
			case 0:
				var values []stef.Text
				for _, v := range pairValues {
					values = append(values, stef.Text{Text: v})
					if rnd.IntN(2) == 0 {
						values[len(values)-1].Ref = texts.Ref(v)
					}
				}
				b.Attributes().SetStrings(pairKeys, values)
			case 1:
				b.Attributes().SetLen(n)
				for i, v := range pairValues {
					b.Attributes().SetKeyRef(i, pairKeys[i].Text, pairKeys[i].Ref)
					b.Attributes().Value(i).SetStringRef(v, texts.Ref(v))
					stale = texts.Ref(v)
				}
			default:
				b.Attributes().SetLen(n)
				for i, v := range pairValues {
					b.Attributes().SetKeyRef(i, pairKeys[i].Text, 0)
					b.Attributes().Value(i).SetStringRef(v, 0)
				}
			}
			if n > 0 && rnd.IntN(4) == 0 { // between two texts, the value is an integer
				a.Attributes().Value(0).SetInt64(int64(stale))
				b.Attributes().Value(0).SetInt64(int64(stale))
			}
			x, y := a.Body().SetTemplate(), b.Body().SetTemplate()
			x.Params().SetLen(n)
			y.Params().SetLen(n)
			for i, v := range pairValues {
				x.Params().SetValue(i, v)
				y.Params().SetValueRef(i, v, texts.Ref(v))
			}
			require.NoError(t, plain.Write())
			require.NoError(t, ref.Write())
			if rnd.IntN(100) == 0 {
				require.NoError(t, plain.Flush())
				require.NoError(t, ref.Flush())
			}
		}
		require.NoError(t, plain.Close())
		require.NoError(t, ref.Close())
		require.Equal(t, plainOut.Bytes(), refOut.Bytes())
	}
	f()
	f(stef.WithDictBytes(500))
	f(stef.WithRestart(stef.RestartDictionaries))
	f(stef.WithRestart(stef.RestartDictionaries|stef.RestartCodecs), stef.WithDictBytes(300))
}

// TestReferencesOfReaders: the values of a reader's record have no references to texts. This holds even if a
// value was an integer before, and the integer is equal to a reference.
func TestReferencesOfReaders(t *testing.T) {
	var in bytes.Buffer
	w, err := otelstef.NewLogsWriter(&in)
	require.NoError(t, err)
	known, err := otelstef.NewLogsWriter(new(bytes.Buffer))
	require.NoError(t, err)
	known.Record().EditResource().Attributes().SetLen(1)
	known.Record().EditResource().Attributes().SetString(0, "key", "other")
	require.NoError(t, known.Write())
	number := int64(known.Dicts().AnyValueString.Ref("other"))
	for _, text := range []string{"", "text"} {
		r := otelstef.NewResource()
		r.Attributes().SetLen(1)
		r.Attributes().SetInt64(0, "key", number)
		if text != "" {
			r.Attributes().SetString(0, "key", text)
		}
		w.Record().SetResource(r)
		require.NoError(t, w.Write())
	}
	require.NoError(t, w.Close())

	r, err := otelstef.NewLogsReader(&in)
	require.NoError(t, err)
	for r.Next() {
		known.Record().SetResource(r.Record().Resource())
		require.NoError(t, known.Write())
	}
	require.NoError(t, r.Err())
	require.Equal(t, 2, int(known.Stats().Records)-1)
	require.NotZero(t, known.Dicts().AnyValueString.Ref("text"), "it was written as it is")
}
