"""KEDA's source with only the scalers that our tests use, as a Go module in build/cluster.

KEDA has 70 scalers. With the SDKs that they need, they take six sevenths of the time that KEDA
takes to build.
"""
import re
import shutil

SCALERS = {"external", "external-push", "metrics-api", "prometheus"}

PACKAGE = "pkg/scalers"
BUILDER = "pkg/scaling/scalers_builder.go"
CASE = re.compile(r'\tcase "([^"]+)":\n\t\treturn scalers\.(New\w+)\(.*\)\n')
CONSTRUCTOR = re.compile(r"^func (New\w+)\(", re.MULTILINE)
# Scalers share it, but it is defined in the file of one that we omit.
CONSTANT = re.compile(r'^\t(externalMetricType) += (".*")$', re.MULTILINE)


def write(folder, target):
    """Copies KEDA's module from `folder`. Raises RuntimeError if its source has an unexpected form."""
    shutil.rmtree(target, ignore_errors=True)
    for path in [folder / "go.mod", *folder.rglob("*.go")]:
        if not path.name.endswith("_test.go"):
            copy = target / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)  # the original is read-only
    builder = target / BUILDER
    text, constructors = trimmed(builder.read_text())
    builder.write_text(text)
    trim_package(target / PACKAGE, constructors)


def trimmed(builder):
    """Returns BUILDER's text with only the cases of SCALERS, and the constructors that these call."""
    cases = {case[1]: case for case in CASE.finditer(builder)}
    if missing := SCALERS - cases.keys():
        raise unexpected(BUILDER, f"a case for {', '.join(sorted(missing))}")
    text = CASE.sub(lambda case: case[0] if case[1] in SCALERS else "", builder)
    return text, {cases[name][2] for name in SCALERS}


def trim_package(package, constructors):
    """Deletes the files of all scalers without one of the constructors."""
    constants = set()
    for path in package.glob("*_scaler.go"):
        text = path.read_text()
        if constructors.isdisjoint(CONSTRUCTOR.findall(text)):
            constants |= set(CONSTANT.findall(text))
            path.unlink()
    if len(constants) != 1:
        raise unexpected(PACKAGE, "one externalMetricType")
    ((name, value),) = constants
    (package / "constant.go").write_text(f"package scalers\n\nconst {name} = {value}\n")


def unexpected(where, what):
    return RuntimeError(f"KEDA's {where} does not have {what} in the form that "
                        "tools/control_plane/keda_source.py expects")
