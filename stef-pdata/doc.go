// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefpdata converts between pdata, the Collector's telemetry in memory,
// and STEF streams.
//
// An encoder writes batches to a writer of records, which makes the stream. A
// flush ends a frame, and a decoder gives back a frame at a time:
//
//	w, err := otelstef.NewMetricsWriter(dst, stef.WithCompression(stef.Zstd))
//	e := stefpdata.NewMetricsEncoder(w)
//	err = e.Encode(md) // as often as there are batches
//	err = w.Flush()
//
//	r, err := otelstef.NewMetricsReader(src)
//	d := stefpdata.NewMetricsDecoder(r)
//	md, err := d.Decode() // until io.EOF
//
// # Model
//
// Each data point, span or log record is a record of the stream, with its
// resource, scope and metric as shared values in it. A writer sends what differs
// from the record before. An encoder keeps the containers that it has seen, so
// that the next ones are compared with what is likely to come and are rarely
// converted again. A decoder opens a new container where the content changes.
//
// # Modes
//
// Ordered keeps the order of items and of attributes. Sorted puts items in the
// order that makes the stream small and orders attributes by key, those of equal
// keys staying in their order; attributes within values are left alone. Either
// mode merges containers of equal content that become neighbours. What is
// written depends on the batch and on the stream before it, never on chance.
//
// Bytes of the real metrics sets with zstd and default settings, in the full
// schema, as TestSizesOfSortedMetrics measures them:
//
//	                               sorted    bound
//	hipstershop, one batch         89,543   90,500
//	hostandcollector, 1407 batches 245,444  246,860
//	hostandcollector, one batch    76,583   80,470
//
// Spans are sorted by resource and scope, then by trace and start time, or by name
// first where traces have few spans, in chunks of some hundred spans. Bytes of the
// real set of 86,583 spans in one batch, as TestTracesSizes measures them:
//
//	hipstershop                    sorted     ordered
//	full schema                    3,471,221  5,513,974
//	full, zstd                     1,997,601  2,580,241
//	full, zstd of level better     1,751,873  2,376,444
//	published, zstd                2,092,809  2,617,512
//
// Of the real logs sets, a frame for each part, as TestSizesOfLogs measures them,
// beside the parts of OTLP with zstd. The default of logs is Ordered: what sorted
// logs lose, no time stamp can bring back. Their attributes stay in order in both.
//
//	               OTLP  ordered  share  bound   sorted
//	kafka       825,761  382,312  0.463   0.47  362,821
//	webnodes  1,055,320  662,940  0.628   0.64  638,461
//	cloudtrail  529,065  351,340  0.664   0.67  334,723
//	astronomy   558,406  268,330  0.481   0.51  264,677
//	k8sapps     812,541  493,648  0.608   0.61  492,494
//
// Text bodies of logs are taken apart into a template and parameters where
// templates return and are most of the text. It takes a fifth off the streams of kafka and k8sapps, and
// costs time; WithTemplates has the choice.
//
// # Speed
//
// Time relative to that of OTLP in the same run, which is marshal on the way to the
// stream and unmarshal on the way back, zstd included where it says so: below 1 is
// faster. Cold streams begin with the measurement, warm ones know all that comes.
// Medians of xOTLP over six runs of this, one after the other, of go1.26.8 linux/amd64,
// pdata v1.70.0, AMD EPYC; single runs were up to a fifth off:
//
//	GOMAXPROCS=1 go test -run '^$' -bench '(Encode|Decode)/set=[hkwca]' -benchtime 3x ./stef-pdata
//
//	                                none        zstd       to pdata
//	                             cold  warm  cold  warm  none  zstd
//	metrics, sorted
//	  hipstershop, one           0.98  0.71  0.57  0.39  0.35  0.33
//	  hostandcollector, parts    1.01  1.00  0.67  0.67  0.65  0.59
//	  hostandcollector, one      0.75  0.65  0.50  0.44  0.38  0.39
//	metrics, ordered
//	  hipstershop, one           0.71  0.68  0.47  0.40  0.45  0.45
//	  hostandcollector, parts    0.87  0.84  0.61  0.63  0.68  0.63
//	  hostandcollector, one      0.68  0.67  0.54  0.52  0.55  0.55
//	traces, sorted
//	  hipstershop, one           0.95  0.92  0.41  0.40  0.38  0.36
//	traces, ordered
//	  hipstershop, one           0.92  0.89  0.52  0.50  0.50  0.49
//	logs, ordered
//	  kafka, parts               0.75  0.68  0.96  0.62  0.52  0.66
//	  kafka, one                 0.68  0.62  0.86  0.61  0.53  0.57
//	  webnodes, parts            0.73  0.68  0.90  0.81  0.54  0.57
//	  webnodes, one              0.98  0.88  0.82  0.71  0.62  0.56
//	  cloudtrail, parts          1.20  1.01  0.85  0.48  0.53  0.55
//	  cloudtrail, one            1.25  1.08  0.77  0.42  0.57  0.56
//	  astronomy, parts           0.54  0.49  0.42  0.23  0.47  0.47
//	  astronomy, one             0.63  0.54  0.31  0.22  0.43  0.39
//	  k8sapps, parts             0.52  0.42  0.96  0.46  0.53  1.08
//	  k8sapps, one               0.84  0.49  0.86  0.43  0.56  0.85
//	logs, sorted
//	  kafka, parts               0.96  0.89  0.99  0.67  0.47  0.63
//	  kafka, one                 0.98  0.80  1.31  0.71  0.49  0.51
//	  webnodes, parts            0.86  0.77  0.89  0.81  0.49  0.49
//	  webnodes, one              1.26  1.06  1.26  0.82  0.42  0.46
//	  cloudtrail, parts          1.32  1.19  0.88  0.51  0.50  0.53
//	  cloudtrail, one            1.48  1.17  0.85  0.48  0.51  0.52
//	  astronomy, parts           0.81  0.71  0.57  0.31  0.45  0.45
//	  astronomy, one             1.01  0.78  0.49  0.30  0.29  0.27
//	  k8sapps, parts             0.71  0.54  0.98  0.47  0.59  0.92
//	  k8sapps, one               0.90  0.55  1.04  0.42  0.43  0.60
//
// A busy Collector has a large heap and collects it rarely, which makes OTLP's large
// buffers cheap. The same with STEF_BALLAST=1024, a GiB of ballast:
//
//	                                none        zstd       to pdata
//	                             cold  warm  cold  warm  none  zstd
//	metrics, sorted
//	  hipstershop, one           0.92  0.73  0.63  0.48  0.30  0.29
//	  hostandcollector, parts    1.26  1.24  0.78  0.78  0.56  0.49
//	  hostandcollector, one      0.82  0.74  0.52  0.49  0.43  0.41
//	metrics, ordered
//	  hipstershop, one           0.75  0.72  0.60  0.48  0.44  0.42
//	  hostandcollector, parts    1.07  1.06  0.73  0.74  0.56  0.51
//	  hostandcollector, one      0.79  0.78  0.60  0.59  0.58  0.54
//	traces, sorted
//	  hipstershop, one           1.17  1.11  0.48  0.46  0.35  0.34
//	traces, ordered
//	  hipstershop, one           1.13  1.08  0.62  0.58  0.45  0.45
//	logs, ordered
//	  kafka, parts               0.90  0.84  1.17  0.77  0.47  0.68
//	  kafka, one                 1.00  0.90  0.96  0.70  0.55  0.65
//	  webnodes, parts            1.19  1.07  1.08  1.00  0.53  0.57
//	  webnodes, one              1.21  1.08  0.94  0.85  0.58  0.57
//	  cloudtrail, parts          1.43  1.26  1.00  0.53  0.53  0.54
//	  cloudtrail, one            1.68  1.45  0.90  0.48  0.52  0.52
//	  astronomy, parts           0.97  0.87  0.53  0.28  0.46  0.41
//	  astronomy, one             1.01  0.91  0.35  0.26  0.45  0.42
//	  k8sapps, parts             0.86  0.72  1.08  0.52  0.51  0.79
//	  k8sapps, one               0.84  0.55  0.91  0.45  0.57  0.76
//	logs, sorted
//	  kafka, parts               1.16  1.09  1.18  0.80  0.44  0.62
//	  kafka, one                 1.33  1.11  1.24  0.77  0.50  0.57
//	  webnodes, parts            1.34  1.25  1.08  1.00  0.47  0.51
//	  webnodes, one              1.44  1.31  1.23  0.95  0.48  0.46
//	  cloudtrail, parts          1.62  1.41  1.03  0.57  0.50  0.51
//	  cloudtrail, one            1.83  1.68  1.01  0.55  0.49  0.48
//	  astronomy, parts           1.40  1.26  0.70  0.39  0.47  0.42
//	  astronomy, one             1.51  1.30  0.50  0.35  0.40  0.37
//	  k8sapps, parts             1.07  0.82  1.09  0.53  0.52  0.79
//	  k8sapps, one               0.90  0.62  0.98  0.45  0.56  0.66
//
// Marshal copies text to where it has counted its length before. An encoder of STEF has
// to find out of each text whether it has sent it, which means to touch it, to compare
// it and to look it up; what is saved is bytes, so that the balance turns with zstd.
// Where that is not enough, by profiles of the benchmarks above (-cpuprofile):
//
//   - Traces without compression: 16 % is looking up pairs of key and value, half of it
//     waiting for text that nobody has touched before, 6 % comparing long text, and 14 %
//     in order of arrival, 3 % sorted, writing attributes. Caches of whole lists of
//     attributes hit nine times in ten and saved nothing, as they do not fit the
//     processor's.
//   - Metrics in small batches with zstd: of hostandcollector, sorted, a quarter of the
//     time is zstd, most of that the tables of 1,407 small blocks, and 17 % finding the
//     attributes of a point, where the prediction is right 94 times of 100 but has to
//     be compared.
//   - Logs with zstd in cold streams: of kafka and k8sapps 24 and 30 % is zstd, which has
//     more to do with dense parameters than with lines that return, 21 % taking bodies
//     apart, and 15 % the dictionaries of parameters. Of webnodes, which has no
//     templates, 45 % is zstd of the bodies.
//   - Logs with structured bodies without compression: of cloudtrail, half of the time
//     is looking up and writing the values of maps, most of them ids that never return.
//   - Metrics back to pdata in small batches: pdata consists of 6.3 objects a point of
//     hostandcollector (a point, its value, its list of attributes and each of their
//     values; unmarshal makes 13.7), and half of the time is making and collecting
//     them. Reading the records takes 30 of some 400 ns.
//   - Sorted logs without compression, and webnodes in one batch: 30 % is writing, which
//     here is copying text as marshal does, and the rest has nothing to win from.
//     Logs are not sorted by default.
//   - Bodies of templates back to pdata: of k8sapps 15 % is giving records their
//     parameters, 22 % joining bodies, 28 % memory for what pdata consists of.
//
// # Ownership
//
// Batches are read and never changed. Encoders keep strings of them, as Go
// strings are immutable, and nothing else. Decoded batches are the caller's;
// their strings are shared with the reader's dictionaries and share memory with
// others of the frame; clone one to keep it alone. Encoders and decoders
// serve one stream, reuse their memory from batch to batch, and are not safe for
// use by several goroutines at once. What an encoder remembers is bounded, and
// forgotten when it is too much.
//
// # Limits
//
// An item that exceeds what every reader accepts is left out and reported in
// ItemErrors with its place, and the others are written: 1023 attributes in a
// list, MaxDepth arrays and maps in one another, mapping.MaxItemBytes.
//
// A record that says what OTLP cannot is left out and reported in RecordErrors
// with its number, and the others are converted: numbers over 32 bits where OTLP
// has 32, ids of other lengths, unknown types of metrics, values that do not suit
// the type.
//
// # Losses
//
// In the full schema everything comes back, up to the order that the mode allows
// and the borders between neighbours of equal content, except:
//
//	resources, scopes and metrics without items   nothing holds them
//	keys and texts by reference (key_strindex)    only profiles have the table, and the
//	                                              interface of pdata does not show them
//
// The published schema, that of the reference implementation, also lacks:
//
//	entity references of resources
//	flags of points other than "no recorded value"
//	the value of points with that flag, of exponential histograms instead the flag
//	number points without value and flag: they come back with the flag
//	numbers of dropped events and links of spans
//
// Records of other writers may say more than pdata has places for. These are
// dropped without a word, as they say nothing about the telemetry:
//
//	envelopes, and user data of the stream's header
//	temporality of gauges and summaries
//	monotonicity of what is no sum, bounds of what is no histogram
//	exemplars of summaries
//	whether an id that is not set is absent or all zero, and whether it is text
//
// Losses counts what encoders lose. Schemas cut shorter than the published one
// lose what their missing fields would hold, which is not counted.
package stefpdata
