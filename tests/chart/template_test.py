"""The chart without a cluster: lint, every value, presets, the manifests made from it."""
import json
import re
import subprocess
import tempfile
import unittest

import yaml

import chart
from control_plane import binaries

CASES = yaml.safe_load((chart.ROOT / "tests/chart/cases.yaml").read_text())
VALUES = yaml.safe_load((chart.CHART / "values.yaml").read_text())


def setUpModule():
    binaries.build_kube()


class Chart(unittest.TestCase):
    def test_lints(self):
        for preset in [None, *chart.PRESETS]:
            with self.subTest(preset=preset and preset.stem):
                files = [f"--values={preset}"] if preset else []
                said = chart.helm("lint", chart.CHART, "--strict", *files,
                                  "--set=image.repository=keda-gpu-scaler")
                self.assertIn("1 chart(s) linted, 0 chart(s) failed", said)
                self.assertNotIn("[WARNING]", said)

    def test_each_value_does_what_its_case_says(self):
        for case in CASES:
            with self.subTest(case["it"]):
                if "error" in case:
                    with self.assertRaises(chart.HelmError) as caught:
                        chart.render(case["values"], case.get("preset"))
                    self.assertIn(case["error"], str(caught.exception))
                else:
                    self.check(chart.render(case["values"], case.get("preset")), case)

    def check(self, objects, case):
        arguments = chart.scaler_container(objects)["args"]
        for wanted in case.get("args", []):
            self.assertIn(wanted, arguments)
        for unwanted in case.get("no_args", []):
            self.assertFalse([word for word in arguments if word.startswith(unwanted)], unwanted)
        for which, wanted in case.get("has", {}).items():
            found = chart.find(objects, which)
            self.assertEqual(len(found), 1, which)
            self.assertTrue(chart.contains(found[0], wanted),
                            f"want\n{yaml.dump(wanted)}\nin\n{yaml.dump(found[0])}")
        for which, unwanted in case.get("hasnt", {}).items():
            found = chart.find(objects, which)
            self.assertEqual(len(found), 1, which)
            self.assertFalse(chart.contains(found[0], unwanted), yaml.dump(found[0]))
        for which in case.get("lacks", []):
            self.assertEqual(chart.find(objects, which), [])

    def test_no_value_is_without_a_case(self):
        touched = [case["values"] for case in CASES]
        touched += [yaml.safe_load(preset.read_text()) for preset in chart.PRESETS]

        def has(values, path):
            return path == () or (isinstance(values, dict) and path[0] in values and
                                  has(values[path[0]], path[1:]))

        missing = [".".join(path) for path in chart.leaves(VALUES)
                   if not any(has(values, path) for values in touched)]
        self.assertEqual(missing, [])

    def test_the_schema_knows_exactly_the_values(self):
        schema = json.loads((chart.CHART / "values.schema.json").read_text())

        def compare(values, part, path):
            part = schema["$defs"].get(part.get("$ref", "").rpartition("/")[2], part)
            if "properties" not in part or not isinstance(values, dict):
                return
            self.assertFalse(part["additionalProperties"], path)
            known = set(part["properties"]) - {"global", "claims"}
            self.assertEqual(known, set(values), path)
            for key in known:
                compare(values[key], part["properties"][key], f"{path}.{key}")

        compare(VALUES, schema, "values")

    def test_it_is_of_the_programs_version(self):
        text = (chart.ROOT / "CMakeLists.txt").read_text()
        version = re.search(r"project\(keda-gpu-scaler VERSION (\S+)", text).group(1)
        about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
        self.assertEqual((about["version"], about["appVersion"]), (version, version))

    def test_manifests_are_made_from_it(self):
        done = subprocess.run([chart.ROOT / "tools/manifests", "--check"], text=True,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_needs_no_rights(self):
        kinds = {each["kind"] for each in chart.render({})}
        self.assertEqual(kinds, {"DaemonSet", "Job", "Service", "ServiceAccount"})

    def test_it_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            said = chart.helm("package", chart.CHART, f"--destination={folder}")
            archive = said.strip().rpartition(" ")[2]
            names = subprocess.run(["tar", "-tzf", archive], check=True, text=True,
                                   stdout=subprocess.PIPE).stdout
        self.assertIn("keda-gpu-scaler/presets/gke.yaml", names)
        self.assertIn("keda-gpu-scaler/values.schema.json", names)


if __name__ == "__main__":
    unittest.main()
