// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefrt is the runtime of the code that stefc generates: the marks of
// what changed in a record, arrays, struct dictionaries, and the engines that
// turn records into frames and back.
//
// Only generated code and packages of this module may import it. It is not
// internal because generated code lives in the modules of its users; its API may
// change in any release together with stefc. Its types have methods that break a
// stream when they are called at the wrong time. Users never need them: generated
// types return views with safe methods only (package list), and writers and
// readers promote safe methods only.
//
// How generated code and this package divide the work:
//
//   - Record tempo is generated: a writer's Write calls the encoder of the root,
//     straight-line code on concrete types, and then WriteStream.EndRecord,
//     which counts and looks at two limits. A reader's Next is the mirror.
//   - Frame tempo is here, once, for all schemas: encoders and decoders hand
//     their columns to an EncoderBuilder or DecoderBuilder when the stream
//     begins, and the engines walk that list at every frame.
//
// # Marks
//
// A record remembers what changed since it was last written. Each composite
// value has a Node with one bit per field (or pair), and a setter that changes
// a value sets the bit and those of all values around it. The invariant that
// keeps this cheap: a value whose node has a bit set is itself marked in the
// value around it, so marking stops at the first bit that is set already.
//
// The contents of a record, but for what is marked, are always what a decoder
// of the stream holds at that place. Arrays, oneofs and optional fields keep
// what they last sent besides, because shrinking and growing, or changing the
// choice there and back, between two writes must not lose sight of it.
//
// # Shared values
//
// The value of a dictionary struct can be shared: set by pointer, never
// changed again. Setting the pointer that was written last is no change at
// all, and a value that the dictionary knows is written without looking at its
// contents. Package otelstef shows the use.
//
// # The default level and window of zstd
//
// Bytes of the stream, time to read the plain records and write them again, and
// what an open stream in use holds, by BenchmarkWindow of the benchmarks (level
// default unless said; two real sets of metrics, sorted: hipstershop in one
// frame of 449,310 plain bytes, hostandcollector in 1,407 of 1,505,559 together;
// no compression takes 12.1 and 40.1 ms, a writer 1,327 and 111 KiB, a reader 639
// and 53 KiB):
//
//	                   hipstershop                       hostandcollector
//	                   bytes  ms    writer  reader KiB   bytes    ms    writer  reader KiB
//	fastest   1 MiB    97,738 12.7   2,740   2,229       251,627  51.8   1,634   1,499
//	default  64 KiB    89,706 13.6   2,794   1,067       252,301  52.3   1,698     347
//	default 256 KiB    89,541 13.2   3,050   1,451       246,672  53.3   1,954     731
//	default   1 MiB    89,543 13.4   3,818   2,219       245,444  52.9   2,722   1,499
//	default   8 MiB    89,543 13.8  10,986   9,387       245,355  53.5   9,890   8,667
//	better    1 MiB    88,934 13.7   6,698   2,218       241,736  58.0   5,602   1,499
//	best      1 MiB    84,336 20.3  37,331   2,216       231,512  71.4  36,259   1,499
//
// Level default is where bytes stop being cheap: fastest saves 2 to 6 % of this
// time for 2.5 to 9 % more bytes, better costs up to 10 % for 0.7 to 1.5 % fewer and
// doubles the memory. A window of 1 MiB has all but 0.04 % of what 8 MiB have, in
// a third of the memory; below it small frames lose first.
package stefrt
