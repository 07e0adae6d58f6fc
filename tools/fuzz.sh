#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of every module, one after another. Arguments are flags
# of go test: fuzz.sh -fuzztime 10s. The script finds the targets itself: it lists the
# tests of every package with fuzz targets. The packages of a module are built
# together, once for all of their targets. New inputs are stored where go test -fuzz
# stores them. Inputs are minimized only briefly: whole streams are large, and
# minimizing them could take all of the time.
#
# With a time, the packages are instrumented, so that coverage guides the search. A count
# of inputs, such as -fuzztime 100x, is for a quick check: the packages are built as for
# go test. Few inputs find no new coverage, and an instrumented build would compile all
# packages again. Without symbols, linking takes half the time.
#
# FUZZ_PART=network selects the ten targets that read what arrives over the network,
# FUZZ_PART=rest selects the others. FUZZ_SHARD=2/4 selects targets 2, 6, 10, ... of these.
set -euo pipefail
cd "$(dirname "$0")/.."

# The targets that face the network, as folder and name.
network='stef-gogrpc FuzzServer
stef-gogrpc FuzzClient
receiver/stefreceiver FuzzStream
internal/signal FuzzMemory
stef-go/otelstef FuzzMetricsReader
stef-go/otelstef FuzzSpansReader
stef-go/otelstef FuzzLogsReader
stef-go/otelstef FuzzSplice
stef-go/internal/frame FuzzStream
extension/stefencodingextension FuzzUnmarshal'
part=${FUZZ_PART:-all}
shard=${FUZZ_SHARD:-1/1}
case $part in all | network | rest) ;; *) echo "FUZZ_PART is $part, not all, network or rest" >&2; exit 2 ;; esac

# selected DIR TARGET reports whether a target is in the part.
selected() {
  [ "$part" = all ] && return
  if grep -qxF "${1#./} $2" <<<"$network"; then [ "$part" = network ]; else [ "$part" = rest ]; fi
}

flags=()
build=(-vet=off -fuzz '^Fuzz')
before=
for a in "$@"; do
  case $a in -*) flags+=("-test.${a#-}") ;; *) flags+=("$a") ;; esac
  if [[ ${before#-} = -fuzztime && $a = *x || $a = -*fuzztime=*x ]]; then build=(-vet=off -ldflags=-s); fi
  before=-$a
done
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
cache=$(go env GOCACHE)/fuzz

# The packages with targets, by module.
# With part network, only packages with its targets are built.
declare -A packages
while IFS= read -r dir; do
  if [ "$part" = network ] && ! grep -q "^${dir#./} " <<<"$network"; then continue; fi
  module=$dir
  until [ -f "$module/go.mod" ]; do module=$(dirname "$module"); done
  packages[$module]+=" .${dir#"$module"}"
done < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u)

found=0
chosen=0
for module in $(printf '%s\n' "${!packages[@]}" | sort); do
  # go builds a program for each package, with the name of the folder. It fails if names are equal.
  out=$(mktemp -d "$built/XXXXXX")
  # shellcheck disable=SC2086 # the packages are words
  (cd "$module" && go test -c "${build[@]}" -o "$out/" ${packages[$module]})
  for package in ${packages[$module]}; do
    dir=$module/${package#./}
    dir=${dir%/.}
    path=$(cd "$dir" && go list .)
    program=$out/$(basename "$path").test
    # "|| true" is for grep: it fails if it finds no target.
    listing=$(cd "$dir" && "$program" -test.list '^Fuzz')
    for target in $(grep '^Fuzz' <<<"$listing" || true); do
      selected "$dir" "$target" || continue
      chosen=$((chosen + 1))
      [ $((chosen % ${shard#*/})) -eq $((${shard%/*} % ${shard#*/})) ] || continue
      printf '== %s %s\n' "$path" "$target"
      (cd "$dir" && "$program" -test.paniconexit0 -test.run '^$' -test.fuzz "^$target\$" \
        -test.fuzzcachedir "$cache/$path" -test.fuzzminimizetime 10x "${flags[@]}")
      found=$((found + 1))
    done
  done
done
printf '%d fuzz targets\n' "$found"
if [ "$part" = network ] && [ "$chosen" -ne "$(wc -l <<<"$network")" ]; then
  echo "this script lists $(wc -l <<<"$network") network targets, but only $chosen of them exist: correct the list" >&2
  exit 1
fi
