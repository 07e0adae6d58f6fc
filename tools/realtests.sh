#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# realtests.sh LIST [FLAG...] runs the tests in LIST with the large real sets. A run of
# all tests with STEF_SETS_LOG=LIST writes this file: it lists the tests that asked for a
# set. FLAG is for go test. In each module, one go test runs all tests with one of these
# names in the listed packages.
set -euo pipefail
list=$1
shift
if ! [ -s "$list" ]; then
  printf 'no test asked for a set in %s\n' "$list" >&2
  exit 1
fi

declare -A packages tests
while IFS=$'\t' read -r dir name; do
  module=$dir
  until [ -f "$module/go.mod" ]; do module=$(dirname "$module"); done
  package=.${dir#"$module"}
  case " ${packages[$module]-} " in *" $package "*) ;; *) packages[$module]+=" $package" ;; esac
  tests[$module]+="|$name"
done < <(sort -u "$list")
for module in "${!packages[@]}"; do
  printf -- '-- %s\n' "$module"
  # shellcheck disable=SC2086 # the packages are words
  (cd "$module" && STEF_REQUIRE_SETS=1 go test -count=1 "$@" -run "^(${tests[$module]#|})\$" ${packages[$module]})
done
