// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomPoint changes p to a random next point of the series. Its kind is at most last.
func randomPoint(random *rand.Rand, p *Point, last Kind, ticks *uint64) {
	if random.IntN(3) == 0 {
		*ticks += uint64(random.IntN(4)) * 5e9
	}
	before := p.Time
	switch random.IntN(8) {
	case 0:
		p.Time = *ticks + uint64(random.IntN(1000))
	case 1:
		p.Time += 5e9 + uint64(random.IntN(3))*1e6
	case 2:
		p.Time = random.Uint64()
	default:
		p.Time = *ticks
	}
	switch random.IntN(60) {
	case 0:
		p.Start = before
	case 1:
		p.Start = p.Time - uint64(random.IntN(9))*1e9
	}
	if random.IntN(50) == 0 {
		p.Kind = Kind(random.IntN(int(last) + 1))
	}
	switch {
	case p.Kind == None:
		p.Scalar = 0
	case p.Kind == Int || random.IntN(6) == 0:
		p.Scalar += uint64(random.IntN(9)) - 2
	case random.IntN(3) != 0:
		p.Scalar = math.Float64bits(float64(random.IntN(5000)) / 100)
	}
	if p.Kind < Histogram {
		p.Words, p.Floats = nil, nil
	} else if p.Words == nil || random.IntN(2) == 0 {
		p.Words = append(append([]uint64(nil), p.Words...), make([]uint64, 6)...)[:2+random.IntN(4)]
		for i := range p.Words {
			p.Words[i] += uint64(random.IntN(3))
		}
		p.Floats = []uint64{random.Uint64() >> 60, 1}
	}
}

// Take decodes a point. It has two faster variants for points whose fields Start and Form did not change:
// TakeSteady and takeKnown. Both must return the same points as Take, and keep the same state.
func TestShortTakesAreTake(t *testing.T) {
	steady, known := 0, 0
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 9))
		const all = 7
		var points [all]Point
		type side struct {
			points Points
			series [all]Series
			homes  [2]Home
			fields Fields
			point  Point
		}
		var sides [3]side // the writer, a reader that uses only Take of any point, and a reader that uses the shorter functions
		for i := range sides {
			s := &sides[i]
			s.points.Reset()
			for k := range s.series {
				s.series[k].Home = &s.homes[k%2]
			}
		}
		ticks := uint64(1e18)
		for i := range 400 {
			k := i % all
			if random.IntN(4) == 0 {
				k = random.IntN(all)
			}
			p := &points[k]
			randomPoint(random, p, []Kind{Double, Summary}[k%2], &ticks)
			writer, plain, short := &sides[0], &sides[1], &sides[2]
			before := writer.fields
			writer.points.Put(&writer.series[k], p, &writer.fields)
			sent := writer.fields
			if !sent.Listed { // the lists do not change
				sent.Words, sent.Floats = before.Words, before.Floats
			}
			if len(sent.Floats) == 0 {
				sent.Floats = nil
			}

			plain.fields = sent
			_, ok := plain.points.TakeCode(&plain.series[k], &plain.fields, &plain.point, plain.points.TimeCode(plain.fields.Time))
			require.True(t, ok)

			short.fields = sent
			short.fields.Known = sent.Start == before.Start && sent.Form == before.Form
			x := &short.series[k]
			code := short.points.TimeCode(sent.Time)
			if short.fields.Known && x.Steady() && IsNear(code) {
				steady++
				residual := short.points.Residual(sent.Number)
				short.point = Point{Kind: x.Kind()}
				short.point.Start, short.point.Time, short.point.Scalar = short.points.TakeSteady(x, residual, code)
			} else {
				if short.fields.Known {
					known++
				}
				_, ok = short.points.TakeCode(x, &short.fields, &short.point, code)
				require.True(t, ok)
			}
			for _, s := range sides[1:] {
				what := fmt.Sprintf("seed %d, point %d", seed, i)
				require.Equal(t, [3]uint64{p.Start, p.Time, p.Scalar}, [3]uint64{s.point.Start, s.point.Time, s.point.Scalar}, what)
				require.Equal(t, p.Kind, s.point.Kind, what)
				if p.Kind >= Histogram {
					require.True(t, same(p.Words, s.point.Words) && same(p.Floats, s.point.Floats), what)
				}
			}
			require.Equal(t, plain.points.last, short.points.last)
			require.Equal(t, plain.points.ticks, short.points.ticks)
			require.Equal(t, plain.points.series, short.points.series)
			require.Equal(t, plain.series[k].rest, x.rest)
			a, b := plain.series[k], *x
			a.Home, b.Home, a.rest, b.rest = nil, nil, nil, nil
			require.Equal(t, a, b)
		}
	}
	require.Greater(t, steady, 3000)
	require.Greater(t, known, 3000)
}
