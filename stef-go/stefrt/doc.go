// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefrt is the runtime of the code that stefc generates: the marks of
// changed fields, arrays, struct dictionaries, and the engines that convert records
// into frames and back.
//
// Only generated code and packages of this module may import it. It is not internal
// because generated code is in the modules of its users; its API may change in any
// release together with stefc. Its types have methods that break a stream if they
// are called at the wrong time. Users do not need these types: generated types
// return views with safe methods only (package list), and writers and readers
// promote safe methods only.
//
// Generated code and this package divide the work as follows:
//
//   - Code that runs for each record is generated: a writer's Write calls the encoder
//     of the root, which uses concrete types. It then calls EndRecord, which counts the
//     record and checks two limits. A reader's Next is the inverse.
//   - Code that runs for each frame is here, once, for all schemas: encoders and
//     decoders register their columns with an EncoderBuilder or DecoderBuilder when
//     the stream begins, and the engines walk that list at every frame.
//
// # Marks
//
// A record marks what changed since it was last written. Each composite value has a
// Node with one bit per field (or pair). A setter that changes a value sets its bit
// and the bits of all enclosing values. An invariant keeps this cheap: if a node has
// a bit set, its own bit in the enclosing value is set too, so marking stops at the
// first bit that is already set.
//
// Except for what is marked, the contents of a record always equal what a decoder of
// the stream holds at that place. Arrays, oneofs and optional fields also keep what
// they last sent: between two writes an array can shrink and grow, or a choice can
// change and change back, and the encoder must still know the state of the decoder.
//
// # Shared values
//
// The value of a dictionary struct can be shared: it is set by pointer and never
// changes again. Setting the pointer that was written last is not a change. A value
// whose slot refers to the dictionary is written without a comparison of its contents.
// Package otelstef shows the use.
//
// # The default level and window of zstd
//
// The table has the bytes of the stream, the time to read the plain records and
// write them again, and the memory of the writer and of the reader while the stream is
// open. BenchmarkWindow of the benchmarks measured them. The inputs
// are two real sets of metrics, sorted: hipstershop is one frame of 449,310 plain bytes,
// hostandcollector is 1,407 frames, together 1,505,559 plain bytes. Without compression the
// time is 12.1 and 40.1 ms, the memory of a writer 1,327 and 111 KiB, that of a reader 639
// and 53 KiB:
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
// In the table, level default is the highest level that saves bytes at a low price. Level
// fastest needs 2 to 6 % less time, and 2.5 to 9 % more bytes. Level better needs up to
// 10 % more time and about twice the memory, for 0.7 to 1.5 % fewer bytes. A window of 1 MiB
// needs at most 0.04 % more bytes than a window of 8 MiB, and about a third of the memory.
// Smaller windows need more bytes, above all in streams of small frames.
package stefrt
