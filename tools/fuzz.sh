#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of every module, one after another. Arguments are flags
# of go test: fuzz.sh -fuzztime 10s. The targets are found by listing the tests of
# every package that has some, so a new target needs no entry anywhere. Each
# package is built once, instrumented, for all of its targets; new inputs go where
# go test -fuzz puts them. Inputs are minimized for a short time only: whole
# streams are large, and all time could go into that.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=()
for a in "$@"; do
  case $a in -*) flags+=("-test.${a#-}") ;; *) flags+=("$a") ;; esac
done
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
cache=$(go env GOCACHE)/fuzz

found=0
while IFS= read -r dir; do
  # -o alone does not write anything for a package that does not build: the
  # command fails, and the script with it.
  (cd "$dir" && go test -c -vet=off -fuzz '^Fuzz' -o "$built/fuzz.test" .)
  package=$(cd "$dir" && go list .)
  # "|| true" is for grep alone.
  listing=$(cd "$dir" && "$built/fuzz.test" -test.list '^Fuzz')
  for target in $(grep '^Fuzz' <<<"$listing" || true); do
    printf '== %s %s\n' "$dir" "$target"
    (cd "$dir" && "$built/fuzz.test" -test.paniconexit0 -test.run '^$' -test.fuzz "^$target\$" \
      -test.fuzzcachedir "$cache/$package" -test.fuzzminimizetime 10x "${flags[@]}")
    found=$((found + 1))
  done
done < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u)
printf '%d fuzz targets\n' "$found"
