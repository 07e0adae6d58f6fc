#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# Runs the tests that asked for a large real set, with the sets: realtests.sh LIST
# [FLAG...], where LIST is what a run of all tests wrote with STEF_SETS_LOG=LIST, and
# the flags are for go test. One go test for each module runs the tests of these
# names in these packages.
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
