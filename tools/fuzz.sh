#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of every module, one after another. Arguments go to
# go test: fuzz.sh -fuzztime 10s. The targets are found by listing the tests of
# every package that has some, so a new target needs no entry anywhere. Inputs
# are not made small for long: whole streams are large, and go test can spend
# its time on nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
while IFS= read -r dir; do
  # "|| true" is for the last grep alone: a package that does not build fails in
  # the assignment before it.
  listing=$(cd "$dir" && go test -list '^Fuzz' .)
  for target in $(grep '^Fuzz' <<<"$listing" || true); do
    printf '== %s %s\n' "$dir" "$target"
    (cd "$dir" && go test -run '^$' -fuzz "^$target\$" -fuzzminimizetime 10x "$@" .)
    found=$((found + 1))
  done
done < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u)
printf '%d fuzz targets\n' "$found"
