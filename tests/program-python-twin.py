# SPDX-License-Identifier: BSD-3-Clause
# program-python-twin.py -- runs tests of Python's own, lists who passed
"""program-python-twin.py RESULT MODULE [PATTERN...]

Writes one line per test to RESULT: how it ended and its name, sorted. The
tests run in a directory of their own below the working directory.
"""

import os
import sys
import tempfile
import unittest


class Outcomes(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.lines = []

    def note(self, how, test):
        self.lines.append("%-8s %s" % (how, test.id()))

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note("ok", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.note("ERROR", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note("FAIL", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note("skipped", test)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note("xfail", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note("xpass", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note("FAIL", subtest)


def main():
    result = os.path.abspath(sys.argv[1])
    module, patterns = sys.argv[2], sys.argv[3:]
    os.environ["TMPDIR"] = os.path.abspath("tmp")
    os.makedirs("tmp", exist_ok=True)
    tempfile.tempdir = None
    work = tempfile.mkdtemp(prefix="work-")
    os.chdir(work)
    loader = unittest.TestLoader()
    if patterns:
        loader.testNamePatterns = ["*%s*" % p for p in patterns]
    suite = loader.loadTestsFromName("test." + module)
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2,
                                     resultclass=Outcomes)
    outcome = runner.run(suite)
    with open(result, "w") as f:
        f.write("".join(line + "\n" for line in sorted(outcome.lines)))


if __name__ == "__main__":
    main()
