# Sourced by scripts/run and scripts/test: brings a machine to where cudaagent builds.
# Prints each step it does; a step that is done is skipped silently.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${CUDAAGENT_PRESET:-release}
build=$root/build/$preset
torch_version=2.11.0
packages=(g++ cmake ninja-build python3-dev python3-venv nlohmann-json3-dev libspdlog-dev libcli11-dev
          libexpected-dev libtomlplusplus-dev libcurl4-openssl-dev libssl-dev libsqlite3-dev
          libgtest-dev libgmock-dev)

say() { printf '[setup] %s\n' "$*" >&2; }
die() { printf '[setup] error: %s\n' "$*" >&2; exit 6; }

# logged NAME COMMAND...: what the command says goes to build/setup-NAME.log, its end to the user where it fails.
logged() {
  local log=$root/build/setup-$1.log
  shift
  mkdir -p "$root/build"
  "$@" >"$log" 2>&1 && return
  tail -n 30 "$log" >&2
  say "the whole log is $log"
  return 1
}

# Two calls at once must not install or build into one another: the second waits. `done` lets it go on.
one_at_a_time() {
  if [ "${1:-}" = done ]; then exec 9>&-; return; fi
  mkdir -p "$root/build"
  exec 9>"$root/build/.setup.lock"
  if ! flock -n 9; then
    say "another call is setting up (process $(cat "$root/build/.setup.pid" 2>/dev/null)); waiting for it. Its build's log: $build/build.log"
    flock 9
  fi
  echo $$ >"$root/build/.setup.pid"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "installing packages needs root or sudo. Ask an administrator for: ${packages[*]}"; fi
}

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian-like system: install the equivalents of ${packages[*]} yourself"
    return
  fi
  local package missing=()
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  say "installing ${missing[*]}"
  logged apt as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q ||
    die "apt-get update failed. Is there a network?"
  logged apt as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install ${missing[*]}"
}

# The Python whose torch the worker is built for: the user's, else one of our own in .venv.
choose_python() {
  if [ -n "${CUDAAGENT_PYTHON:-}" ]; then
    python=$CUDAAGENT_PYTHON
    "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null ||
      die "CUDAAGENT_PYTHON=$python cannot import torch. Install torch there, or unset CUDAAGENT_PYTHON."
    return
  fi
  python=$root/.venv/bin/python
  local stamp=$root/.venv/.torch-$torch_version-einops  # einops: KernelBench's models
  [ -e "$stamp" ] && [ -x "$python" ] && return
  local base=/usr/bin/python3
  [ -x $base ] || base=$(command -v python3) || die "there is no python3"
  say "making .venv with torch $torch_version (about 3 GB, once)"
  "$base" -m venv "$root/.venv" || die "python3 -m venv failed. Is python3-venv installed?"
  logged pip "$python" -m pip install --disable-pip-version-check "torch==$torch_version" numpy einops ||
    die "pip could not install torch $torch_version. Is there a network, and 8 GB of disk?"
  if ! cuda_toolkit >/dev/null; then
    say "no CUDA toolkit found: adding its remaining headers from wheels"
    logged pip "$python" -m pip install --disable-pip-version-check nvidia-cuda-cccl==13.0.85 nvidia-cuda-crt==13.0.88 ||
      die "pip could not install the CUDA headers"
  fi
  touch "$stamp"
}

cuda_toolkit() {
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    [ -n "$folder" ] && [ -e "$folder/include/crt/host_config.h" ] && echo "$folder" && return
  done
  return 1
}

# build_targets TARGET...: configures when needed and builds.
build_targets() {
  mkdir -p "$build"
  local wanted="$python"
  if [ ! -e "$build/build.ninja" ] || [ "$(cat "$build/.python" 2>/dev/null)" != "$wanted" ]; then
    say "configuring $build"
    (cd "$root" && cmake --preset "$preset" --fresh "-DCUDAAGENT_PYTHON=$python" >"$build/configure.log" 2>&1) || {
      cat "$build/configure.log" >&2
      die "cmake failed; the log is $build/configure.log"
    }
    echo "$wanted" >"$build/.python"
  fi
  # Ninja looks at globbed folders each time: only one that takes longer has something to build.
  (sleep 1.5 && say "building $* in $build") 9>&- &
  local announcement=$!
  ninja -C "$build" "$@" >"$build/build.log" 2>&1 || {
    grep -vE '^\[[0-9]+/[0-9]+\]' "$build/build.log" | head -60 >&2
    die "the build failed; the whole log is $build/build.log"
  }
  kill $announcement 2>/dev/null || true
  one_at_a_time done
}

one_at_a_time
install_packages
choose_python
