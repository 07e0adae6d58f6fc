// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"errors"
	"flag"

	"github.com/otelstef/stef/cmd/stef/internal/convert"
	"github.com/otelstef/stef/cmd/stef/internal/file"
	"github.com/otelstef/stef/cmd/stef/internal/stream"
	"github.com/otelstef/stef/stef-go/dynamic"
)

var catCommand = &command{
	name:    "cat",
	usage:   "cat [FLAG]... FILE...",
	summary: "print the records of a stream as JSON, one a line",
	help: `Prints the records of STEF streams as JSON, one record a line. Field names are those
of the schema in snake case. Absent fields are omitted. Fields that are not optional
are also omitted if they are zero or empty, except an enum whose value 0 has a name
other than Unspecified. --zeros prints these fields: use it for DuckDB, pandas and other
tools that treat a missing field as unknown. Bytes are printed as hexadecimal digits.
A trace id that is text of 32 such digits, and a span id of 16, as the reference schema
has them, are printed unchanged. Files of OTLP, Parquet and Arrow are printed as records
as well, in the order of the file.

A stream does not hold the names and types of its fields. Records of a schema of
your own need --schema FILE.stef.

Log records are printed with their original text bodies and observed times. In the
stream these are templates and time differences; --canonical prints them in that form.

With --canonical, empty values are printed, too, and no value is rounded. Two lines are
equal if, and only if, their records are equal:

  struct    an object of all fields in the order of the schema; an absent
            optional field is null
  oneof     {"type":"none"} or {"type":NAME,NAME:VALUE}
  multimap  [{"key":KEY,"value":VALUE},...]
  array     [ELEMENT,...]
  bool      true or false
  integer   the decimal number in a string, also of an enum
  float64   {"v":"0.5","bits":"3fe0000000000000"}, the shortest number that reads
            back the same, and its 64 bits
  string    a string in which only " and \ have a backslash, and bytes below 0x20
            are \u00xx; {"invalid_utf8_hex":HEX} if it is not UTF-8
  bytes     lower-case hexadecimal digits in a string

For metrics and spans, --canonical prints only the fields of the reference schema. So
you can compare a stream in the full schema with one in the reference schema. Only ids
differ: in the reference schema, ids of spans and links are hexadecimal text, and unset
ids of exemplars are zeros. To compare spans, use cat without --canonical. For logs,
--canonical prints all fields.

Senders and stef convert reorder the records and attributes of metrics and traces (mode
sorted). To compare such files, compare the output of

  stef cat --sort-keys FILE | sort
`,
	define: func(flags *flag.FlagSet) func(*Env, []string) error {
		c := &cat{opener: opener{otlp: true}}
		c.define(flags)
		flags.BoolVar(&c.canonical, "canonical", false, "print canonical JSON")
		flags.BoolVar(&c.zeros, "zeros", false, "print also zero and empty fields that are not optional, for tables such as\nthose of DuckDB and pandas")
		flags.BoolVar(&c.sortKeys, "sort-keys", false, "print attributes and maps in the order of their keys, to compare files")
		flags.Uint64Var(&c.limit, "n", 0, "`N` print the first N records of each FILE only (default: 0, all)")
		return func(env *Env, args []string) error {
			if len(args) == 0 {
				return usagef("FILE is missing%s", standardInput("FILE"))
			}
			if c.zeros && c.canonical {
				return usagef("--zeros and --canonical exclude each other: canonical JSON has all zeros")
			}
			if err := c.prepare(); err != nil {
				return err
			}
			c.several = len(args) > 1
			return eachInput(env, args, func(name string) error {
				err := c.file(env, name)
				var other *convert.OtherSignalError
				if c.several && errors.As(err, &other) { // do not advise to omit --signal: cat would then print all signals of all files
					other.Advice = "leave the file out"
				}
				return err
			})
		}
	},
}

type cat struct {
	opener
	canonical bool
	zeros     bool
	sortKeys  bool
	limit     uint64
}

// file prints the records of a file, up to the first error.
func (c *cat) file(env *Env, name string) error {
	in, err := c.open(env, name, convert.Options{Mode: convert.Ordered})
	if err != nil {
		return err
	}
	defer in.Close()
	out := bufio.NewWriterSize(file.Standard(env.Stdout), 64<<10)
	r, err := in.root.PlainRecords(in.src)
	if err != nil {
		return in.explainError(err)
	}
	err = c.records(out, r, in.root)
	if e := out.Flush(); e != nil {
		return e
	}
	if err == nil && r.Err() == nil && c.limit == 0 {
		if res := in.summary(); res != nil {
			notesOf(env.Stderr, res)
		}
	}
	return in.explainError(err)
}

func (c *cat) records(out *bufio.Writer, r *stream.PlainReader, root *stream.Root) (err error) {
	var line []byte
	for (c.limit == 0 || r.Records() < c.limit) && r.Next() {
		rec := r.Record()
		if c.sortKeys {
			rec = stream.SortKeys(rec)
		}
		switch {
		case c.canonical:
			line, err = dynamic.AppendJSON(line[:0], r.Root(), root.Published, rec)
		case c.zeros:
			line = dynamic.AppendZerosJSON(line[:0], r.Root(), root.Readable(rec))
		default:
			line = dynamic.AppendPlainJSON(line[:0], r.Root(), root.Readable(rec))
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return r.Err()
}
