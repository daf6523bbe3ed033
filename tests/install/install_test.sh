#!/bin/sh
# Installs into a temporary prefix and uses the programs from there, with the source tree and the build out
# of reach where the machine lets us mount over them.
#   install_test.sh SOURCE BUILD CMAKE
set -eu
source=$1 build=$2 cmake=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$work/usr" >"$work/install.log" 2>&1 || { cat "$work/install.log"; fail "install"; }
cp "$source/benchmarks/problems/scalar_times_matrix.py" "$work/model.py"
cp "$source/kernels/faulty/correct.cu" "$source/kernels/faulty/wrong.cu" "$work"

cat >"$work/use" <<'USE'
set -eu
for folder in "$@"; do mount -t tmpfs none "$folder"; done
for folder in "$@"; do [ -z "$(ls -A "$folder")" ]; done
cd "$WORK"
export XDG_CACHE_HOME="$WORK/cache" XDG_CONFIG_HOME="$WORK/config" XDG_STATE_HOME="$WORK/state"
agent=$WORK/usr/bin/cudaagent
$agent --version
$agent doctor || { code=$?; echo "doctor: $code"; exit 1; }
$agent completion bash >/dev/null
$agent --config "$WORK/usr/share/cudaagent/default.toml" config show >/dev/null
$agent eval model.py correct.cu --device cpu --const rows=64 --const columns=64 --trials 2 --check-only
code=0
$agent eval model.py wrong.cu --device cpu --const rows=64 --const columns=64 --trials 2 --check-only || code=$?
[ $code = 4 ] || { echo "a wrong kernel left with $code"; exit 1; }
USE
export WORK="$work"
folders="$source/src $source/python $source/configs $source/kernels $source/include $source/benchmarks $build"
if unshare -rm sh -c 'mount -t tmpfs none "$1"' sh "$build" 2>/dev/null; then
  echo "the source tree and the build are hidden"
  unshare -rm sh "$work/use" $folders || fail "the installed programs did not work"
else
  echo "no mount namespace to be had: the source tree stays in sight"
  sh "$work/use" || fail "the installed programs did not work"
fi
for file in share/bash-completion/completions/cudaagent share/doc/cudaagent/README.md share/cudaagent/candidate.schema.json; do
  [ -s "$work/usr/$file" ] || fail "$file was not installed"
done
